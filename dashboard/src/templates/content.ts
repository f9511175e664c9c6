/**
 * The content of a template: the fields that its author writes, and what a save sends. Nothing here needs a browser.
 */

/** The content as the API takes and gives it (mail, document, block), as plain JSON. */
export type Content = Readonly<Record<string, unknown>>;

export type Kind = 'email' | 'attachment' | 'block';

export const kinds = ['email', 'attachment', 'block'] as const satisfies readonly Kind[];

/** Fields that all kinds have in a list. */
export type Item = Readonly<{
  id: string;
  slug: string;
  name: string;
  description: string;
  type: Kind;
  status: 'draft' | 'published';
  version: number;
  publishedVersion: number | null;
  createdAt: string;
  updatedAt: string;
  updatedBy: string | null;
  /** Emails alone have these. */
  sent30d?: number;
  lastSentOn?: string | null;
  /** Documents alone have it. */
  outputFormats?: readonly ('pdf' | 'excel')[];
  /** Blocks alone have these. */
  outputs?: readonly ('email' | 'pdf' | 'excel')[];
  isLayout?: boolean;
  deletedAt?: string;
}>;

/** A template with its content. `warnings`: what the answer to a save tells. */
export type Stored = Item &
  Readonly<{ revision: number; warnings?: readonly Readonly<{ field: string; message: string }>[] }> &
  Content;

/**
 * Fields that the author of a template writes, in the order of a file, with the value of each that is not written.
 * `undefined`: the service keeps what it has.
 */
const emailFields = {
  slug: undefined,
  name: '',
  description: '',
  subject: '',
  from: null,
  unsubscribeList: null,
  tracking: null,
  locale: 'en-US',
  timeZone: 'UTC',
  strictVariables: false,
  variables: [],
  schema: {},
  translations: {},
} as const;

const { subject: _, from: __, unsubscribeList: ___, tracking: ____, ...attachmentFields } = emailFields;
const { timeZone: _____, strictVariables: ______, ...blockFields } = attachmentFields;

const fieldsOf: Readonly<Record<Kind, Content>> = {
  email: emailFields,
  attachment: attachmentFields,
  block: blockFields,
};

/** Fields that stand in a file although they are empty. */
const SHOWN_ALWAYS: ReadonlySet<string> = new Set(['slug', 'name', 'subject', 'locale', 'variables', 'schema']);

export const isEqual = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isEqual((one as Content)[name], (other as Readonly<Record<string, unknown>>)[name]),
    )
  );
};

/** In: a template or a version of it. Out: what its author wrote, without what has its default. */
export const contentOf = (kind: Kind, stored: Content): Content =>
  Object.fromEntries(
    Object.entries(fieldsOf[kind]).flatMap(([name, otherwise]) => {
      const value = stored[name];
      if (value === undefined || value === null) return [];
      return SHOWN_ALWAYS.has(name) || !isEqual(value, otherwise) ? [[name, value]] : [];
    }),
  );

/** The content of a version beside another; a version has no slug, for that is of the whole template. */
export const versionOf = (kind: Kind, version: Content, { slug }: Content): Content => ({
  ...(slug === undefined ? {} : { slug }),
  ...wholeOf(kind, contentOf(kind, version)),
});

/** A file names its schema for editors; the service ignores that. */
const EDITOR_FIELD = '$schema';

/** In: a content. Out: the same with the default of each field that is not written, so that two can be compared. */
export const wholeOf = (kind: Kind, { [EDITOR_FIELD]: _, ...content }: Content): Content => ({
  ...Object.fromEntries(Object.entries(fieldsOf[kind]).filter(([, otherwise]) => otherwise !== undefined)),
  ...Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null && value !== undefined)),
});

/**
 * In: the content, and what the service has. Out: the body of a change: fields that are other than before, with their
 * default where they were taken out; undefined where nothing is other. Fields that the service does not know go along,
 * and it names them.
 */
export const bodyOfChange = (kind: Kind, content: Content, before: Content): Content | undefined => {
  const known = fieldsOf[kind];
  const body: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(known), ...Object.keys(content)])) {
    if (name === EDITOR_FIELD) continue;
    const valueIn = (from: Content): unknown => from[name] ?? (Object.hasOwn(known, name) ? known[name] : undefined);
    const value = valueIn(content);
    if (value !== undefined && !isEqual(value, valueIn(before))) body[name] = value;
  }
  return Object.keys(body).length === 0 ? undefined : body;
};

/** The state of a template in a word. */
export const stateOf = ({
  status,
  publishedVersion,
  deletedAt,
}: Item): 'deleted' | 'published' | 'changed' | 'draft' =>
  deletedAt !== undefined
    ? 'deleted'
    : status === 'published'
      ? 'published'
      : publishedVersion === null
        ? 'draft'
        : 'changed';

/** In: a path such as `schema.sections[0].components[2].props.text`. Out: its steps. */
export const stepsOf = (path: string): readonly (string | number)[] =>
  [...path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(([, quoted, place, name]) =>
    quoted !== undefined ? quoted.replaceAll('\\"', '"') : place !== undefined ? Number(place) : (name ?? ''),
  );

/** In: the path of a fault. Out: the id of the nearest component or section around it. */
export const idAt = (content: Content, path: string): string | undefined => {
  let at: unknown = content;
  let id: string | undefined;
  for (const step of stepsOf(path)) {
    if (typeof at !== 'object' || at === null) break;
    at = (at as Readonly<Record<string | number, unknown>>)[step];
    if (typeof at === 'object' && at !== null && 'id' in at && 'type' in at && typeof at.id === 'string') id = at.id;
  }
  return id;
};

/** The own member of that name, which may be any text. */
export const ownOf = <Value>(of: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined =>
  of !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;
