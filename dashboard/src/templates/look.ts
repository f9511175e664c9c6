/** The look of JSON in CodeMirror: the colours of the page, so that they follow its theme. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The content policy lets styles with it into the page. */
export const pageNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--ground)', fontSize: '12.5px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--ground)', color: 'var(--soft)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--raised)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
    backgroundColor: 'light-dark(#cfe0ff, #2c4470) !important',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-2px' },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--ground)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-fill)', color: '#ffffff' },
  '.cm-completionDetail': { marginInlineStart: '10px', color: 'var(--soft)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: '#ffffff' },
  '.cm-completionInfo': { maxWidth: '320px', padding: '6px 8px' },
  '.cm-hover': { maxWidth: '420px', padding: '6px 9px' },
  '.cm-hover code': { color: 'var(--soft)' },
  '.cm-textfield, .cm-button': {
    border: '1px solid var(--line-strong)',
    borderRadius: '4px',
    background: 'var(--ground)',
    color: 'var(--ink)',
  },
  '.cm-foldPlaceholder': {
    padding: '0 6px',
    border: '1px solid var(--line-strong)',
    background: 'var(--raised)',
    color: 'var(--ink)',
  },
  '.cm-searchMatch': { backgroundColor: 'light-dark(#ffe8a3, #6b5714)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'light-dark(#d7ead9, #2c4a33)' },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'light-dark(#8a1d17, #ffb0a8)' },
  { tag: tags.string, color: 'light-dark(#1c5d34, #9bdcb1)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'light-dark(#1f4fb8, #a7c0ff)' },
]);

export const codeLook: readonly Extension[] = [syntaxHighlighting(colours), theme];
