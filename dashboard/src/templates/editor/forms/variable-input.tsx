/** A line of text that offers the variables of its place, as a path alone or between braces in a text. */
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { cx } from '../../../ui/cx';
import styles from './forms.module.css';
import type { Name } from './names.js';

/** Attributes that a field gives its control. */
export type Marks = Readonly<{
  id: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
  'aria-required'?: true;
  'aria-label'?: string;
  disabled?: boolean;
}>;

/** Names that are shown at a time; typing finds the others. */
const SHOWN_MAX = 60;

/** The unfinished placeholder before the caret; undefined where there is none. */
const openBefore = (text: string, caret: number): string | undefined =>
  /\{\{\s*([^{}]*)$/.exec(text.slice(0, caret))?.[1];

const found = (names: readonly Name[], query: string): readonly Name[] => {
  const wanted = query.trim().toLowerCase();
  const exact: Name[] = [];
  const begins: Name[] = [];
  const holds: Name[] = [];
  for (const name of names) {
    const path = name.path.toLowerCase();
    if (path === wanted) exact.push(name);
    else if (path.startsWith(wanted)) begins.push(name);
    else if (path.includes(wanted) || (name.about?.toLowerCase().includes(wanted) ?? false)) holds.push(name);
  }
  return [...exact, ...begins, ...holds].slice(0, SHOWN_MAX);
};

type Props = Readonly<{
  marks: Marks;
  /** For readers of screens: which variables are offered. */
  label: string;
  value: string;
  names: readonly Name[];
  /** The whole line is one path without braces. */
  isPath?: boolean;
  isMono?: boolean;
  placeholder?: string | undefined;
  hasFocus?: boolean;
  onChange: (value: string) => void;
  /** Gets a name that is chosen, in the place of `onChange`. */
  onChoose?: (path: string) => void;
}>;

export const VariableInput = ({
  marks,
  label,
  value,
  names,
  isPath = false,
  isMono = isPath,
  placeholder,
  hasFocus = false,
  onChange,
  onChoose,
}: Props) => {
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  /** The text that is looked for; `from`: where the text of the choice begins. */
  const [search, setSearch] = useState<{ query: string; from: number }>();
  const [active, setActive] = useState(0);
  const shown = search === undefined ? [] : found(names, search.query);
  const isOpen = shown.length > 0;

  const look = (text: string, caret: number): void => {
    setActive(0);
    if (isPath) {
      setSearch({ query: text, from: 0 });
      return;
    }
    const query = openBefore(text, caret);
    setSearch(query === undefined ? undefined : { query, from: text.lastIndexOf('{{', caret - 1) });
  };
  const choose = ({ path }: Name): void => {
    if (search === undefined) return;
    if (onChoose !== undefined) {
      onChoose(path);
      return;
    }
    const caret = input.current?.selectionStart ?? value.length;
    const end = Math.max(caret, search.from);
    const after = isPath ? '' : value.slice(end).replace(/^[^{}]*\}\}/, '');
    const rest = search.query === '' && value.slice(search.from, end) === '' ? value.slice(end) : after;
    const before = isPath ? path : `${value.slice(0, search.from)}{{${path}}}`;
    setSearch(undefined);
    onChange(`${before}${isPath ? '' : rest}`);
    // The text is there in the next frame.
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(before.length, before.length);
    });
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' && !isOpen && isPath) {
      setSearch({ query: '', from: 0 });
      event.preventDefault();
    }
    if (!isOpen) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setActive((now) => (now + step + shown.length) % shown.length);
    else if (event.key === 'Enter') choose(shown[active] ?? shown[0]!);
    else if (event.key === 'Escape') {
      setSearch(undefined);
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  return (
    <span className={styles['variable']}>
      <input
        {...marks}
        ref={input}
        autoFocus={hasFocus}
        className={cx(styles['input'], isMono && styles['mono'])}
        type="text"
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        aria-activedescendant={isOpen ? `${listId}-${active}` : undefined}
        autoComplete="off"
        spellCheck={!isMono}
        placeholder={placeholder}
        value={value}
        onChange={({ target }) => {
          onChange(target.value);
          look(target.value, target.selectionStart ?? target.value.length);
        }}
        onFocus={() => {
          if (isPath && value === '') setSearch({ query: '', from: 0 });
        }}
        onBlur={() => setSearch(undefined)}
        onKeyDown={press}
      />
      {isPath || names.length === 0 || marks.disabled === true ? null : (
        <button
          type="button"
          className={styles['insert']}
          aria-label={`Insert a variable: ${label}`}
          title="Insert a variable"
          // The focus stays in the line, so its caret does too.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => {
            input.current?.focus();
            setActive(0);
            setSearch(
              search === undefined ? { query: '', from: input.current?.selectionStart ?? value.length } : undefined,
            );
          }}
        >
          {'{ }'}
        </button>
      )}
      {isOpen ? (
        <NameList id={listId} label={label} names={shown} active={active} onChoose={choose} onActive={setActive} />
      ) : null}
    </span>
  );
};

/** The choices below a line, or in a menu of the rich text. */
export const NameList = ({
  id,
  label,
  names,
  active,
  onChoose,
  onActive,
}: Readonly<{
  id: string;
  label: string;
  names: readonly Name[];
  active: number;
  onChoose: (name: Name) => void;
  onActive: (at: number) => void;
}>) => (
  <ul id={id} className={styles['names']} role="listbox" aria-label={`Variables: ${label}`}>
    {names.map((name, at) => (
      <li
        key={name.path}
        id={`${id}-${at}`}
        role="option"
        aria-selected={at === active}
        className={styles['name']}
        ref={(node) => {
          if (at === active) node?.scrollIntoView({ block: 'nearest' });
        }}
        onMouseDown={(event) => event.preventDefault()}
        onMouseMove={() => onActive(at)}
        onClick={() => onChoose(name)}
      >
        <code>{name.path}</code>
        <small>
          {[name.about, name.format, name.sample].filter((one) => one !== undefined).join(' · ') || name.type}
        </small>
      </li>
    ))}
  </ul>
);
