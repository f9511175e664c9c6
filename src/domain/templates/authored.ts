/**
 * The content of a template as its author writes it and as it stands in a file: its fields and their defaults, and the
 * body of a change. The dashboard and the command line use it.
 */

/** The content as the API takes and gives it (mail, document, block), as plain JSON. */
export type Content = Readonly<Record<string, unknown>>;

export type Kind = 'email' | 'attachment' | 'block';

export const kinds = ['email', 'attachment', 'block'] as const satisfies readonly Kind[];

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

const isObject = (value: unknown): value is Content =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A template says what it is by `type`; without one it shows it by its schema: an attachment template has pages, a
 * block has components or a slot.
 */
export const kindOfTemplate = (template: unknown): Kind => {
  if (!isObject(template)) return 'email';
  const { type, schema } = template;
  if (type === 'attachment' || type === 'block') return type;
  if (type !== undefined || !isObject(schema)) return 'email';
  if ('pages' in schema || 'outputFormats' in schema) return 'attachment';
  const { sections } = schema;
  const hasSlot = Array.isArray(sections) && sections.some((one) => isObject(one) && one['type'] === 'slot');
  return 'components' in schema || hasSlot ? 'block' : 'email';
};
