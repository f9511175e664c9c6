/** Values of several parts: the columns of a table, the series of a chart, the steps of a timeline, and formats. */
import { useState } from 'react';
import { Button } from '../../../ui/controls';
import { cx } from '../../../ui/cx';
import { useForm } from './context';
import { type ControlProps, IconButton } from './controls';
import { JsonControl } from './json-control';
import {
  type Choice,
  columnSpecs,
  type Field,
  fieldsOfSpecs,
  groupsOf,
  outputsOf,
  seriesSpecs,
  timelineItemSpecs,
} from './fields.js';
import { FieldRow } from './field-row';
import styles from './forms.module.css';
import { isObject, type Json, type Steps } from './place.js';

type PlacedProps = ControlProps & Readonly<{ steps: Steps }>;

const partsByKind = {
  columns: {
    one: 'column',
    type: 'columns',
    fields: fieldsOfSpecs('columns', columnSpecs),
    empty: { header: '', content: '' },
  },
  series: { one: 'series', type: 'series', fields: fieldsOfSpecs('series', seriesSpecs), empty: { valueField: '' } },
  timelineItems: {
    one: 'step',
    type: 'timelineItem',
    fields: fieldsOfSpecs('timelineItem', timelineItemSpecs),
    empty: { title: '' },
  },
} as const;

/** The text that tells a part from the others. */
const nameOf = (part: Json): string => {
  for (const name of ['header', 'name', 'title', 'valueField', 'content'])
    if (typeof part[name] === 'string' && part[name] !== '') return part[name];
  return 'without a name';
};

const forSheets = new Set(['hidden', 'rules']);

export const PartsControl = (props: PlacedProps) => {
  const { field, value, write, marks, steps } = props;
  const { draft } = useForm();
  const [open, setOpen] = useState<number>();
  const kind = field.kind as keyof typeof partsByKind;
  const { one, fields, empty } = partsByKind[kind];
  const parts: readonly unknown[] | undefined = value === undefined ? [] : Array.isArray(value) ? value : undefined;
  if (parts === undefined || !parts.every(isObject)) return <JsonControl {...props} />;
  const isSheet = outputsOf(draft.kind, draft.content).includes('excel');
  const shown = (part: Json): readonly Field[] =>
    fields.filter(({ name }) => part[name] !== undefined || isSheet || !forSheets.has(name));
  const move = (from: number, to: number): void => {
    const part = parts[from]!;
    const others = parts.filter((_, at) => at !== from);
    setOpen(open === from ? to : open);
    write([...others.slice(0, to), part, ...others.slice(to)]);
  };
  return (
    <div className={styles['parts']} role="group" aria-label={field.label}>
      {parts.map((part, at) => (
        <div key={at} className={styles['part']}>
          <span className={styles['partHead']}>
            <button
              type="button"
              className={styles['partName']}
              aria-expanded={open === at}
              onClick={() => setOpen(open === at ? undefined : at)}
            >
              {at + 1}. {nameOf(part)}
            </button>
            {marks.disabled === true ? null : (
              <>
                <IconButton
                  label={`Move ${one} ${at + 1} up`}
                  icon="↑"
                  isDisabled={at === 0}
                  onPress={() => move(at, at - 1)}
                />
                <IconButton
                  label={`Move ${one} ${at + 1} down`}
                  icon="↓"
                  isDisabled={at === parts.length - 1}
                  onPress={() => move(at, at + 1)}
                />
                <IconButton
                  label={`Remove ${one} ${at + 1}`}
                  onPress={() => {
                    setOpen(undefined);
                    write(
                      parts.length === 1 && field.isRequired !== true
                        ? undefined
                        : parts.filter((_, place) => place !== at),
                    );
                  }}
                />
              </>
            )}
          </span>
          {open === at ? (
            <div className={styles['partFields']}>
              {groupsOf(shown(part)).flatMap(([, members]) =>
                members.map((member) => <FieldRow key={member.name} field={member} base={[...steps, at]} />),
              )}
            </div>
          ) : null}
        </div>
      ))}
      {marks.disabled === true ? null : (
        <span>
          <Button
            isSmall
            onPress={() => {
              setOpen(parts.length);
              write([...parts, empty]);
            }}
          >
            Add a {one}
          </Button>
        </span>
      )}
    </div>
  );
};

const formatStyles: readonly Choice[] = [
  { value: 'number', label: 'Number' },
  { value: 'currency', label: 'Amount of money' },
  { value: 'percent', label: 'Percentage' },
  { value: 'date', label: 'Date' },
  { value: 'time', label: 'Time' },
  { value: 'datetime', label: 'Date and time' },
];
const lengths: readonly Choice[] = [
  { value: 'full', label: 'Full' },
  { value: 'long', label: 'Long' },
  { value: 'medium', label: 'Medium' },
  { value: 'short', label: 'Short' },
];

const detail = (kind: Field['kind'], name: string, label: string, more: Partial<Field> = {}): Field => ({
  ...{ name, steps: [name], kind, label, group: 'content' as const },
  ...more,
});
const digits = [
  detail('number', 'minimumFractionDigits', 'Digits behind the point, at least'),
  detail('number', 'maximumFractionDigits', 'Digits behind the point, at most'),
];
const dateStyle = detail('choice', 'dateStyle', 'Length of the date', { choices: lengths, unset: 'Medium' });
const timeStyle = detail('choice', 'timeStyle', 'Length of the time', { choices: lengths, unset: 'Short' });
const pattern = detail('plainText', 'pattern', 'Own pattern', { unset: 'none' });

const detailsOf: Readonly<Record<string, readonly Field[]>> = {
  number: [...digits, pattern],
  currency: [
    detail('text', 'currency', 'Currency', { isRequired: true, hint: 'Three letters such as EUR, or a variable.' }),
    ...digits,
  ],
  percent: digits,
  date: [dateStyle, pattern],
  time: [timeStyle, pattern],
  datetime: [dateStyle, timeStyle, pattern],
};
const languageOf = detail('language', 'locale', 'Language', { unset: 'that of the mail' });

/** How a value is written. Members that another style does not know go with the style. */
export const FormatControl = (props: PlacedProps) => {
  const { field, value, write, marks, steps } = props;
  if (value !== undefined && !isObject(value)) return <JsonControl {...props} />;
  const style = typeof value?.['style'] === 'string' ? value['style'] : '';
  const details = detailsOf[style] ?? [];
  return (
    <div className={cx(styles['parts'])} role="group" aria-label={field.label}>
      <select
        {...marks}
        className={styles['input']}
        aria-label={`Style: ${field.label}`}
        value={style}
        onChange={({ target }) => write(target.value === '' ? undefined : withStyle(value ?? {}, target.value))}
      >
        <option value="">{typeof field.unset === 'string' ? field.unset : 'as usual'}</option>
        {formatStyles.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      {style === '' ? null : (
        <div className={styles['partFields']}>
          {[...details, languageOf].map((member) => (
            <FieldRow key={member.name} field={member} base={steps} />
          ))}
        </div>
      )}
    </div>
  );
};

const withStyle = (format: Json, style: string): Json => {
  const known = new Set([...(detailsOf[style] ?? []).map(({ name }) => name), 'locale', 'timeZone']);
  const kept = Object.fromEntries(Object.entries(format).filter(([name]) => known.has(name)));
  return { style, ...(style === 'currency' ? { currency: 'EUR' } : {}), ...kept };
};
