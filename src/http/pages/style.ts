/** The style of the mailbox page, light and dark, from wide screens down to phones. */
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
