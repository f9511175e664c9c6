/** The script of the mailbox page. It writes texts, never markup; the HTML of a mail is only ever shown in a sandboxed frame. */
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
  const url = (id, rest) => '/mailbox/messages/' + encodeURIComponent(id) + (rest || '');
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
    document.title = (blank ? '' : '(' + state.total + ') ') + 'Mailbox · sealpost';
  };

  const load = async () => {
    const pages = await Promise.all(Array.from({ length: state.pages }, (_, index) => get('/mailbox/messages?limit=' + PAGE + '&page=' + (index + 1))));
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
      ...fact('Received', new Date(message.receivedAt).toLocaleString() + ' · ' + size(message.sizeBytes)),
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
        item.append(link, make('span', 'muted', attachment.contentType + ' · ' + size(attachment.sizeBytes)));
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
    await fetch('/mailbox/messages', { method: 'DELETE' }).catch(() => undefined);
    state.pages = 1;
    await load().catch(() => undefined);
  });

  const first = location.hash.slice(1);
  if (first) choose(first);
  poll();
})();
`;
