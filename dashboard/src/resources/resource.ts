/**
 * How a kind of thing is declared: its list, its form, its facts and what is done with it. The pages of all kinds are
 * made from such declarations (pages.tsx).
 */
import type { ComponentType, ReactNode } from 'react';
import type { GetOwnUserResponse } from '#api';
import type { Team } from '../api/queries';

export type Permission = Team['permissions'][number];

/** The person who looks, and the team. */
export type Scope = Readonly<{ team: Team; teamId: string; me: GetOwnUserResponse }>;

/** `data` and `meta` as the API answers them; `meta` is absent where the list is whole. */
export type Page<Row> = Readonly<{
  data: readonly Row[];
  meta?: Readonly<{ nextCursor: string | null; total?: number; totalIsLowerBound?: boolean }>;
}>;

/** The query of a page of rows: where it begins, its length, and the filters of the address. */
export type ListQuery = Readonly<{ limit: number; cursor?: string } & Record<string, string | number | undefined>>;

export type Choice = Readonly<{ value: string; label: string; hint?: string }>;

/** The contents of a field: text of all kinds, a switch, chosen choices, a file. */
export type Value = string | boolean | readonly string[] | File | null;
export type Values = Readonly<Record<string, Value>>;

/**
 * `name`: the path in the body, as in `defaultFrom.email`; the service names its faults by it. `empty`: what a change
 * sends where the field was emptied; default: null.
 */
export type Field = Readonly<{
  name: string;
  label: string;
  hint?: ReactNode;
  placeholder?: string;
  isRequired?: boolean;
  initial?: Value;
  empty?: '' | null;
}> &
  (
    | Readonly<{
        kind?:
          'text' | 'email' | 'url' | 'number' | 'password' | 'code' | 'moment' | 'day' | 'area' | 'lines' | 'color';
      }>
    | Readonly<{ kind: 'switch' }>
    | Readonly<{ kind: 'select' | 'checks'; choices: readonly Choice[] }>
    | Readonly<{ kind: 'file'; accept: string }>
  );

/** A text that is shown once. */
export type Secret = Readonly<{ title: string; text: string; value: string }>;

/** `say`: a sentence for the reader. `isGone`: the thing has left the list. `open`: the address that is shown next. */
export type Done = Readonly<{ say: string; secret?: Secret; isGone?: boolean; open?: string }>;

/** `ask`: the question before it, which names what goes; absent: it is done at once, unless it has fields. */
export type Act<Row> = Readonly<{
  label: string;
  needs?: Permission;
  look?: 'plain' | 'main' | 'danger';
  isFor?: (row: Row, scope: Scope) => boolean;
  ask?: (row: Row) => Readonly<{ title: string; text: ReactNode }>;
  fields?: (row: Row, scope: Scope) => readonly Field[];
  run: (row: Row, values: Values, scope: Scope) => Promise<Done>;
}>;

/** `isWide`: left out on phones. `isEnd`: its values are numbers. */
export type Column<Row> = Readonly<{
  name: string;
  cell: (row: Row, scope: Scope) => ReactNode;
  isWide?: boolean;
  isEnd?: boolean;
}>;

export type Resource<Row> = Readonly<{
  /** The first step of its addresses, such as `/api-keys`. */
  path: string;
  one: string;
  many: string;
  needs: Permission;
  /** Its purpose; stands above the list. */
  about: ReactNode;
  /** How the first one is made; stands in an empty list. Default: `about`. */
  first?: ReactNode;
  idOf: (row: Row) => string;
  titleOf: (row: Row) => string;
  list: (query: ListQuery, scope: Scope, signal: AbortSignal) => Promise<Page<Row>>;
  filters?: readonly Field[];
  /** The first column leads to the page of the thing, where it has one. */
  columns: readonly Column<Row>[];
  /** Milliseconds until the list and the thing are read again; undefined: never. */
  refreshMs?: (rows: readonly Row[]) => number | undefined;
  /** Absent: the thing has no page, and its acts stand in its row. */
  get?: (id: string, scope: Scope, signal: AbortSignal) => Promise<Row>;
  /** Whether that thing has a page; default: each. The acts of another stand in its row. */
  hasPage?: (row: Row) => boolean;
  badge?: (row: Row) => ReactNode;
  facts?: (row: Row, scope: Scope) => readonly (readonly [label: string, value: ReactNode] | undefined)[];
  /** Further parts of the page of the thing. */
  More?: (props: Readonly<{ row: Row; scope: Scope }>) => ReactNode;
  /** A part of the page below the list. */
  Below?: (props: Readonly<{ scope: Scope }>) => ReactNode;
  /** `Page`: in place of a form. */
  create?: Readonly<{ label: string; needs?: Permission }> &
    (
      | Readonly<{ Page: ComponentType }>
      | Readonly<{
          fields: (scope: Scope) => readonly Field[];
          run: (values: Values, scope: Scope) => Promise<Done>;
        }>
    );
  change?: Readonly<{
    needs?: Permission;
    isFor?: (row: Row) => boolean;
    fields: (row: Row, scope: Scope) => readonly Field[];
    /** In: the values that are other than before. */
    run: (row: Row, changed: Values, scope: Scope) => Promise<Done>;
  }>;
  acts?: readonly Act<Row>[];
  /** Acts on the whole list. */
  tools?: readonly Act<undefined>[];
  /** Pages beside the form of a new one. */
  links?: readonly Readonly<{ label: string; href: string; needs?: Permission }>[];
}>;

/** Things that come whole with another one, as rows. */
export type RowsOf<Row> = Pick<Resource<Row>, 'many' | 'idOf' | 'titleOf' | 'columns'> &
  Partial<Pick<Resource<Row>, 'path' | 'get' | 'hasPage' | 'acts'>>;

export const may = ({ team }: Scope, permission: Permission | undefined): boolean =>
  permission === undefined || team.permissions.includes(permission);

/** Values as the API takes them. In: fields with their contents. Out: the body of a new thing; empty fields are left out. */
export const bodyOf = <Body>(fields: readonly Field[], values: Values): Body =>
  sent<Body>(fields, values, () => undefined);

/** In: fields, and the contents that are other than before. Out: the body of a change; an emptied field has its `empty`. */
export const changeOf = <Body>(fields: readonly Field[], changed: Values): Body =>
  sent<Body>(fields, changed, ({ empty = null }) => empty);

const sent = <Body>(fields: readonly Field[], values: Values, emptied: (field: Field) => unknown): Body => {
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    const given = isEmpty(value) ? emptied(field) : sentOf(field, value);
    if (given !== undefined) put(body, field.name.split('.'), given);
  }
  return body as Body;
};

const put = (body: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void => {
  if (rest.length === 0) body[name] = value;
  else put((body[name] ??= {}) as Record<string, unknown>, rest, value);
};

const sentOf = (field: Field, value: Value): unknown => {
  if (typeof value !== 'string') return value;
  if (field.kind === 'number') return Number(value);
  if (field.kind === 'moment') return new Date(value).toISOString();
  if (field.kind === 'lines') return linesOf(value);
  if (field.kind === 'code') return value.replaceAll(' ', '');
  return field.kind === 'password' ? value : value.trim();
};

const linesOf = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export const isEmpty = (value: Value | undefined): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0);

/** The contents with which a form begins. */
export const initialOf = (fields: readonly Field[]): Values =>
  Object.fromEntries(
    fields.map(({ name, kind, initial }) => [
      name,
      initial ?? (kind === 'switch' ? false : kind === 'checks' ? [] : kind === 'file' ? null : ''),
    ]),
  );

/** The values that are other than before. */
export const changedOf = (before: Values, now: Values): Values =>
  Object.fromEntries(
    Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
