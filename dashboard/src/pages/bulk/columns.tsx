/** Which column fills what: address, name, and the variables of the template. */
import { FieldRow } from '../../resources/form';
import { Section } from '../../resources/pages';
import { Button } from '../../ui/controls';
import styles from './bulk.module.css';
import type { Table } from './csv.js';
import type { Draft } from './kept';
import type { Change } from './new';
import { type Mapping, nameOf, type Source, type Target, type Writing } from './rows.js';

const NOTHING = '';
const SAME = 'same';

type Props = Readonly<{
  table: Table;
  targets: readonly Target[];
  mapping: Mapping;
  writing: Writing;
  draft: Draft;
  change: Change;
}>;

export const Columns = ({ table, targets, mapping, writing, draft, change }: Props) => {
  const used = new Set(Object.values(mapping).flatMap((source) => ('column' in source ? [source.column] : [])));
  const free = table.head.flatMap((name, at) => (used.has(at) || name === '' ? [] : [{ name, at }]));
  const set = (key: string, source: Source): void => change({ mapping: { ...mapping, [key]: source } });
  const has = (type: Target['type']): boolean => targets.some((target) => target.type === type);
  return (
    <Section
      title="Columns"
      about="Each variable of the template takes a column, or one value for everybody. An empty cell leaves the variable out."
    >
      <div className={styles['scroll']}>
        <table className={styles['columns']} aria-label="What the columns fill">
          <thead>
            <tr>
              <th scope="col">Fills</th>
              <th scope="col">From</th>
              <th scope="col">First row</th>
            </tr>
          </thead>
          <tbody>
            {targets.map((target) => (
              <TargetRow
                key={target.key}
                target={target}
                table={table}
                source={mapping[target.key]}
                onChange={(source) => set(target.key, source)}
              />
            ))}
          </tbody>
        </table>
      </div>
      {free.length === 0 ? null : (
        <div className={styles['free']}>
          <span className={styles['soft']}>
            {free.length === 1 ? 'One column fills' : `${free.length} columns fill`} nothing. A variable that the
            template does not declare can take one:
          </span>
          {free.map(({ name, at }) => (
            <Button key={at} isSmall onPress={() => change({ columns: [...draft.columns, at] })}>
              <bdi>{name}</bdi>
            </Button>
          ))}
        </div>
      )}
      {has('number') || has('date') ? (
        <div className={styles['fields']}>
          {has('number') ? (
            <FieldRow
              field={{
                name: 'decimal',
                label: 'Numbers are written',
                kind: 'select',
                choices: [
                  { value: '.', label: '1,234.56' },
                  { value: ',', label: '1.234,56' },
                ],
              }}
              value={writing.decimal}
              onChange={(value) => change({ writing: { ...writing, decimal: value as Writing['decimal'] } })}
            />
          ) : null}
          {has('date') ? (
            <FieldRow
              field={{
                name: 'dates',
                label: 'Dates with slashes are written',
                kind: 'select',
                choices: [
                  { value: 'day', label: '24/12/2026 (day first)' },
                  { value: 'month', label: '12/24/2026 (month first)' },
                ],
              }}
              value={writing.dates}
              onChange={(value) => change({ writing: { ...writing, dates: value as Writing['dates'] } })}
            />
          ) : null}
        </div>
      ) : null}
    </Section>
  );
};

const typeNames: Readonly<Record<NonNullable<Target['type']>, string>> = {
  string: 'text',
  number: 'number',
  boolean: 'yes or no',
  date: 'date',
  array: 'list, as JSON',
  object: 'object, as JSON',
};

type RowProps = Readonly<{
  target: Target;
  table: Table;
  source: Source | undefined;
  onChange: (source: Source) => void;
}>;

const TargetRow = ({ target, table, source, onChange }: RowProps) => {
  const { label, path, type, isRequired } = target;
  const same = source !== undefined && 'same' in source ? source.same : undefined;
  const value =
    same !== undefined ? SAME : source !== undefined && 'column' in source ? String(source.column) : NOTHING;
  const example = source !== undefined && 'column' in source ? (table.rows[0]?.cells[source.column] ?? '') : '';
  return (
    <tr>
      <th scope="row">
        <bdi>{path === undefined ? label : <code>{label}</code>}</bdi>
        <span className={styles['soft']}>
          {' '}
          {type === undefined ? '' : typeNames[type]}
          {isRequired === true ? <span className={styles['required']}> required</span> : null}
        </span>
      </th>
      <td>
        <div className={styles['source']}>
          <select
            aria-label={`Column for ${label}`}
            value={value}
            onChange={({ target: { value: chosen } }) =>
              onChange(
                chosen === NOTHING ? { isNothing: true } : chosen === SAME ? { same: '' } : { column: Number(chosen) },
              )
            }
          >
            <option value={NOTHING}>nothing</option>
            {path === undefined ? null : <option value={SAME}>the same for everybody</option>}
            {table.head.map((_, at) => (
              <option key={at} value={at}>
                {nameOf(table, at)}
              </option>
            ))}
          </select>
          {same === undefined ? null : (
            <input
              aria-label={`Value of ${label} for everybody`}
              value={same}
              onChange={({ target: { value: typed } }) => onChange({ same: typed })}
            />
          )}
        </div>
      </td>
      <td className={styles['example']}>
        <bdi>{example}</bdi>
      </td>
    </tr>
  );
};
