/**
 * Bodies and answers of calls on templates: what an author writes of a body, which read-only fields it may carry, and the records that
 * calls answer.
 */
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { Known } from './lifecycle.js';
import type { KnownVersion } from './versions.js';
import type {
  AttachmentTemplateRecord,
  AttachmentTemplateVersion,
  AttachmentTemplateVersionRecord,
  TemplateRecord,
  TemplateVersion,
  TemplateVersionRecord,
} from '../../api/templates/templates.js';
import { attachmentTemplateListing, type AttachmentTemplate } from '../../domain/templates/attachment-template.js';
import type { AttachmentTemplateId, TemplateId } from '../../domain/core/ids.js';
import type { AttachmentDraft, EmailDraft } from '../../domain/templates/events.js';
import type { Translations } from '../../domain/rendering/translations.js';
import type { PublishedVersion } from '../../domain/templates/decider.js';
import { templateListing, type Template } from '../../domain/templates/email-template.js';

export const templateRecord = ({ id, template, revision }: Known<TemplateId, Template>): TemplateRecord => ({
  ...templateListing(id, template),
  tracking: template.draft.tracking ?? null,
  strictVariables: template.draft.strictVariables === true,
  translations: template.draft.translations ?? {},
  revision,
  variables: template.draft.variables,
  schema: template.draft.schema,
});

export const attachmentTemplateRecord = ({
  id,
  template,
  revision,
}: Known<AttachmentTemplateId, AttachmentTemplate>): AttachmentTemplateRecord => ({
  ...attachmentTemplateListing(id, template),
  strictVariables: template.draft.strictVariables === true,
  translations: template.draft.translations ?? {},
  revision,
  variables: template.draft.variables,
  schema: template.draft.schema,
});

/** The published versions, the newest first; the newest is the current one. */
const versionsOf = <Shown, Answer>(
  { published }: Readonly<{ published: readonly PublishedVersion<Shown>[] }>,
  answer: (version: PublishedVersion<Shown>, current: boolean) => Answer,
): Answer[] => published.map((version) => answer(version, version.version === published.at(-1)?.version)).reverse();

export const versionsOfTemplate = (template: Template): TemplateVersion[] =>
  versionsOf(template, ({ version, name, subject, publishedAt }, current) => ({ version, name, subject, publishedAt, current }));

export const versionsOfAttachmentTemplate = (template: AttachmentTemplate): AttachmentTemplateVersion[] =>
  versionsOf(template, ({ version, name, publishedAt }, current) => ({ version, name, publishedAt, current }));

export const templateVersionRecord = ({
  published: { version, publishedAt },
  current,
  draft: {
    name,
    subject,
    description,
    from,
    unsubscribeList,
    tracking,
    locale,
    timeZone,
    strictVariables,
    translations,
    variables,
    schema,
  },
}: KnownVersion<EmailDraft, unknown>): TemplateVersionRecord => ({
  version,
  name,
  subject,
  publishedAt,
  current,
  description,
  type: 'email',
  from,
  unsubscribeList: unsubscribeList ?? null,
  tracking: tracking ?? null,
  locale,
  timeZone,
  strictVariables: strictVariables === true,
  translations: translations ?? {},
  variables,
  schema,
});

export const attachmentTemplateVersionRecord = ({
  published: { version, publishedAt },
  current,
  draft: { name, description, locale, timeZone, strictVariables, translations, variables, schema },
}: KnownVersion<AttachmentDraft, unknown>): AttachmentTemplateVersionRecord => ({
  version,
  name,
  publishedAt,
  current,
  description,
  type: 'attachment',
  outputFormats: [...schema.outputFormats],
  locale,
  timeZone,
  strictVariables: strictVariables === true,
  translations: translations ?? {},
  variables,
  schema,
});

/** Revisions that a caller takes a template to be at, any one of them; undefined: whichever it is. */
export type ExpectedRevisions = readonly number[] | undefined;

/** Refuses a change where the template, or the team, was changed meanwhile. Throws REVISION_MISMATCH. */
export const requireRevision = (revision: number, expected: ExpectedRevisions, what: 'template' | 'team' = 'template'): void => {
  if (expected === undefined || expected.includes(revision)) return;
  const asked = expected.length === 0 ? 'the request names no revision that it ever had' : `the request is for ${expected.join(' or ')}`;
  throw new DomainError(
    'REVISION_MISMATCH',
    `The ${what} is at revision ${revision}, and ${asked}: it was changed meanwhile, and nothing was done. Read it again, and make the change to what it is now.`,
    { relatedInfo: { revision } },
  );
};

/** The fields of a record that no author writes. A body may carry them as GET answers them. */
export const readOnlyFields = [
  'id',
  'shortId',
  'type',
  'status',
  'version',
  'publishedVersion',
  'revision',
  'createdAt',
  'updatedAt',
] as const;
type ReadOnlyField = (typeof readOnlyFields)[number];

/** Read-only fields that only a published version has. */
const ofVersions = ['publishedAt', 'current'] as const;

/** Fields that no template keeps: warnings of the answer to a save, and the address of the schema that editors go by. */
const notKept = ['warnings', '$schema'] as const;
type ReadOnlyParts = Readonly<Partial<Record<ReadOnlyField | (typeof ofVersions)[number], unknown>>>;

const names: ReadonlySet<string> = new Set([...readOnlyFields, ...ofVersions, ...notKept]);

type NotWritten = ReadOnlyField | (typeof ofVersions)[number] | (typeof notKept)[number];

/** What the author writes of a body: all but the read-only fields. */
export const writtenOf = <Request extends object>(request: Request): Omit<Request, NotWritten> =>
  Object.fromEntries(Object.entries(request).filter(([name]) => !names.has(name))) as Omit<Request, NotWritten>;

type PublishedTimes = readonly Readonly<{ version: number; publishedAt: string }>[];

/**
 * Checks the read-only fields of a body for a change: they may stand in it as they are now, or as they are of one of the published
 * versions. Anything else is refused, for it would be dropped in silence. Throws REVISION_MISMATCH where the body carries another revision,
 * else VALIDATION_ERROR.
 */
export const requireReadOnlyParts = (given: ReadOnlyParts, now: ReadOnlyParts, published: PublishedTimes): void => {
  const { publishedAt, current, version, ...common } = given;
  if (publishedAt === undefined && current === undefined) return requireAsNow(given, now);
  if (!published.some((known) => known.version === version && known.publishedAt === publishedAt)) {
    const message = 'is read-only, and with `version` it names none of the published versions; leave it out';
    const field = publishedAt === undefined ? 'current' : 'publishedAt';
    throw new DomainError('VALIDATION_ERROR', `The request body is invalid: \`${field}\` ${message}.`, { errors: [{ field, message }] });
  }
  requireAsNow(common, now);
};

const requireAsNow = (given: ReadOnlyParts, now: ReadOnlyParts): void => {
  if (given.revision !== undefined && given.revision !== now.revision) {
    requireRevision(Number(now.revision), typeof given.revision === 'number' ? [given.revision] : []);
  }
  const errors = readOnlyFields.flatMap((field): FieldError[] =>
    given[field] === undefined || given[field] === now[field]
      ? []
      : [{ field, message: `is read-only: it is ${JSON.stringify(now[field])}; leave it out${hints[field] ?? ''}` }],
  );
  const first = errors[0];
  if (first === undefined) return;
  throw new DomainError('VALIDATION_ERROR', `The request body is invalid: \`${first.field}\` ${first.message}.`, { errors });
};

const hints: Readonly<Partial<Record<ReadOnlyField, string>>> = {
  status: ' (POST …/publish publishes)',
  version: ' (POST …/publish makes the next)',
};

type Checked<Draft> = Readonly<{ draft: Draft; warnings: readonly FieldError[] }>;

/** In: a change with the check of its result. Out: the change, which may be decided more than once, and the warnings of its last check. */
export const tellingChange = <Draft>(change: (draft: Draft) => Checked<Draft>) => {
  let told: readonly FieldError[] = [];
  const changed = (before: Draft): Draft => {
    const { draft, warnings } = change(before);
    told = warnings;
    return draft;
  };
  return { changed, warnings: () => told };
};

/** Keeps `strictVariables` only where it is true: drafts that were saved before it existed say nothing, which means false. */
export const withStrictness = <Draft extends { strictVariables?: boolean }>({ strictVariables, ...draft }: Draft) =>
  strictVariables === true ? { ...draft, strictVariables } : draft;

/** The translations that a draft keeps; nothing where there are none. */
export const translationsPart = ({ translations }: Readonly<{ translations?: Translations }>): Pick<EmailDraft, 'translations'> =>
  translations === undefined
    ? {}
    : { translations: Object.fromEntries(Object.entries(translations).map(([tag, texts]) => [tag, { ...texts }])) };
