/** What the columns of a CSV mean for a recipient. */
import { needsEscape } from '../../domain/core/json.js';
import { Type, type Static } from '@sinclair/typebox';
import type { FileOptions } from './file.js';
import { invalid, type DomainError } from '../../domain/core/errors.js';

export const fileFault = (message: string): DomainError => invalid('upload', 'file', message);

const column = Type.String({ minLength: 1, maxLength: 255 });
export const ColumnsSchema = Type.Object(
  {
    email: Type.Optional(column),
    name: Type.Optional(column),
    locale: Type.Optional(column),
    timeZone: Type.Optional(column),
    variables: Type.Optional(Type.Record(column, column)),
  },
  { additionalProperties: false },
);
export type Columns = Static<typeof ColumnsSchema>;

/** One row, which begins in that line, as a recipient. Throws VALIDATION_ERROR. */
export type ReadRecord = (record: readonly string[], line: number) => unknown;

type Variable = Readonly<{ name: string; at: number; type: string | undefined }>;

/** In: the head of the file. Throws VALIDATION_ERROR where it has not the columns that are meant. */
export const recipientReader = (given: readonly string[], { columns = {}, types, limits }: FileOptions): ReadRecord => {
  const head = given.map((name) => name.trim());
  const max = limits.templateVariablesMax + 4;
  if (head.length > max) throw fileFault(`has ${head.length} columns; at most ${max} are read`);
  const emailAt = placeOf(head, 'columns.email', columns.email ?? standard(head, 'email'));
  const named = columns.name ?? standard(head, 'name');
  const nameAt = head.includes(named) || columns.name !== undefined ? placeOf(head, 'columns.name', named) : undefined;
  const optional = (['locale', 'timeZone'] as const).flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [{ field, at: placeOf(head, `columns.${field}`, column) }];
  });
  const own = new Set([emailAt, nameAt, ...optional.map(({ at }) => at)]);
  const wanted = columns.variables ?? Object.fromEntries(head.flatMap((name, at) => (own.has(at) ? [] : [[name, name]])));
  if (columns.variables === undefined) refuseUnnamed(head);
  const variables = Object.entries(wanted).map(([name, from]): Variable => ({
    name,
    at: placeOf(head, `columns.variables.${name}`, from),
    type: types.get(name),
  }));
  return (record, line) => {
    if (record.length !== head.length)
      throw fileFault(
        `has ${record.length} cells in line ${line} and ${head.length} in its head; cells with a delimiter inside stand in quotes`,
      );
    const name = nameAt === undefined ? '' : record[nameAt]!.trim();
    return {
      email: record[emailAt]!.trim(),
      ...(name === '' ? {} : { name }),
      // An empty cell is not given, and the call's own holds.
      ...Object.fromEntries(optional.flatMap(({ field, at }) => (record[at]!.trim() === '' ? [] : [[field, record[at]!.trim()]]))),
      // An empty cell is a variable that is not given.
      variables: Object.fromEntries(
        variables.flatMap(({ name: variable, at, type }) => (record[at] === '' ? [] : [[variable, valueOf(record[at]!, type)]])),
      ),
    };
  };
};

const standard = (head: readonly string[], name: string): string => head.find((one) => one.toLowerCase() === name) ?? name;

const placeOf = (head: readonly string[], field: string, name: string): number => {
  const at = head.indexOf(name);
  const has = `; the file has ${head
    .slice(0, 20)
    .map((one) => JSON.stringify(one))
    .join(', ')}`;
  if (at === -1) throw invalid('upload', field, `means the column ${JSON.stringify(name)}, which is not there${has}`);
  if (head.indexOf(name, at + 1) !== -1) throw fileFault(`has two columns ${JSON.stringify(name)}`);
  return at;
};

const refuseUnnamed = (head: readonly string[]): void => {
  const at = head.indexOf('');
  if (at !== -1) throw fileFault(`has no name above column ${at + 1}`);
  const escaped = head.find(needsEscape);
  if (escaped !== undefined) throw fileFault(`has the column ${JSON.stringify(escaped)}, whose name has a quotation mark or a backslash`);
};

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** What is not of the declared type stays a text, and the check of the template says what would be right. */
const valueOf = (cell: string, type: string | undefined): unknown => {
  const text = cell.trim();
  if (type === 'number' && NUMBER.test(text)) return Number(text);
  if (type === 'boolean' && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return cell;
};
