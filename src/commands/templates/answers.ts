/**
 * Bodies and answers of calls on templates: what an author writes of a body, which read-only fields it may carry, and
 * the records that calls answer.
 */
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import {
  templateListing,
  type DraftOf,
  type PublishedVersion,
  type TemplateIdOf,
  type TemplateOf,
  type TemplateRules,
} from '../../domain/templates/decider.js';
import type { EmailDraft, TemplateKind } from '../../domain/templates/events.js';
import type { Translations } from '../../domain/rendering/translations.js';

/** `revision`: that of the last event of its stream, which rises with every change. */
export type Known<K extends TemplateKind> = Readonly<{
  id: TemplateIdOf<K>;
  template: TemplateOf<K>;
  revision: number;
}>;

export type KnownVersion<K extends TemplateKind> = Readonly<{
  published: PublishedVersion<K>;
  draft: DraftOf<K>;
  current: boolean;
}>;

export const templateRecord = <K extends TemplateKind>(
  rules: TemplateRules<K>,
  { id, template, revision }: Known<K>,
) => ({
  ...templateListing(rules, id, template),
  ...rules.recorded(template.draft),
  translations: template.draft.translations ?? {},
  revision,
  variables: template.draft.variables,
  schema: template.draft.schema,
});

/** The published versions, the newest first; the newest is the current one. */
export const templateVersions = <K extends TemplateKind>({ named }: TemplateRules<K>, { published }: TemplateOf<K>) =>
  published
    .map((one) => {
      const { version, publishedAt } = one;
      return { version, ...named(one), publishedAt, current: version === published.at(-1)?.version };
    })
    .reverse();

export const templateVersionRecord = <K extends TemplateKind>(
  { kind, named, shown, listed, recorded }: TemplateRules<K>,
  { published: { version, publishedAt }, current, draft }: KnownVersion<K>,
) => ({
  version,
  ...named(shown(draft)),
  publishedAt,
  current,
  description: draft.description,
  type: kind,
  ...listed(draft),
  ...recorded(draft),
  locale: draft.locale,
  translations: draft.translations ?? {},
  variables: draft.variables,
  schema: draft.schema,
});

/** Revisions that a caller takes a template to be at, any one of them; undefined: whichever it is. */
export type ExpectedRevisions = readonly number[] | undefined;

/** Refuses a change where the template, or the team, was changed meanwhile. Throws REVISION_MISMATCH. */
export const requireRevision = (
  revision: number,
  expected: ExpectedRevisions,
  what: 'template' | 'team' = 'template',
): void => {
  if (expected === undefined || expected.includes(revision)) return;
  const asked =
    expected.length === 0
      ? 'the request names no revision that it ever had'
      : `the request is for ${expected.join(' or ')}`;
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
  'updatedBy',
] as const;
type ReadOnlyField = (typeof readOnlyFields)[number];

/** Read-only fields that only a published version has. */
const ofVersions = ['publishedAt', 'current'] as const;

/**
 * Fields that no template keeps: warnings of the answer to a save, the address of the schema that editors go by, and
 * what the check of a block finds out.
 */
const notKept = ['warnings', '$schema', 'outputs', 'isLayout'] as const;
type ReadOnlyParts = Readonly<Partial<Record<ReadOnlyField | (typeof ofVersions)[number], unknown>>>;

const names: ReadonlySet<string> = new Set([...readOnlyFields, ...ofVersions, ...notKept]);

export type NotWritten = 'slug' | 'publish' | ReadOnlyField | (typeof ofVersions)[number] | (typeof notKept)[number];

/** Splits a body into the author's fields, without the read-only ones, and the fields that are no part of a draft. */
export const writtenOf = <Written>({
  slug,
  publish = false,
  ...fields
}: Readonly<{ slug?: string; publish?: boolean }>) => ({
  slug,
  publish,
  written: Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name))) as Written,
});

type PublishedTimes = readonly Readonly<{ version: number; publishedAt: string }>[];

/**
 * Checks the read-only fields of a body for a change: they may stand in it as they are now, or as they are of one of
 * the published versions. Anything else is refused, for it would be dropped in silence. Throws REVISION_MISMATCH where
 * the body carries another revision, else VALIDATION_ERROR.
 */
export const requireReadOnlyParts = (given: ReadOnlyParts, now: ReadOnlyParts, published: PublishedTimes): void => {
  const { publishedAt, current, version, ...common } = given;
  if (publishedAt === undefined && current === undefined) return requireAsNow(given, now);
  if (!published.some((known) => known.version === version && known.publishedAt === publishedAt)) {
    const message = 'is read-only, and with `version` it names none of the published versions; leave it out';
    const field = publishedAt === undefined ? 'current' : 'publishedAt';
    throw new DomainError('VALIDATION_ERROR', `The request body is invalid: \`${field}\` ${message}.`, {
      errors: [{ field, message }],
    });
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
  throw new DomainError('VALIDATION_ERROR', `The request body is invalid: \`${first.field}\` ${first.message}.`, {
    errors,
  });
};

const hints: Readonly<Partial<Record<ReadOnlyField, string>>> = {
  status: ' (POST …/publish publishes)',
  version: ' (POST …/publish makes the next)',
};

/** `warnings`: what the author should know, such as paths that no variable declares. */
export type Checked<Draft> = Readonly<{ draft: Draft; warnings: readonly FieldError[] }>;

/**
 * In: a change with the check of its result. Out: the change, which may be decided more than once, and the warnings of
 * its last check.
 */
export const tellingChange = <Draft>(change: (draft: Draft) => Checked<Draft>) => {
  let told: readonly FieldError[] = [];
  const changed = (before: Draft): Draft => {
    const { draft, warnings } = change(before);
    told = warnings;
    return draft;
  };
  return { changed, warnings: () => told };
};

/**
 * Keeps `strictVariables` only where it is true: drafts that were saved before it existed say nothing, which means
 * false.
 */
export const withStrictness = <Draft extends { strictVariables?: boolean }>({ strictVariables, ...draft }: Draft) =>
  strictVariables === true ? { ...draft, strictVariables } : draft;

/** The translations that a draft keeps; nothing where there are none. */
export const translationsPart = ({
  translations,
}: Readonly<{ translations?: Translations }>): Pick<EmailDraft, 'translations'> =>
  translations === undefined
    ? {}
    : { translations: Object.fromEntries(Object.entries(translations).map(([tag, texts]) => [tag, { ...texts }])) };
