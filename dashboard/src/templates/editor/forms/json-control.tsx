/** A value that has no control of its own, as JSON. */
import { useState } from 'react';
import { cx } from '../../../ui/cx';
import { type ControlProps, NotWritten, useTyped } from './controls';
import styles from './forms.module.css';

/** Anything that has no control of its own. A text that is no JSON is not written. */
export const JsonControl = ({ value, write, marks }: ControlProps) => {
  const given = value === undefined ? '' : JSON.stringify(value, null, 2);
  const [text, setText] = useTyped(given);
  const [isWrong, setIsWrong] = useState(false);
  return (
    <>
      <textarea
        {...marks}
        {...(isWrong ? { 'aria-invalid': true as const } : {})}
        className={cx(styles['input'], styles['mono'])}
        rows={Math.min(12, text.split('\n').length + 1)}
        spellCheck={false}
        value={text}
        onChange={({ target }) => {
          const next = parsed(target.value);
          setIsWrong(next === NOT_JSON);
          if (next === NOT_JSON) setText(target.value, given);
          else {
            setText(target.value, next === undefined ? '' : JSON.stringify(next, null, 2));
            write(next);
          }
        }}
      />
      {isWrong ? <NotWritten what="JSON" /> : null}
    </>
  );
};

const NOT_JSON = Symbol('no JSON');

const parsed = (text: string): unknown => {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
};
