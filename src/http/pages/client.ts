/** The style and the script of the mailbox page. */

/** Light and dark, from wide screens down to phones. */
export const mailboxStyle = String.raw`
:root {
  color-scheme: light dark;
  --ground: light-dark(#ffffff, #17181b);
  --raised: light-dark(#f6f6f4, #1f2125);
  --line: light-dark(#e2e1dd, #33363c);
  --ink: light-dark(#1d1d1b, #ececea);
  --soft: light-dark(#63625d, #a3a5aa);
  --accent: light-dark(#b3261e, #ff8a80);
  --chosen: light-dark(#fbeae8, #3a2422);
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1, h2, p, ul, dl, dd { margin: 0; padding: 0; }
a { color: inherit; }
button { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 7px; padding: 5px 11px; cursor: pointer; }
button:hover:not(:disabled) { border-color: var(--soft); }
button:disabled { opacity: .45; cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.muted { color: var(--soft); }
.grow { flex: 1; }
kbd { font: 12px var(--mono); border: 1px solid var(--line); border-radius: 4px; padding: 1px 5px; }

.bar { display: flex; align-items: center; gap: 14px; padding: 10px 18px; border-bottom: 1px solid var(--line); background: var(--raised); }
.brand { display: inline-flex; align-items: center; gap: 8px; font-weight: 650; text-decoration: none; }
.bar h1 { font-size: 15px; font-weight: 400; color: var(--soft); padding-left: 14px; border-left: 1px solid var(--line); }
.quiet { text-decoration: none; color: var(--soft); }
.quiet:hover { color: var(--ink); text-decoration: underline; }
.danger:not(:disabled) { color: var(--accent); }
.offline { color: var(--accent); }

main { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(270px, 340px) 1fr; }
.list { overflow-y: auto; border-right: 1px solid var(--line); }
.list ul { list-style: none; }
.list li + li { border-top: 1px solid var(--line); }
.row { display: grid; grid-template-columns: 1fr auto; gap: 1px 10px; width: 100%; text-align: left; padding: 11px 16px; border: 0; border-left: 3px solid transparent; border-radius: 0; background: none; }
.row:hover { background: var(--raised); }
.row[aria-current="true"] { background: var(--chosen); border-left-color: var(--accent); }
.row:focus-visible { outline-offset: -2px; }
.row .to { font-weight: 600; }
.row.read .to { font-weight: 400; }
.row span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.row .when, .row .from { color: var(--soft); font-size: 13px; }
.row .subject { grid-column: 1 / -1; }
.older { display: block; margin: 12px auto 20px; }

.empty { align-self: center; justify-self: center; max-width: 720px; padding: 32px; min-width: 0; }
.empty h2 { font-size: 22px; margin-bottom: 8px; }
.empty pre { margin: 16px 0; padding: 14px 16px; background: var(--raised); border: 1px solid var(--line); border-radius: 9px; font: 13px/1.55 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
code { font: .9em var(--mono); }
.hint { display: flex; gap: 14px; align-items: baseline; }
main[data-view="blank"] { grid-template-columns: 1fr; }
main[data-view="blank"] .list { display: none; }

.message { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
.message > header { padding: 18px 24px 12px; }
.message h2 { font-size: 20px; line-height: 1.3; overflow-wrap: anywhere; }
.back { display: none; margin-bottom: 10px; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 2px 14px; margin-top: 10px; font-size: 14px; }
dt { color: var(--soft); }
dd { overflow-wrap: anywhere; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; padding: 0 24px; border-bottom: 1px solid var(--line); }
[role="tablist"] { display: flex; overflow-x: auto; }
[role="tab"] { border: 0; border-bottom: 2px solid transparent; border-radius: 0; background: none; padding: 9px 12px; color: var(--soft); white-space: nowrap; }
[role="tab"][aria-selected="true"] { color: var(--ink); border-bottom-color: var(--accent); font-weight: 600; }
[role="tab"]:focus-visible { outline-offset: -3px; }
.looks { display: flex; gap: 6px; padding: 6px 0; }
.looks button { padding: 3px 10px; font-size: 13px; }
[aria-pressed="true"] { background: var(--ink); color: var(--ground); border-color: var(--ink); }

.panel { flex: 1; min-height: 0; overflow: auto; }
.panel.frame { background: light-dark(#ecebe7, #0f1012); display: flex; justify-content: center; overflow: hidden; }
iframe { flex: 1; border: 0; background: #fff; height: 100%; }
iframe.dark { background: #121212; }
iframe.phone { flex: 0 0 390px; max-width: 100%; margin: 18px 0; height: calc(100% - 36px); border-radius: 18px; box-shadow: 0 0 0 8px light-dark(#2b2b2b, #3a3d43), 0 12px 34px rgb(0 0 0 / .3); }
.panel pre { margin: 0; padding: 20px 24px; font: 13px/1.6 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.panel pre.source { white-space: pre; overflow-wrap: normal; }
.panel table { border-collapse: collapse; width: 100%; font: 13px/1.5 var(--mono); }
.panel th, .panel td { text-align: left; vertical-align: top; padding: 6px 14px 6px 24px; border-bottom: 1px solid var(--line); }
.panel th { width: 1%; white-space: nowrap; color: var(--soft); font-weight: 400; }
.panel td { overflow-wrap: anywhere; padding-left: 0; }
.files { list-style: none; padding: 16px 24px; display: grid; gap: 8px; }
.files li { display: flex; gap: 12px; align-items: baseline; padding: 10px 14px; border: 1px solid var(--line); border-radius: 9px; }
.files a { font-weight: 600; overflow-wrap: anywhere; }
.note { padding: 20px 24px; color: var(--soft); }
.download { display: inline-block; padding: 14px 24px 0; }
.noscript { padding: 24px; }

@media (max-width: 760px) {
  .bar { flex-wrap: wrap; gap: 8px 12px; padding: 10px 14px; }
  .quiet { display: none; }
  main { grid-template-columns: 1fr; }
  .list { border-right: 0; }
  main[data-view="message"] .list, main[data-view="list"] #none { display: none; }
  .back { display: inline-block; }
  .message > header { padding: 12px 16px 8px; }
  .tools { padding: 0 8px; }
  .empty { padding: 24px 16px; }
  #phone { display: none; }
}
`.trimStart();

/**
 * The script of the mailbox page. It writes texts, never markup; the HTML of a mail is only ever shown in a sandboxed
 * frame.
 */
export const mailboxScript = String.raw`'use strict';
(() => {
  const POLL_MS = 1500;
  const PAGE = 50;
  const $ = (id) => document.getElementById(id);
  const state = { messages: [], total: 0, pages: 1, chosen: null, message: null, tab: 'html', phone: false, dark: false, read: new Set() };

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const person = (address) => address.name ? address.name + ' <' + address.address + '>' : address.address;
  const short = (address) => address ? address.name || address.address : '(nobody)';
  const size = (bytes) => bytes < 1024 ? bytes + ' B' : bytes < 1048576 ? (bytes / 1024).toFixed(1) + ' KB' : (bytes / 1048576).toFixed(1) + ' MB';
  const ago = (time) => {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
    if (seconds < 5) return 'now';
    if (seconds < 60) return seconds + ' s';
    if (seconds < 3600) return Math.floor(seconds / 60) + ' min';
    if (seconds < 86400) return Math.floor(seconds / 3600) + ' h';
    return new Date(time).toLocaleDateString();
  };
  // The script stands beside the messages, below whatever path a proxy serves the service.
  const MESSAGES = new URL('messages', document.currentScript.src).pathname;
  const url = (id, rest) => MESSAGES + '/' + encodeURIComponent(id) + (rest || '');
  const get = async (path) => {
    const response = await fetch(path, { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Error(String(response.status));
    return response.json();
  };

  // The list

  const rowOf = (message) => {
    const item = make('li');
    const row = make('button', 'row');
    row.type = 'button';
    row.dataset.id = message.id;
    row.append(make('span', 'to', message.to.map(short).join(', ') || '(blind copy)'), make('span', 'when', ago(message.receivedAt)));
    row.append(make('span', 'subject', message.subject || '(no subject)'), make('span', 'from', 'from ' + short(message.from)));
    row.addEventListener('click', () => choose(message.id));
    item.append(row);
    return item;
  };

  const drawList = () => {
    const list = $('messages');
    const kept = new Map([...list.children].map((item) => [item.firstChild.dataset.id, item]));
    const items = state.messages.map((message) => {
      const item = kept.get(message.id) || rowOf(message);
      item.querySelector('.when').textContent = ago(message.receivedAt);
      item.firstChild.setAttribute('aria-current', String(message.id === state.chosen));
      item.firstChild.classList.toggle('read', state.read.has(message.id));
      return item;
    });
    const same = items.length === list.children.length && items.every((item, index) => list.children[index] === item);
    if (!same) {
      const focused = document.activeElement;
      list.replaceChildren(...items);
      if (focused && list.contains(focused)) focused.focus();
    }
    const blank = state.total === 0;
    $('count').textContent = blank ? '' : state.total + (state.total === 1 ? ' message' : ' messages');
    $('clear').disabled = blank;
    $('older').hidden = state.messages.length >= state.total;
    $('empty').hidden = !blank;
    $('message').hidden = blank || !state.message;
    $('none').hidden = blank || Boolean(state.message);
    $('main').dataset.view = blank ? 'blank' : state.message ? 'message' : 'list';
    document.title = (blank ? '' : '(' + state.total + ') ') + 'Mailbox \u00b7 sealpost';
  };

  const load = async () => {
    const pages = await Promise.all(Array.from({ length: state.pages }, (_, index) => get(MESSAGES + '?limit=' + PAGE + '&page=' + (index + 1))));
    const seen = new Set();
    state.messages = pages.flatMap((page) => page.data).filter((message) => !seen.has(message.id) && seen.add(message.id));
    state.total = pages[0].meta.total;
    if (state.chosen && state.total === 0) leave();
    drawList();
  };

  const poll = async () => {
    let pause = POLL_MS;
    if (!document.hidden) {
      try {
        await load();
        $('offline').hidden = true;
      } catch (fault) {
        const closed = fault.message === '401';
        $('offline').textContent = closed ? 'closed: open the link that sealpost mailbox prints' : 'not reachable, trying again';
        $('offline').hidden = false;
        if (closed) pause = 10 * POLL_MS;
      }
    }
    setTimeout(poll, pause);
  };

  // One message

  const choose = async (id, focus) => {
    if (location.hash !== '#' + id) history.replaceState(null, '', '#' + id);
    state.chosen = id;
    state.read.add(id);
    let message = null;
    try {
      message = await get(url(id));
    } catch {
      message = null;
    }
    if (state.chosen !== id) return;
    if (!message) return leave();
    state.message = message;
    if (state.tab === 'html' && message.html === null) state.tab = 'text';
    else if (state.tab === 'text' && message.text === null && message.html !== null) state.tab = 'html';
    drawList();
    drawMessage();
    const row = document.querySelector('.row[aria-current="true"]');
    if (row) {
      row.scrollIntoView({ block: 'nearest' });
      if (focus) row.focus();
    }
  };

  const leave = () => {
    state.chosen = null;
    state.message = null;
    history.replaceState(null, '', location.pathname);
    drawList();
  };

  const fact = (name, value) => value ? [make('dt', '', name), make('dd', '', value)] : [];

  const drawMessage = () => {
    const message = state.message;
    $('subject').textContent = message.subject || '(no subject)';
    const visible = new Set([...message.to, ...message.cc].map((address) => address.address.toLowerCase()));
    const blind = message.envelope.to.filter((address) => !visible.has(address.toLowerCase()));
    $('facts').replaceChildren(
      ...fact('From', person(message.from)),
      ...fact('To', message.to.map(person).join(', ')),
      ...fact('Cc', message.cc.map(person).join(', ')),
      ...fact('Bcc', blind.join(', ')),
      ...fact('Received', new Date(message.receivedAt).toLocaleString() + ' \u00b7 ' + size(message.sizeBytes)),
    );
    $('tab-attachments').textContent = 'Attachments' + (message.attachments.length ? ' (' + message.attachments.length + ')' : '');
    for (const tab of document.querySelectorAll('[role=tab]')) {
      const chosen = tab.dataset.tab === state.tab;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    $('panel').setAttribute('aria-labelledby', 'tab-' + state.tab);
    $('looks').hidden = state.tab !== 'html';
    $('phone').setAttribute('aria-pressed', String(state.phone));
    $('dark').setAttribute('aria-pressed', String(state.dark));
    drawPanel(message);
  };

  const note = (text) => make('p', 'note', text);

  const panels = {
    html: (message) => {
      if (message.html === null) return [note('This mail has no HTML part.')];
      const frame = make('iframe', (state.phone ? 'phone ' : '') + (state.dark ? 'dark' : ''));
      frame.title = 'HTML of the message';
      frame.setAttribute('sandbox', 'allow-popups allow-popups-to-escape-sandbox');
      frame.src = url(message.id, '/html' + (state.dark ? '?scheme=dark' : ''));
      return [frame];
    },
    text: (message) => [message.text === null ? note('This mail has no text part.') : make('pre', '', message.text)],
    headers: (message) => {
      const table = make('table');
      const body = make('tbody');
      for (const header of message.headers) {
        const row = make('tr');
        const name = make('th', '', header.name);
        name.scope = 'row';
        row.append(name, make('td', '', header.value));
        body.append(row);
      }
      table.append(body);
      return [table];
    },
    attachments: (message) => {
      if (message.attachments.length === 0) return [note('This mail has no attachments.')];
      const list = make('ul', 'files');
      message.attachments.forEach((attachment, index) => {
        const item = make('li');
        const link = make('a', '', attachment.filename || 'attachment ' + (index + 1));
        link.href = url(message.id, '/attachments/' + index);
        link.download = attachment.filename;
        item.append(link, make('span', 'muted', attachment.contentType + ' \u00b7 ' + size(attachment.sizeBytes)));
        list.append(item);
      });
      return [list];
    },
    source: (message) => {
      const link = make('a', 'download', 'Download as .eml');
      link.href = url(message.id, '/raw');
      link.download = message.id + '.eml';
      const text = make('pre', 'source', 'Loading …');
      fetch(url(message.id, '/raw')).then((response) => response.text()).then((source) => { text.textContent = source; }, () => { text.textContent = 'The source could not be loaded.'; });
      return [link, text];
    },
  };

  const drawPanel = (message) => {
    const panel = $('panel');
    panel.classList.toggle('frame', state.tab === 'html' && message.html !== null);
    panel.replaceChildren(...panels[state.tab](message));
    panel.scrollTop = 0;
  };

  // Keys and buttons

  const openTab = (name, focus) => {
    state.tab = name;
    drawMessage();
    if (focus) $('tab-' + name).focus();
  };

  $('tabs').addEventListener('click', (event) => {
    const name = event.target.dataset.tab;
    if (name) openTab(name);
  });
  $('tabs').addEventListener('keydown', (event) => {
    const names = Object.keys(panels);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    openTab(names[(names.indexOf(state.tab) + step + names.length) % names.length], true);
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('[role=tablist], [role=tabpanel]')) return;
    if (event.key === 'Escape') return leave();
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || state.messages.length === 0) return;
    event.preventDefault();
    const at = state.messages.findIndex((message) => message.id === state.chosen);
    const next = at < 0 ? 0 : Math.min(state.messages.length - 1, Math.max(0, at + step));
    choose(state.messages[next].id, true);
  });
  $('phone').addEventListener('click', () => { state.phone = !state.phone; drawMessage(); });
  $('dark').addEventListener('click', () => { state.dark = !state.dark; drawMessage(); });
  $('back').addEventListener('click', leave);
  $('older').addEventListener('click', () => { state.pages += 1; load().catch(() => undefined); });
  $('copy').addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText($('curl').textContent);
      $('copy').textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren($('curl'));
      $('copy').textContent = 'Selected, now copy';
    }
    setTimeout(() => { $('copy').textContent = 'Copy'; }, 2000);
  });
  $('clear').addEventListener('click', async () => {
    if (!confirm('Delete all messages of the mailbox?')) return;
    await fetch(MESSAGES, { method: 'DELETE' }).catch(() => undefined);
    state.pages = 1;
    await load().catch(() => undefined);
  });

  const first = location.hash.slice(1);
  if (first) choose(first);
  poll();
})();
`;
