/** A control for each kind of value. What a control cannot take apart is shown as it is written. */
import { lazy, type ReactNode, useState } from 'react';
import { Button } from '../../../ui/controls';
import { CloseIcon } from '../../../ui/icons';
import { cx } from '../../../ui/cx';
import { type Choice, choicesByKind, type Field } from './fields.js';
import styles from './forms.module.css';
import type { Name } from './names.js';
import { hexOf, measureOf, unitsOf, writtenMeasure } from './values.js';
import { type Marks, VariableInput } from './variable-input';

const JsonControl = lazy(() => import('./rare').then((loaded) => ({ default: loaded.JsonControl })));

/** The template around a control, as far as it knows it. */
export type Surroundings = Readonly<{
  names: readonly Name[];
  lists: readonly Name[];
  /** Members of the items of the nearest data source. */
  members: readonly Name[];
  colors: readonly string[];
  isDocument: boolean;
  teamId: string;
}>;

export type ControlProps = Readonly<{
  field: Field;
  value: unknown;
  /** Undefined takes the value out of the template. */
  write: (value: unknown) => void;
  marks: Marks;
  around: Surroundings;
}>;

/**
 * Text of a control while it is typed. In: the text of the value, as it is written. Out: what to show; and a setter
 * of what was typed and of the text that the value then has.
 */
export const useTyped = (given: string): readonly [string, (text: string, becomes: string) => void] => {
  const [local, setLocal] = useState<{ text: string; given: string }>();
  return [
    // Another value came from elsewhere, such as an undo.
    local !== undefined && local.given === given ? local.text : given,
    (text, becomes) => setLocal({ text, given: becomes }),
  ];
};

export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : String(value);

export const placeholderOf = ({ unset }: Field): string | undefined => (typeof unset === 'string' ? unset : undefined);

/** A number stays one as long as it is one. */
export const scalarLike = (before: unknown, text: string): string | number =>
  typeof before === 'number' && /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;

export const TextControl = ({ field, value, write, marks, around }: ControlProps) => {
  if (value !== undefined && typeof value !== 'string' && typeof value !== 'number')
    return <JsonControl {...{ field, value, write, marks, around }} />;
  const text = textOf(value);
  const change = (next: string): void =>
    write(next === '' && field.isRequired !== true ? undefined : scalarLike(value, next));
  // A line has no line breaks, and would lose them.
  if (/[\n\r]/.test(text))
    return (
      <textarea
        {...marks}
        className={styles['input']}
        rows={4}
        value={text}
        onChange={({ target }) => change(target.value)}
      />
    );
  return (
    <VariableInput
      marks={marks}
      label={field.label}
      value={text}
      names={around.names}
      placeholder={placeholderOf(field) ?? (field.kind === 'link' ? 'https://' : undefined)}
      onChange={change}
    />
  );
};

/** Text without variables. */
export const PlainControl = ({ field, value, write, marks }: ControlProps) => (
  <input
    {...marks}
    className={cx(styles['input'], field.kind === 'name' && styles['mono'])}
    type={field.kind === 'address' ? 'email' : 'text'}
    autoComplete="off"
    placeholder={placeholderOf(field)}
    value={textOf(value)}
    onChange={({ target }) => write(target.value === '' && field.isRequired !== true ? undefined : target.value)}
  />
);

/** In: the choices and the value. A value that is none of them stays one. */
export const ChoiceControl = ({ field, value, write, marks }: ControlProps) => {
  const choices: readonly Choice[] = field.choices ?? choicesByKind[field.kind] ?? [];
  const isUnset = value === undefined || (field.kind === 'hidesLines' && value === false);
  const text = isUnset ? '' : textOf(value);
  return (
    <select
      {...marks}
      className={styles['input']}
      value={text}
      onChange={({ target }) =>
        write(
          target.value === ''
            ? undefined
            : field.kind === 'hidesLines' && target.value === 'true'
              ? true
              : target.value,
        )
      }
    >
      {field.isRequired === true && text !== '' ? null : (
        <option value="">{field.isRequired === true ? 'Choose' : (placeholderOf(field) ?? 'as usual')}</option>
      )}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
      {isUnset || choices.some((choice) => choice.value === text) ? null : <option value={text}>{text}</option>}
    </select>
  );
};

export const ColorControl = ({ field, value, write, marks, around }: ControlProps) => {
  const text = textOf(value);
  const hex = hexOf(text) ?? hexOf(field.unset) ?? '#ffffff';
  return (
    <div className={styles['color']}>
      <span className={styles['row']}>
        <input
          type="color"
          className={cx(styles['swatch'], text === '' && styles['unset'])}
          aria-label={`Choose a colour: ${field.label}`}
          disabled={marks.disabled}
          value={hex}
          onChange={({ target }) => write(target.value)}
        />
        <input
          {...marks}
          className={cx(styles['input'], styles['mono'])}
          type="text"
          autoComplete="off"
          spellCheck={false}
          placeholder={placeholderOf(field)}
          value={text}
          onChange={({ target }) => write(target.value === '' ? undefined : target.value)}
        />
      </span>
      {around.colors.length === 0 || marks.disabled === true ? null : (
        <span className={styles['swatches']} role="group" aria-label={`Colours of this template: ${field.label}`}>
          {around.colors.map((color) => (
            <Swatch key={color} color={color} isChosen={hexOf(text) === color} onChoose={() => write(color)} />
          ))}
        </span>
      )}
    </div>
  );
};

const Swatch = ({
  color,
  isChosen,
  onChoose,
}: Readonly<{ color: string; isChosen: boolean; onChoose: () => void }>) => (
  <button
    type="button"
    className={styles['chip']}
    title={color}
    aria-label={color}
    aria-pressed={isChosen}
    onClick={onChoose}
  >
    <svg width="14" height="14" aria-hidden="true">
      <rect width="14" height="14" rx="3" fill={color} />
    </svg>
  </button>
);

const hasShare = (field: Field): boolean => field.kind === 'length' || field.kind === 'share';

export const MeasureControl = ({ field, value, write, marks, around }: ControlProps) => {
  const units = unitsOf(around.isDocument, hasShare(field));
  const bare = units[0]!;
  const measure = measureOf(value, bare);
  const amount = measure?.amount ?? '';
  const [text, setText] = useTyped(amount);
  const [chosenUnit, setChosenUnit] = useState<string>();
  if (measure === undefined) return <PlainControl {...{ field, value, write, marks, around }} />;
  // A unit that is chosen before its number waits for it.
  const unit = amount === '' ? (chosenUnit ?? measure.unit) : measure.unit;
  const isWrong = measureOf(writtenMeasure({ amount: text, unit }, bare), bare) === undefined;
  return (
    <>
      <span className={styles['row']}>
        <input
          {...marks}
          {...(isWrong ? { 'aria-invalid': true as const } : {})}
          className={styles['input']}
          type="text"
          inputMode="decimal"
          autoComplete="off"
          placeholder={placeholderOf(field)}
          value={text}
          onChange={({ target }) => {
            const next = writtenMeasure({ amount: target.value, unit }, bare);
            const read = measureOf(next, bare);
            if (read === undefined) setText(target.value, amount);
            else {
              setText(target.value, read.amount);
              write(next);
            }
          }}
        />
        <select
          className={cx(styles['input'], styles['unit'])}
          aria-label={`Unit: ${field.label}`}
          disabled={marks.disabled}
          value={unit}
          onChange={({ target }) => {
            setChosenUnit(target.value);
            if (amount !== '') write(writtenMeasure({ amount, unit: target.value }, bare));
          }}
        >
          {(units.includes(unit) ? units : [...units, unit]).map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </span>
      {isWrong ? <NotWritten what="number" /> : null}
    </>
  );
};

/** Says that what stands in a control is not in the template. */
export const NotWritten = ({ what }: Readonly<{ what: string }>) => (
  <span className={styles['fault']}>This is no {what} yet, so it is not in the template.</span>
);

/** A path, written with braces unless it was without. */
export const PathControl = ({ field, value, write, marks, around }: ControlProps) => {
  if (value !== undefined && typeof value !== 'string')
    return <JsonControl {...{ field, value, write, marks, around }} />;
  const text = value ?? '';
  const [, inside] = /^\s*\{\{\s*([^{}]*?)\s*\}\}\s*$/.exec(text) ?? [];
  const isBraced = inside !== undefined || text === '';
  const offered = field.kind === 'field' ? around.members : field.name === 'dataSource' ? around.lists : around.names;
  return (
    <VariableInput
      isPath
      marks={marks}
      label={field.label}
      value={inside ?? text}
      names={offered}
      placeholder={placeholderOf(field)}
      onChange={(path) => {
        const trimmed = path.trim();
        if (trimmed === '') write(field.isRequired === true ? '' : undefined);
        else write(isBraced && field.kind === 'path' ? `{{${trimmed}}}` : trimmed);
      }}
    />
  );
};

export const IconButton = ({
  label,
  isDisabled = false,
  icon = <CloseIcon size={13} />,
  onPress,
}: Readonly<{ label: string; isDisabled?: boolean; icon?: ReactNode; onPress: () => void }>) => (
  <Button look="quiet" isSmall aria-label={label} isDisabled={isDisabled} onPress={onPress}>
    {icon}
  </Button>
);
