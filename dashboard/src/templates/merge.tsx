/** Two contents as JSON, line by line, with what is equal folded. */
import { json } from '@codemirror/lang-json';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import type { Content } from './content';
import { codeLook, pageNonce } from './look';
import styles from './views.module.css';

const textOf = (content: Content): string => JSON.stringify(content, null, 2);

const look = EditorView.theme({
  '.cm-changedLine': { backgroundColor: 'light-dark(#e3f4e8, #1d3325) !important' },
  '.cm-deletedChunk': { backgroundColor: 'light-dark(#fbe6e4, #3b2321) !important' },
  '.cm-changedText': { background: 'light-dark(#bfe5ca, #2f5a3e) !important' },
  '.cm-deletedText': { background: 'light-dark(#f3c2bd, #6a3733) !important' },
  '.cm-collapsedLines': {
    background: 'var(--raised)',
    color: 'var(--soft)',
    padding: '2px 8px',
  },
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '""' },
});

const JsonDifference = ({ before, after }: Readonly<{ before: Content; after: Content }>) => {
  const place = useRef<HTMLDivElement>(null);
  const [was, is] = [textOf(before), textOf(after)];
  useEffect(() => {
    if (place.current === null) return undefined;
    const view = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: is,
        extensions: [
          EditorView.cspNonce.of(pageNonce()),
          lineNumbers(),
          json(),
          ...codeLook,
          look,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': 'Difference as JSON', tabindex: '0' }),
          unifiedMergeView({
            original: was,
            mergeControls: false,
            collapseUnchanged: { margin: 2, minSize: 4 },
            diffConfig: { scanLimit: 2_000, timeout: 1_000 },
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [was, is]);
  return <div ref={place} className={styles['merge']} />;
};

export default JsonDifference;
