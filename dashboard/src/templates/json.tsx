/** The template as JSON: completion and explanations from its schema, and each fault at its line. */
import { useEffect, useRef, useState } from 'react';
import { Button } from '../ui/controls';
import { isEqual, type Content } from './content';
import { type CodeEditor, openCodeEditor } from './code';
import type { ViewProps } from './page';
import styles from './json.module.css';

const textOf = (content: Content): string => `${JSON.stringify(content, null, 2)}\n`;

const contentIn = (text: string): Content | undefined => {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Content) : undefined;
  } catch {
    return undefined;
  }
};

const JsonView = ({ draft, jump, typed }: ViewProps) => {
  const { kind, content, change, canWrite, faults, selected } = draft;
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor>(undefined);
  const [isBroken, setIsBroken] = useState(typed.current !== undefined);
  const now = useRef({ content, change });
  now.current = { content, change };

  useEffect(() => {
    const parent = place.current;
    if (parent === null) return undefined;
    const opened = openCodeEditor(parent, {
      text: typed.current ?? textOf(now.current.content),
      isReadOnly: !canWrite,
      kind,
      onText: (text) => {
        const next = contentIn(text);
        typed.current = next === undefined ? text : undefined;
        setIsBroken(next === undefined);
        if (next !== undefined) now.current.change(next, { label: 'JSON', group: 'json' });
      },
    });
    editor.current = opened;
    return () => {
      opened.close();
      editor.current = undefined;
    };
  }, [kind, canWrite, typed]);

  // Another view, undo or a save may have changed it. A text that is no JSON yet stays.
  useEffect(() => {
    const opened = editor.current;
    if (opened === undefined || typed.current !== undefined) return;
    if (!isEqual(contentIn(opened.text()), content)) opened.replace(textOf(content));
  }, [content, typed]);
  useEffect(() => editor.current?.showFaults(faults), [faults, content]);
  useEffect(() => {
    if (jump !== undefined) editor.current?.goTo(jump.path);
  }, [jump]);
  useEffect(() => {
    if (selected !== undefined) editor.current?.showComponent(selected);
  }, [selected]);

  return (
    <div className={styles['json']}>
      <div className={styles['tools']}>
        {canWrite ? (
          <Button isSmall onPress={() => editor.current?.format()}>
            Format
          </Button>
        ) : null}
        <Button isSmall onPress={() => editor.current?.find()}>
          Find
        </Button>
        <Button isSmall onPress={() => editor.current?.fold(true)}>
          Fold
        </Button>
        <Button isSmall onPress={() => editor.current?.fold(false)}>
          Unfold
        </Button>
        <span className={isBroken ? styles['broken'] : styles['hint']} role="status">
          {isBroken ? 'This is no JSON yet: the preview and a save have what was there before' : 'Ctrl+Space completes'}
        </span>
      </div>
      <div ref={place} className={styles['code']} />
    </div>
  );
};

export default JsonView;
