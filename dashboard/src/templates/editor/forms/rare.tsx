/** Controls that few forms have, in a chunk of their own. */
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../../ui/controls';
import {
  type ControlProps,
  IconButton,
  MeasureControl,
  NotWritten,
  placeholderOf,
  PlainControl,
  scalarLike,
  TextControl,
  textOf,
  useTyped,
} from './controls';
import type { Choice } from './fields.js';
import styles from './forms.module.css';
import { JsonControl } from './json-control';
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
  withWidth,
  writtenBorder,
  writtenBox,
} from './values.js';
import { VariableInput } from './variable-input';

export { JsonControl } from './json-control';
export { ConditionForm } from './condition';
export { IncludeForm } from './include';
export { FormatControl, PartsControl } from './parts';

const GalleryDialog = lazy(() => import('./gallery'));

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
    <>
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
      {sides.every((side) => isLength(shown[side])) ? null : <NotWritten what="length" />}
    </>
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
