/** The source of an imported mail with its line numbers, to read: the lines of notes are marked, and can be led to. */
import { searchKeymap } from '@codemirror/search';
import { EditorState, Text } from '@codemirror/state';
import { Decoration, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { minimalSetup } from 'codemirror';
import { codeLook, pageNonce } from '../look';

type Place = Readonly<{ line: number; column: number }>;

export type SourceView = Readonly<{
  /** Selects what begins there, and takes the keyboard. */
  goTo: (place: Place) => void;
  close: () => void;
}>;

/** Characters that are selected at most. */
const SELECTED_MAX = 200;

/** A placeholder or a tag is selected to its end, and a text to the end of its line. */
const BEGUN = /^(?:\{\{[^}]*\}{2,3}|<[^>]*>|.*)/;

const look = EditorView.theme({ '.cm-noted': { boxShadow: 'inset 3px 0 var(--warn)' } });

export const openSource = (parent: Element, source: string, noted: readonly number[]): SourceView => {
  // The service counts lines by their line feeds alone.
  const doc = Text.of(source.replace(/\r/g, ' ').split('\n'));
  const marks = [...new Set(noted)]
    .filter((line) => line <= doc.lines)
    .map((line) => Decoration.line({ class: 'cm-noted' }).range(doc.line(line).from));
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc,
      extensions: [
        EditorView.cspNonce.of(pageNonce()),
        ...[minimalSetup, lineNumbers(), keymap.of(searchKeymap), ...codeLook, look],
        ...[EditorView.lineWrapping, EditorState.readOnly.of(true), EditorView.editable.of(false)],
        EditorView.decorations.of(Decoration.set(marks, true)),
        // A text that cannot be edited takes the keyboard only so.
        EditorView.contentAttributes.of({ 'aria-label': 'The mail by line', tabindex: '0' }),
      ],
    }),
  });
  return {
    goTo: ({ line, column }) => {
      const { from, to } = doc.line(Math.min(line, doc.lines));
      const anchor = Math.min(from + column - 1, to);
      const begun = BEGUN.exec(doc.sliceString(anchor, Math.min(to, anchor + SELECTED_MAX)))?.[0] ?? '';
      view.dispatch({
        selection: { anchor, head: anchor + begun.length },
        effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
      });
      view.focus();
    },
    close: () => view.destroy(),
  };
};
