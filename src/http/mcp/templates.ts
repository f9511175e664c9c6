/** Tools about templates of emails: list, read, preview, check, and save a draft. None of them publishes. */
import { Type, type Static } from '@sinclair/typebox';
import type {
  PreviewResponse,
  SavedTemplate,
  TemplateListItemSchema,
  TemplateRecord,
} from '../../api/templates/templates.js';
import type { UnsavedTemplatePreview } from '../../api/templates/unsaved.js';
import { enumOf, type PageMeta } from '../../api/core/common.js';
import { foreign, ForeignSchema, NOTICE, outputOf } from './foreign.js';
import { Cursor } from './mails.js';
import { freeObject, inputOf, reading, TemplateReference, tool, type Tool } from './tool.js';

const ROWS_MAX = 50;
const ROWS_DEFAULT = 20;
const SHORT_CHARS_MAX = 200;
const TEXT_CHARS_DEFAULT = 4_000;
const TEXT_CHARS_MAX = 20_000;
/** Characters of one piece of the JSON of a template. */
const PIECE_CHARS = 20_000;

const statuses = ['draft', 'published'] as const;

const head = {
  id: Type.String(),
  slug: Type.String(),
  status: enumOf(statuses, '`draft`: the draft is ahead of what is published, or nothing is'),
  publishedVersion: Type.Union([Type.Integer(), Type.Null()]),
  updatedAt: Type.String(),
};

const headOf = ({ id, slug, status, publishedVersion, updatedAt }: Pick<TemplateRecord, keyof typeof head>) => ({
  id,
  slug,
  status,
  publishedVersion,
  updatedAt,
});

const listTemplates = tool({
  name: 'list_templates',
  title: 'List templates',
  description: 'Lists the email templates of the team, the newest first, with how often each was sent in 30 days.',
  needs: ['GET /api/templates'],
  input: inputOf({
    text: Type.Optional(
      Type.String({ minLength: 2, maxLength: 200, description: 'Part of the name, slug or description' }),
    ),
    status: Type.Optional(enumOf(statuses)),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: ROWS_MAX, description: `Default ${ROWS_DEFAULT}` })),
    cursor: Cursor,
  }),
  output: outputOf({
    templates: Type.Array(Type.Object({ ...head, sent30d: Type.Integer(), foreign: ForeignSchema })),
    total: Type.Integer(),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  }),
  hints: reading,
  run: async ({ text, status, limit, cursor }, { call }) => {
    type Item = Static<typeof TemplateListItemSchema>;
    const { data, meta } = await call<Readonly<{ data: readonly Item[]; meta: PageMeta }>>('GET /api/templates', {
      query: { search: text, status, limit: limit ?? ROWS_DEFAULT, cursor },
    });
    return {
      notice: NOTICE,
      templates: data.map((item) => ({
        ...headOf(item),
        sent30d: item.sent30d,
        foreign: foreign({ name: item.name, subject: item.subject, description: item.description }, SHORT_CHARS_MAX),
      })),
      total: meta.total,
      nextCursor: meta.nextCursor,
    };
  },
});

/** The fields of a template that its author writes. */
const writtenFields = (record: TemplateRecord) => ({
  slug: record.slug,
  name: record.name,
  description: record.description,
  subject: record.subject,
  from: record.from,
  unsubscribeList: record.unsubscribeList,
  locale: record.locale,
  timeZone: record.timeZone,
  strictVariables: record.strictVariables,
  variables: record.variables,
  translations: record.translations,
  schema: record.schema,
});

const getTemplate = tool({
  name: 'get_template',
  title: 'Read a template',
  description: `Reads the draft of an email template as the JSON that save_draft takes, in pieces of ${PIECE_CHARS} characters: call again with \`offset\` where \`nextOffset\` is not null. \`revision\` goes into save_draft.`,
  needs: ['GET /api/templates/:id'],
  input: inputOf({
    id: TemplateReference,
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000_000, description: 'Where the piece begins' })),
  }),
  output: outputOf({
    ...head,
    revision: Type.Integer(),
    offset: Type.Integer(),
    totalChars: Type.Integer(),
    nextOffset: Type.Union([Type.Integer(), Type.Null()]),
    foreign: ForeignSchema,
  }),
  hints: reading,
  run: async ({ id, offset = 0 }, { call }) => {
    const record = await call<TemplateRecord>('GET /api/templates/:id', { params: { id } });
    const json = JSON.stringify(writtenFields(record));
    const piece = json.slice(offset, offset + PIECE_CHARS);
    const end = offset + piece.length;
    return {
      notice: NOTICE,
      ...headOf(record),
      revision: record.revision,
      offset,
      totalChars: json.length,
      nextOffset: end < json.length && piece !== '' ? end : null,
      foreign: foreign({ templateJson: piece }, PIECE_CHARS),
    };
  },
});

const Findings = Type.Array(Type.Object({ foreign: ForeignSchema }), {
  description: 'Each with the field and a sentence, which may quote the template',
});

const FINDINGS_MAX = 50;

const findingsOf = (found: readonly Readonly<{ field: string; message: string }>[]) =>
  found.slice(0, FINDINGS_MAX).map(({ field, message }) => ({ foreign: foreign({ field, message }) }));

const values = Type.Optional(freeObject('Values for the template; its defaults stand in for others'));

const textChars = Type.Optional(
  Type.Integer({
    minimum: 100,
    maximum: TEXT_CHARS_MAX,
    description: `Most characters of the text; default ${TEXT_CHARS_DEFAULT}`,
  }),
);

const previewTemplate = tool({
  name: 'preview_template',
  title: 'Preview a template',
  description:
    'Renders an email template with values, without sending: subject, text part, size of the HTML, paths without a value, and warnings.',
  needs: ['POST /api/templates/:id/preview'],
  input: inputOf({
    id: TemplateReference,
    variables: values,
    version: Type.Optional(
      Type.String({
        pattern: '^(?:draft|published|[1-9]\\d{0,8})$',
        description: '`draft` (default), `published`, or a number',
      }),
    ),
    locale: Type.Optional(Type.String({ minLength: 2, maxLength: 35, description: 'BCP 47' })),
    textChars,
  }),
  output: outputOf({
    htmlBytes: Type.Integer(),
    textChars: Type.Integer(),
    warnings: Findings,
    foreign: ForeignSchema,
  }),
  hints: reading,
  run: async ({ id, variables, version, locale, textChars: most = TEXT_CHARS_DEFAULT }, { call }) => {
    const { subject, text, sizeBytes, emptyPaths, warnings } = await call<PreviewResponse>(
      'POST /api/templates/:id/preview',
      {
        params: { id },
        body: {
          ...(variables === undefined ? {} : { variables }),
          ...(version === undefined ? {} : { version }),
          ...(locale === undefined ? {} : { locale }),
        },
      },
    );
    return {
      notice: NOTICE,
      htmlBytes: sizeBytes,
      textChars: text.length,
      warnings: findingsOf(warnings),
      foreign: { ...foreign({ subject, emptyPaths }), ...foreign({ text }, most) },
    };
  },
});

const Written = freeObject(
  'The template as POST /api/templates takes it: `name`, `subject`, `schema` with `sections`, and optionally `slug`, `variables`, `description`, `locale`, `translations`',
);

const checkTemplate = tool({
  name: 'check_template',
  title: 'Check a template',
  description:
    'Checks an email template without saving it: either the one that you give in `template`, or the stored draft of `id`. Answers what a save would refuse, and warnings. Call it before save_draft.',
  needs: ['GET /api/templates/:id', 'POST /api/templates/preview'],
  input: inputOf({ id: Type.Optional(TemplateReference), template: Type.Optional(Written), variables: values }),
  output: outputOf({
    isFit: Type.Boolean({ description: 'true: a save would be taken' }),
    htmlBytes: Type.Integer(),
    errors: Findings,
    warnings: Findings,
    foreign: ForeignSchema,
  }),
  hints: reading,
  run: async ({ id, template, variables }, { call }) => {
    const stored =
      id === undefined
        ? undefined
        : writtenFields(await call<TemplateRecord>('GET /api/templates/:id', { params: { id } }));
    const preview = await call<UnsavedTemplatePreview>('POST /api/templates/preview', {
      body: { template: { ...stored, ...template }, ...(variables === undefined ? {} : { variables }) },
    });
    return {
      notice: NOTICE,
      isFit: preview.errors.length === 0,
      htmlBytes: preview.sizeBytes,
      errors: findingsOf(preview.errors),
      warnings: findingsOf(preview.warnings),
      foreign: foreign({ subject: preview.subject, text: preview.text, emptyPaths: preview.emptyPaths }),
    };
  },
});

const saveDraft = tool({
  name: 'save_draft',
  title: 'Save a draft of a template',
  description:
    'Saves an email template as a draft and never publishes: what is sent stays as it is until a person publishes. With `id` the given fields replace those of that draft; give `revision` of get_template, so that the changes of others are not overwritten. Without `id` it makes a new template.',
  needs: ['POST /api/templates', 'PATCH /api/templates/:id'],
  input: inputOf({
    id: Type.Optional(TemplateReference),
    revision: Type.Optional(Type.Integer({ minimum: 0, description: 'With `id`: saves only if nobody saved since' })),
    template: Written,
  }),
  output: outputOf({ ...head, revision: Type.Integer(), warnings: Findings }),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  run: async ({ id, revision, template }, { call }) => {
    const saved =
      id === undefined
        ? await call<SavedTemplate>('POST /api/templates', { body: { ...template, publish: false } })
        : await call<SavedTemplate>('PATCH /api/templates/:id', {
            params: { id },
            body: template,
            ...(revision === undefined ? {} : { headers: { 'if-match': `"${revision}"` } }),
          });
    return { notice: NOTICE, ...headOf(saved), revision: saved.revision, warnings: findingsOf(saved.warnings) };
  },
});

export const templateTools: readonly Tool[] = [listTemplates, getTemplate, previewTemplate, checkTemplate, saveDraft];
