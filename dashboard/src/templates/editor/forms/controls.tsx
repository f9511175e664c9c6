/** A control for each kind of value. What a control cannot take apart is shown as it is written. */
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Button } from '../../../ui/controls';
import { CloseIcon } from '../../../ui/icons';
import { cx } from '../../../ui/cx';
import { type Choice, choicesByKind, type Field } from './fields.js';
import styles from './forms.module.css';
import type { Name } from './names.js';
import { isObject } from './place.js';
import {
  borderOf,
  boxOf,
  equalWidths,
  hexOf,
  measureOf,
  NO_BORDER,
  sides,
  type Sides,
  unitsOf,
  withWidth,
  writtenBorder,
  writtenBox,
  writtenMeasure,
} from './values.js';
import { type Marks, VariableInput } from './variable-input';

const GalleryDialog = lazy(() => import('./gallery'));

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

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : String(value);

const placeholderOf = ({ unset }: Field): string | undefined => (typeof unset === 'string' ? unset : undefined);

/** A number stays one as long as it is one. */
const scalarLike = (before: unknown, text: string): string | number =>
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

export const NumberControl = ({ field, value, write, marks }: ControlProps) => (
  <input
    {...marks}
    className={styles['input']}
    type="number"
    min={0}
    placeholder={placeholderOf(field)}
    value={textOf(value)}
    onChange={({ target }) => write(target.value === '' ? undefined : target.valueAsNumber)}
  />
);

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
      {isWrong ? <span className={styles['fault']}>This is no JSON yet, so it is not in the template.</span> : null}
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

/** A property that is neither on nor off until somebody says so. */
export const MaybeControl = ({ field, value, write, marks }: ControlProps) => (
  <select
    {...marks}
    className={styles['input']}
    value={value === undefined ? '' : String(value)}
    onChange={({ target }) => write(target.value === '' ? undefined : target.value === 'true')}
  >
    <option value="">{placeholderOf(field) ?? 'as usual'}</option>
    <option value="true">Yes</option>
    <option value="false">No</option>
  </select>
);

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
  return (
    <span className={styles['row']}>
      <input
        {...marks}
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
        onBlur={() => setText(amount, amount)}
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
  );
};

const sideLabels: Readonly<Record<keyof Sides, string>> = {
  top: 'Top',
  right: 'Right',
  bottom: 'Bottom',
  left: 'Left',
};
const isLength = (text: string): boolean =>
  text.trim() === '' || measureOf(text.trim().replace(',', '.'), 'px') !== undefined;

/** Four sides, each a length with or without a unit. */
export const BoxControl = ({ field, value, write, marks, around }: ControlProps) => {
  const box = boxOf(value);
  const [text, setText] = useTyped(JSON.stringify(box ?? null));
  if (box === undefined) return <PlainControl {...{ field, value, write, marks, around }} />;
  const shown = JSON.parse(text) as Sides;
  const change = (next: Sides): void => {
    const written = sides.every((side) => isLength(next[side])) ? writtenBox(next) : value;
    setText(JSON.stringify(next), JSON.stringify(boxOf(written) ?? null));
    if (written !== value) write(written);
  };
  const { id: _id, ...others } = marks;
  return (
    <span className={styles['sides']} role="group" aria-label={field.label}>
      {sides.map((side) => (
        <label key={side}>
          <input
            {...others}
            className={styles['input']}
            type="text"
            autoComplete="off"
            placeholder={placeholderOf(field) === '0' ? '0' : undefined}
            value={shown[side]}
            onChange={({ target }) => change({ ...shown, [side]: target.value })}
          />
          <small>{sideLabels[side]}</small>
        </label>
      ))}
      <Button
        look="quiet"
        isSmall
        isDisabled={marks.disabled === true || shown.top === ''}
        aria-label={`The same on all sides: ${field.label}`}
        onPress={() => change({ top: shown.top, right: shown.top, bottom: shown.top, left: shown.top })}
      >
        All
      </Button>
    </span>
  );
};

const borderStyles: readonly Choice[] = [
  { value: '', label: 'as usual' },
  { value: NO_BORDER, label: 'None' },
  { value: 'solid', label: 'Solid' },
  { value: 'dashed', label: 'Dashed' },
  { value: 'dotted', label: 'Dotted' },
  { value: 'double', label: 'Double' },
];

export const BorderControl = ({ field, value, write, marks, around }: ControlProps) => {
  const border = borderOf(value);
  const [width, setWidth] = useTyped(border?.width ?? '');
  if (border === undefined) return <PlainControl {...{ field, value, write, marks, around }} />;
  const isDrawn = border.style !== '' && border.style !== NO_BORDER;
  return (
    <span className={styles['border']}>
      <select
        {...marks}
        className={styles['input']}
        value={border.style}
        onChange={({ target }) =>
          write(writtenBorder({ ...border, color: border.color || '#e5e7eb', style: target.value }))
        }
      >
        {borderStyles.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      {isDrawn ? (
        <>
          <input
            className={styles['input']}
            type="text"
            aria-label={`Width: ${field.label}`}
            disabled={marks.disabled}
            value={width}
            onChange={({ target }) => {
              const isWritten = target.value.trim() !== '' && isLength(target.value);
              const next = isWritten ? writtenBorder({ ...border, width: target.value }) : value;
              setWidth(target.value, borderOf(next)?.width ?? '');
              if (isWritten) write(next);
            }}
          />
          <input
            type="color"
            className={styles['swatch']}
            aria-label={`Colour: ${field.label}`}
            disabled={marks.disabled}
            value={hexOf(border.color) ?? '#e5e7eb'}
            onChange={({ target }) => write(writtenBorder({ ...border, color: target.value }))}
          />
        </>
      ) : null}
    </span>
  );
};

const FONTS = [
  'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  'Arial, Helvetica, sans-serif',
  'Verdana, Geneva, sans-serif',
  '"Trebuchet MS", Tahoma, sans-serif',
  'Georgia, "Times New Roman", serif',
  '"Courier New", Courier, monospace',
];

/** Fonts that most readers have, and any other. */
export const FontControl = (props: ControlProps) => {
  const { field, value, write, marks } = props;
  const [isOwn, setIsOwn] = useState(typeof value === 'string' && !FONTS.includes(value));
  const text = textOf(value);
  return (
    <>
      <select
        {...marks}
        className={styles['input']}
        value={isOwn ? 'own' : text}
        onChange={({ target }) => {
          setIsOwn(target.value === 'own');
          if (target.value !== 'own') write(target.value === '' ? undefined : target.value);
        }}
      >
        <option value="">{placeholderOf(field) ?? 'as usual'}</option>
        {FONTS.map((font) => (
          <option key={font} value={font}>
            {font.split(',')[0]!.replaceAll('"', '')}
          </option>
        ))}
        <option value="own">Another one</option>
      </select>
      {isOwn ? (
        <input
          className={styles['input']}
          type="text"
          aria-label={`Names of fonts: ${field.label}`}
          disabled={marks.disabled}
          placeholder="Inter, Arial, sans-serif"
          value={text}
          onChange={({ target }) => write(target.value === '' ? undefined : target.value)}
        />
      ) : null}
    </>
  );
};

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

export const ImageControl = (props: ControlProps) => {
  const { field, write, marks, around } = props;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <TextControl {...props} />
      {marks.disabled === true ? null : (
        <span>
          <Button isSmall onPress={() => setIsOpen(true)} aria-label={`Choose from the gallery: ${field.label}`}>
            Choose from the gallery
          </Button>
        </span>
      )}
      {isOpen ? (
        <Suspense fallback={null}>
          <GalleryDialog
            teamId={around.teamId}
            onClose={() => setIsOpen(false)}
            onChoose={(address) => {
              setIsOpen(false);
              write(address);
            }}
          />
        </Suspense>
      ) : null}
    </>
  );
};

/** Names divided by commas. */
export const WordsControl = ({ field, value, write, marks, around }: ControlProps) => {
  const isList = value === undefined || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
  const given = isList ? ((value ?? []) as readonly string[]).join(', ') : '';
  const [text, setText] = useTyped(given);
  if (!isList) return <JsonControl {...{ field, value, write, marks, around }} />;
  return (
    <input
      {...marks}
      className={styles['input']}
      type="text"
      autoComplete="off"
      placeholder={placeholderOf(field)}
      value={text}
      onChange={({ target }) => {
        const words = target.value.split(/[,\s]+/).filter((word) => word !== '');
        setText(target.value, words.join(', '));
        write(words.length === 0 ? undefined : words);
      }}
    />
  );
};

/** Outputs of a document; one stays. */
export const OutputsControl = ({ value, write, marks, field }: ControlProps) => {
  const given = Array.isArray(value) ? (value as readonly string[]) : [];
  return (
    <span className={styles['checks']} role="group" aria-label={field.label}>
      {(
        [
          ['pdf', 'PDF'],
          ['excel', 'Excel'],
        ] as const
      ).map(([format, label]) => (
        <label key={format} className={styles['check']}>
          <input
            type="checkbox"
            checked={given.includes(format)}
            disabled={marks.disabled === true || (given.length === 1 && given.includes(format))}
            onChange={({ target }) =>
              write(target.checked ? [...given, format] : given.filter((one) => one !== format))
            }
          />
          {label}
        </label>
      ))}
    </span>
  );
};

/** The order of groups: as they come, by name, or a list with a line for each. */
export const OrderControl = ({ field, value, write, marks }: ControlProps) => {
  const list = Array.isArray(value) ? (value as readonly unknown[]) : undefined;
  const given = (list ?? []).map(String).join('\n');
  const [text, setText] = useTyped(given);
  return (
    <>
      <select
        {...marks}
        className={styles['input']}
        value={list === undefined ? textOf(value) : 'list'}
        onChange={({ target }) =>
          write(target.value === '' ? undefined : target.value === 'list' ? ['first'] : target.value)
        }
      >
        <option value="">as they come</option>
        {value === 'given' ? <option value="given">as they come</option> : null}
        <option value="name">by name</option>
        <option value="list">in this order</option>
      </select>
      {list === undefined ? null : (
        <textarea
          className={styles['input']}
          aria-label={`One group a line: ${field.label}`}
          disabled={marks.disabled}
          rows={4}
          value={text}
          onChange={({ target }) => {
            const known = new Map(list.map((one) => [String(one), one]));
            const next = target.value
              .split('\n')
              .filter((line) => line !== '')
              .map((line) => known.get(line) ?? line);
            setText(target.value, next.map(String).join('\n'));
            if (next.length > 0) write(next);
          }}
        />
      )}
    </>
  );
};

/** The cells of a table that is written here. A cell with a format of its own keeps it. */
export const RowsControl = (props: ControlProps) => {
  const { field, value, write, marks, around } = props;
  const rows = value ?? [];
  if (!Array.isArray(rows) || !rows.every((row) => Array.isArray(row))) return <JsonControl {...props} />;
  const cells = rows as readonly (readonly unknown[])[];
  const columns = Math.max(1, ...cells.map((row) => row.length));
  const contentOf = (cell: unknown): string => textOf(isObject(cell) ? cell['content'] : (cell ?? ''));
  const set = (row: number, at: number, text: string): void => {
    const before = cells[row] ?? [];
    const filled = Array.from({ length: Math.max(before.length, at + 1) }, (_, place) => before[place] ?? '');
    const cell = filled[at];
    const next = isObject(cell) ? { ...cell, content: scalarLike(cell['content'], text) } : scalarLike(cell, text);
    write(cells.with(row, filled.with(at, next)));
  };
  const empty = Array.from({ length: columns }, () => '');
  return (
    <div className={styles['rows']} role="group" aria-label={field.label}>
      {cells.map((row, at) => (
        <div key={at} className={styles['cells']}>
          {Array.from({ length: columns }, (_, place) => (
            <VariableInput
              key={place}
              marks={{ ...marks, id: `${marks.id}-${at}-${place}`, 'aria-label': `Row ${at + 1}, cell ${place + 1}` }}
              label={`Row ${at + 1}, cell ${place + 1}`}
              value={contentOf(row[place])}
              names={around.names}
              onChange={(text) => set(at, place, text)}
            />
          ))}
          <IconButton
            label={`Remove row ${at + 1}`}
            isDisabled={marks.disabled === true}
            onPress={() => write(cells.length === 1 ? undefined : cells.filter((_, place) => place !== at))}
          />
        </div>
      ))}
      <span className={styles['buttons']}>
        <Button isSmall isDisabled={marks.disabled === true} onPress={() => write([...cells, empty])}>
          Add a row
        </Button>
        {cells.length === 0 ? null : (
          <>
            <Button
              isSmall
              isDisabled={marks.disabled === true}
              onPress={() =>
                write(cells.map((row) => [...row, ...Array.from({ length: columns + 1 - row.length }, () => '')]))
              }
            >
              Add a column
            </Button>
            {columns === 1 ? null : (
              <Button
                isSmall
                isDisabled={marks.disabled === true}
                onPress={() => write(cells.map((row) => (row.length < columns ? row : row.slice(0, -1))))}
              >
                Remove the last column
              </Button>
            )}
          </>
        )}
      </span>
    </div>
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

/** In: the widths of columns, as many as there are columns. */
export const WidthsControl = (props: ControlProps & Readonly<{ count: number }>) => {
  const { field, value, write, marks, around, count } = props;
  if (value !== undefined && !Array.isArray(value)) return <JsonControl {...props} />;
  const widths = value as readonly unknown[] | undefined;
  if (widths === undefined)
    return (
      <span>
        <Button isSmall isDisabled={marks.disabled === true || count === 0} onPress={() => write(equalWidths(count))}>
          Set widths
        </Button>
      </span>
    );
  return (
    <span className={styles['widths']} role="group" aria-label={field.label}>
      {Array.from({ length: Math.max(count, widths.length) }, (_, at) => (
        <MeasureControl
          key={at}
          field={{ ...field, kind: 'length', label: `Column ${at + 1}` }}
          value={widths[at]}
          write={(width) => write(withWidth(widths, count, at, width))}
          marks={{ ...marks, id: `${marks.id}-${at}`, 'aria-label': `Width of column ${at + 1}` }}
          around={around}
        />
      ))}
    </span>
  );
};
