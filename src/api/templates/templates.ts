/** Requests and answers of email templates, attachment templates and the gallery's assets. */
import { Type, type Static, type TProperties, type TSchema } from '@sinclair/typebox';
import {
  closed,
  DeletedAt,
  enumOf,
  RecipientSchema,
  Time,
  languageFields,
  valuesSchema,
  SlugShape,
} from '../core/common.js';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import { nullable, oneOf } from '../../domain/core/schema.js';
import { NAME, TEXT } from '../../shared/text.js';
import { TrackingSchema } from '../recipients.js';
import { outputFormats } from '../../domain/rendering/content.js';
import { assetTypes } from '../../domain/templates/asset.js';
import type { TemplateKind } from '../../domain/templates/events.js';

const Slug = Type.String({
  ...SlugShape,
  description: 'Lower-case letters, digits and single hyphens',
});

/** Fields that the author of any template writes. Variables are checked part by part, with paths. */
const templateFields = {
  slug: Slug,
  name: Type.String({ pattern: NAME, minLength: 1, maxLength: limits.templateNameCharsMax }),
  description: Type.String({ pattern: TEXT, maxLength: limits.templateDescriptionCharsMax }),
  variables: Type.Unknown({ description: 'A plain array of variable definitions' }),
  locale: Type.String({ minLength: 2, maxLength: 35, description: 'BCP 47, default `en-US`' }),
  timeZone: Type.String({ minLength: 1, maxLength: 64, description: 'IANA name, default `UTC`' }),
  strictVariables: Type.Boolean({
    description:
      'A send fails with `VARIABLES_EMPTY` where a path that is shown has no value, or one that cannot be used where it stands, such as the address of a link; default false',
  }),
  translations: Type.Unknown({
    description:
      'By language (BCP 47) an object with the text of that language for each text of the template; `null` or `{}` for none. A text of the template is named as it is written there, with `\'` for each `"`, `/` for each backslash and a blank for each line break and tab; the text of the language is written as it is to be',
    examples: [{ de: { 'Your order {{number}}': 'Ihre Bestellung {{number}}' } }],
  }),
};

const translationsField = Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
  description: 'By language the text of that language for each text of the template; `{}` for none',
});

const warningsField = (description: string) =>
  Type.Array(Type.Object({ field: Type.String(), message: Type.String() }, closed), { description });

/** Stands only in the answer to a save. */
const savedFields = {
  warnings: warningsField(
    'Hints for the author: paths that no variable declares, formulas that a document shows as text, links and pictures of rich text with an address that can never be one, pictures of other servers without sides, constants without braces, files that are not in the gallery, watermarks that are cut off, texts that a language lacks or that share a translation, and a mail (with the defaults of its variables, in each language) so large that Gmail cuts it off. Empty where there is nothing to tell',
  ),
};

const schemaOfEditor = Type.Optional(
  Type.String({
    maxLength: limits.outboundUrlCharsMax,
    description: 'Address of the JSON schema, for editors; ignored',
  }),
);
/**
 * The fields of a template that only the service writes, as they may stand in a body. `ofVersion`: those that only
 * published versions have.
 */
const serviceFields = <Field extends TSchema>(field: Field, ofVersion: Field, warnings: string) => ({
  id: field,
  status: field,
  version: field,
  publishedVersion: field,
  revision: field,
  createdAt: field,
  updatedAt: field,
  updatedBy: field,
  publishedAt: ofVersion,
  current: ofVersion,
  warnings: Type.Optional(Type.Unknown({ description: warnings })),
  $schema: schemaOfEditor,
});

/** In a body for a change: they may stand there as they are. */
const readOnlyTemplateFields = serviceFields(
  Type.Optional(Type.Unknown({ description: 'Read-only; may stand here as GET answers it now' })),
  Type.Optional(Type.Unknown({ description: 'Read-only; may stand here as GET of a version answers it' })),
  'Warnings of the answer to a save; ignored',
);

const leftAside = Type.Optional(Type.Unknown({ description: 'Field of an export; ignored' }));

/** In a body that makes a template: they speak of another template. */
const leftAsideTemplateFields = serviceFields(leftAside, leftAside, 'Field of an export; ignored');

const publishField = Type.Optional(
  Type.Boolean({ description: 'Publish the draft at once as version 1; default false' }),
);

/** Fields of the answers that templates of all kinds share, beside their names. */
const recordFields = {
  status: enumOf(['draft', 'published'], '`draft` where the draft is ahead of what is published'),
  version: Type.Integer({ description: 'The number that the next publish gives, or gave where nothing changed since' }),
  publishedVersion: nullable(Type.Integer()),
  locale: Type.String(),
  timeZone: Type.String(),
  strictVariables: Type.Boolean(),
  translations: translationsField,
  variables: Type.Array(Type.Unknown()),
  schema: Type.Unknown(),
  createdAt: Time,
  updatedAt: Time,
  updatedBy: nullable(
    Type.String({
      description:
        'Who saved the draft: `user:<id>`, `apiKey:<id>`, `grant:<id>`, `cli`, `system`; null where not known',
    }),
  ),
  revision: Type.Integer({ description: 'Rises with every change; the `ETag` of the answer holds it' }),
};

const UnsubscribeList = Type.String({
  ...SlugShape,
  description: 'The list that recipients can unsubscribe from by a link of their own; `null` for none',
});

const { slug, name, description, variables, ...languages } = templateFields;

/** Fields that the author of an email template writes. Schema and subject are checked part by part too. */
const writableEmailFields = {
  slug,
  name,
  description,
  subject: Type.String({ minLength: 1, maxLength: limits.subjectCharsMax }),
  from: nullable(RecipientSchema),
  unsubscribeList: nullable(UnsubscribeList),
  tracking: nullable(TrackingSchema),
  variables,
  schema: Type.Unknown({ description: 'An object with `sections`' }),
  ...languages,
};

/**
 * Fields of a body that makes an email template: it may be what GET answers. The command line checks it without a
 * validator of JSON Schema.
 */
const emailCreationFields = {
  ...Type.Partial(Type.Object(writableEmailFields)).properties,
  ...Type.Pick(Type.Object(writableEmailFields), ['name', 'subject', 'schema']).properties,
  type: Type.Optional(Type.Literal('email')),
  ...leftAsideTemplateFields,
};

export const ImportTemplateRequestSchema = Type.Object(emailCreationFields, closed);
export type ImportTemplateRequest = Static<typeof ImportTemplateRequestSchema>;

export const CreateTemplateRequestSchema = Type.Object({ ...emailCreationFields, publish: publishField }, closed);
export type CreateTemplateRequest = Static<typeof CreateTemplateRequestSchema>;

export const UpdateTemplateRequestSchema = Type.Partial(
  Type.Object({ ...writableEmailFields, type: Type.Literal('email'), ...readOnlyTemplateFields }),
  {
    ...closed,
    minProperties: 1,
  },
);
export type UpdateTemplateRequest = Static<typeof UpdateTemplateRequestSchema>;

export const TemplateRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    type: Type.Literal('email'),
    subject: Type.String(),
    from: nullable(RecipientSchema),
    unsubscribeList: nullable(UnsubscribeList),
    tracking: nullable(
      Type.Object(TrackingSchema.properties, { ...closed, description: 'null where the team says it' }),
    ),
    ...recordFields,
  },
  closed,
);
export type TemplateRecord = Static<typeof TemplateRecordSchema>;

export const SavedTemplateSchema = Type.Object({ ...TemplateRecordSchema.properties, ...savedFields }, closed);
export type SavedTemplate = Static<typeof SavedTemplateSchema>;

/** Stands only in the list of deleted templates. */
const deletedAtField = Type.Optional(Type.String({ format: 'date-time', description: 'Only of a deleted template' }));

export const TemplateListItemSchema = Type.Object(
  {
    ...Type.Omit(TemplateRecordSchema, [
      'variables',
      'schema',
      'revision',
      'tracking',
      'strictVariables',
      'translations',
    ]).properties,
    sent30d: Type.Integer({ description: 'Emails of the last 30 days (UTC) that were sent' }),
    lastSentOn: nullable(
      Type.String({ format: 'date', description: 'The last of these days on which one was sent; null for none' }),
    ),
    deletedAt: deletedAtField,
  },
  closed,
);

export const TemplateVersionSchema = Type.Object(
  {
    version: Type.Integer(),
    name: Type.String(),
    subject: Type.String(),
    publishedAt: Time,
    current: Type.Boolean(),
  },
  closed,
);
export type TemplateVersion = Static<typeof TemplateVersionSchema>;
export const TemplateVersionsSchema = Type.Object({ data: Type.Array(TemplateVersionSchema) }, closed);

/** A published version with its whole content. */
export const TemplateVersionRecordSchema = Type.Object(
  {
    ...TemplateVersionSchema.properties,
    ...Type.Pick(TemplateRecordSchema, [
      'description',
      'type',
      'from',
      'unsubscribeList',
      'tracking',
      'locale',
      'timeZone',
      'strictVariables',
      'translations',
      'variables',
      'schema',
    ]).properties,
  },
  closed,
);
export type TemplateVersionRecord = Static<typeof TemplateVersionRecordSchema>;

export const RestoreTemplateRequestSchema = Type.Object(
  { slug: Type.Optional({ ...Slug, description: 'Another slug, where the former is taken by now' }) },
  { ...closed, description: 'How a deleted template is taken back; may be absent' },
);
export type RestoreTemplateRequest = Static<typeof RestoreTemplateRequestSchema>;

export const PreviewRequestSchema = Type.Object(
  {
    variables: Type.Optional(valuesSchema('Values for the template')),
    ...languageFields,
    version: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 20 }), Type.Integer({ minimum: 1 })])),
  },
  closed,
);

export const PreviewLinkSchema = Type.Object(
  {
    url: Type.String({
      format: 'uri',
      description: 'Opens the preview in a browser, for whoever has it; it needs no key',
    }),
    expiresAt: Type.String({ format: 'date-time', description: '15 minutes from now' }),
  },
  closed,
);

/** Fields of the query of a preview. `example`: of variables; `own`: what only the preview of the kind has. */
const previewQuery = <Own extends TProperties>(example: string, own: Own) => ({
  variables: Type.Optional(
    Type.String({
      maxLength: limits.urlSizeBytesMax,
      description: 'A JSON object, percent-encoded',
      examples: [example],
    }),
  ),
  ...languageFields,
  ...own,
  version: Type.Optional(
    Type.String({ minLength: 1, maxLength: 20, description: '`draft` (default), `published`, or a version number' }),
  ),
});

/** Query of the page that shows a template. */
export const TemplatePageQuerySchema = Type.Object(previewQuery('{"name":"Ada"}', {}), closed);

export type PreviewRequest = Static<typeof PreviewRequestSchema>;

/** Empty paths as an answer lists them. */
const emptyPathsField = Type.Array(Type.String(), {
  description:
    'Paths that are shown and have no value, or one that cannot be used, such as `items[2].note`; at most 100',
});

export const PreviewResponseSchema = Type.Object(
  {
    subject: Type.String(),
    html: Type.String(),
    text: Type.String(),
    sizeBytes: Type.Integer({ description: 'Size of the HTML in UTF-8' }),
    emptyPaths: emptyPathsField,
    warnings: warningsField(
      'Values that cannot be used where they stand, links and pictures of rich text with an address that can never be one, pictures of other servers without sides, constants without braces, files that are not in the gallery, and that the mail is so large that Gmail cuts it off. Empty where there is nothing to tell',
    ),
  },
  closed,
);
export type PreviewResponse = Static<typeof PreviewResponseSchema>;

/**
 * Fields that the author of an attachment template writes. Variables and schema are checked part by part, with paths.
 */
const writableAttachmentFields = {
  ...templateFields,
  schema: Type.Unknown({ description: 'An object with `outputFormats` and `pages`' }),
};

/**
 * Fields of a body that makes an attachment template: it may be an export, which is what GET answers. The command line
 * checks it without a validator of JSON Schema.
 */
const attachmentCreationFields = {
  name,
  schema: writableAttachmentFields.schema,
  ...Type.Partial(Type.Object({ slug, description, variables, ...languages })).properties,
  type: Type.Optional(Type.Literal('attachment')),
  outputFormats: Type.Optional(Type.Array(oneOf(outputFormats), { description: 'Those of `schema.outputFormats`' })),
  shortId: leftAsideTemplateFields.id,
  ...leftAsideTemplateFields,
};

export const CreateAttachmentTemplateRequestSchema = Type.Object(
  { ...attachmentCreationFields, publish: publishField },
  closed,
);
export type CreateAttachmentTemplateRequest = Static<typeof CreateAttachmentTemplateRequestSchema>;

export const UpdateAttachmentTemplateRequestSchema = Type.Partial(
  Type.Object({
    ...writableAttachmentFields,
    type: Type.Literal('attachment'),
    outputFormats: Type.Array(oneOf(outputFormats), { description: 'Those of `schema.outputFormats`' }),
    shortId: readOnlyTemplateFields.id,
    ...readOnlyTemplateFields,
  }),
  { ...closed, minProperties: 1 },
);
export type UpdateAttachmentTemplateRequest = Static<typeof UpdateAttachmentTemplateRequestSchema>;

const OutputFormats = Type.Array(enumOf(outputFormats));

export const AttachmentTemplateRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    shortId: Type.String({ description: '`atpl_` and ten characters; names the template as its id does' }),
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    type: Type.Literal('attachment'),
    outputFormats: OutputFormats,
    ...recordFields,
  },
  closed,
);
export type AttachmentTemplateRecord = Static<typeof AttachmentTemplateRecordSchema>;

export const SavedAttachmentTemplateSchema = Type.Object(
  { ...AttachmentTemplateRecordSchema.properties, ...savedFields },
  closed,
);
export type SavedAttachmentTemplate = Static<typeof SavedAttachmentTemplateSchema>;

export const AttachmentTemplateListItemSchema = Type.Object(
  {
    ...Type.Omit(AttachmentTemplateRecordSchema, ['variables', 'schema', 'revision', 'strictVariables', 'translations'])
      .properties,
    deletedAt: deletedAtField,
  },
  closed,
);

export const ImportAttachmentTemplateRequestSchema = Type.Object(attachmentCreationFields, closed);
export type ImportAttachmentTemplateRequest = Static<typeof ImportAttachmentTemplateRequestSchema>;

export const AttachmentTemplateVersionSchema = Type.Object(
  { version: Type.Integer(), name: Type.String(), publishedAt: Time, current: Type.Boolean() },
  closed,
);
export type AttachmentTemplateVersion = Static<typeof AttachmentTemplateVersionSchema>;
export const AttachmentTemplateVersionsSchema = Type.Object(
  { data: Type.Array(AttachmentTemplateVersionSchema) },
  closed,
);

/** A published version with its whole content. */
export const AttachmentTemplateVersionRecordSchema = Type.Object(
  {
    ...AttachmentTemplateVersionSchema.properties,
    ...Type.Pick(AttachmentTemplateRecordSchema, [
      'description',
      'type',
      'outputFormats',
      'locale',
      'timeZone',
      'strictVariables',
      'translations',
      'variables',
      'schema',
    ]).properties,
  },
  closed,
);
export type AttachmentTemplateVersionRecord = Static<typeof AttachmentTemplateVersionRecordSchema>;

const format = Type.Optional(enumOf(outputFormats, 'Default: the first of the template’s `outputFormats`'));

/** Query of the preview of a document. */
export const DocumentPreviewQuerySchema = Type.Object(previewQuery('{"number":"2030-17"}', { format }), closed);

/** Body of the preview of a document. */
export const DocumentPreviewRequestSchema = Type.Object({ ...PreviewRequestSchema.properties, format }, closed);

export const CreateAssetRequestSchema = Type.Object(
  {
    filename: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description: 'Made safe, and given the extension of its type where it has another',
    }),
    content: Type.String({ description: 'Base64 of the file' }),
  },
  closed,
);
export type CreateAssetRequest = Static<typeof CreateAssetRequestSchema>;

const pixels = Type.Optional(Type.Integer({ description: 'In pixels; pictures only' }));

export const AssetRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    filename: Type.String(),
    contentType: enumOf(assetTypes, 'Media type, detected from the bytes'),
    sizeBytes: Type.Integer(),
    sha256: Type.String({ description: 'SHA-256 of the bytes, hexadecimal' }),
    width: pixels,
    height: pixels,
    createdAt: Type.String({ format: 'date-time' }),
    deletedAt: DeletedAt,
  },
  closed,
);
export type AssetRecord = Static<typeof AssetRecordSchema>;

/** Fields that the author of a block writes. Variables and schema are checked part by part, with paths. */
const writableBlockFields = {
  slug,
  name,
  description,
  variables,
  locale: languages.locale,
  translations: languages.translations,
  schema: Type.Unknown({ description: 'An object with `components`, or with the `sections` of a layout' }),
};

/** Fields that the check of a block finds out, as they may stand in a body. */
const foundField = Type.Optional(Type.Unknown({ description: 'Found by the check of the block; ignored' }));
const foundBlockFields = { outputs: foundField, isLayout: foundField };

/** Fields of a body that makes a block: it may be what GET answers. */
const blockCreationFields = {
  ...Type.Partial(Type.Object(writableBlockFields)).properties,
  ...Type.Pick(Type.Object(writableBlockFields), ['name', 'schema']).properties,
  type: Type.Optional(Type.Literal('block')),
  ...foundBlockFields,
  ...leftAsideTemplateFields,
};

export const ImportBlockRequestSchema = Type.Object(blockCreationFields, closed);
export type ImportBlockRequest = Static<typeof ImportBlockRequestSchema>;

export const CreateBlockRequestSchema = Type.Object({ ...blockCreationFields, publish: publishField }, closed);
export type CreateBlockRequest = Static<typeof CreateBlockRequestSchema>;

export const UpdateBlockRequestSchema = Type.Partial(
  Type.Object({ ...writableBlockFields, type: Type.Literal('block'), ...foundBlockFields, ...readOnlyTemplateFields }),
  { ...closed, minProperties: 1 },
);
export type UpdateBlockRequest = Static<typeof UpdateBlockRequestSchema>;

export const BlockRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    slug: Type.String(),
    name: Type.String(),
    description: Type.String(),
    type: Type.Literal('block'),
    outputs: Type.Array(enumOf(['email', 'pdf', 'excel']), {
      description: 'Outputs that have all of its components; a template of any other refuses the block',
    }),
    isLayout: Type.Boolean({ description: 'True where it has a slot for the sections of a template' }),
    ...Type.Omit(Type.Object(recordFields), ['timeZone', 'strictVariables']).properties,
  },
  closed,
);
export type BlockRecord = Static<typeof BlockRecordSchema>;

export const SavedBlockSchema = Type.Object({ ...BlockRecordSchema.properties, ...savedFields }, closed);
export type SavedBlock = Static<typeof SavedBlockSchema>;

export const BlockListItemSchema = Type.Object(
  {
    ...Type.Omit(BlockRecordSchema, ['variables', 'schema', 'revision', 'translations']).properties,
    deletedAt: deletedAtField,
  },
  closed,
);

export const BlockVersionSchema = Type.Object(
  { version: Type.Integer({ minimum: 1 }), name: Type.String(), publishedAt: Time, current: Type.Boolean() },
  closed,
);
export type BlockVersion = Static<typeof BlockVersionSchema>;
export const BlockVersionsSchema = Type.Object({ data: Type.Array(BlockVersionSchema) }, closed);

/** A published version with its whole content. */
export const BlockVersionRecordSchema = Type.Object(
  {
    ...BlockVersionSchema.properties,
    ...Type.Pick(BlockRecordSchema, [
      'description',
      'type',
      'outputs',
      'isLayout',
      'locale',
      'translations',
      'variables',
      'schema',
    ]).properties,
  },
  closed,
);
export type BlockVersionRecord = Static<typeof BlockVersionRecordSchema>;

export const PublishBlockRequestSchema = Type.Object(
  {
    force: Type.Optional(
      Type.Boolean({ description: 'Publish although templates that follow the block break; default false' }),
    ),
  },
  { ...closed, description: 'How a block is published; may be absent' },
);
export type PublishBlockRequest = Static<typeof PublishBlockRequestSchema>;

const userFields = {
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
};

export const BlockUsageSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          type: enumOf(['email', 'attachment', 'block'], 'An email template, an attachment template or a block'),
          ...userFields,
          draft: Type.Boolean({ description: 'Its draft names the block' }),
          versions: Type.Array(Type.Integer(), { description: 'Its published versions that name the block' }),
          current: Type.Boolean({
            description: 'Its draft or its newest version names the block, so that the block cannot be deleted',
          }),
          follows: Type.Boolean({ description: 'One of these two names the newest version of the block' }),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type BlockUsage = Static<typeof BlockUsageSchema>;

export const BlockImpactSchema = Type.Object(
  {
    version: Type.Integer({ description: 'The version that a publish of the draft makes' }),
    templates: Type.Array(
      Type.Object(
        {
          type: enumOf(['email', 'attachment']),
          ...userFields,
          version: nullable(Type.Integer({ description: 'Its newest published version; null for its draft' })),
          changed: Type.Boolean({ description: 'It is rendered differently with the defaults of its variables' }),
          diff: Type.Array(Type.String(), {
            description: 'Lines of its text that go (`- `) and come (`+ `); empty where only its look changes',
          }),
          faults: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }, closed), {
            description: 'Faults that it would have; those of a published version refuse the publish',
          }),
        },
        closed,
      ),
    ),
    notRendered: Type.Integer({ description: 'Further templates that follow the block and have no fault' }),
  },
  closed,
);
export type BlockImpact = Static<typeof BlockImpactSchema>;

/** The requests of each kind of template. */
export type CreateRequestOf<K extends TemplateKind> = {
  email: CreateTemplateRequest;
  attachment: CreateAttachmentTemplateRequest;
  block: CreateBlockRequest;
}[K];
export type ImportRequestOf<K extends TemplateKind> = {
  email: ImportTemplateRequest;
  attachment: ImportAttachmentTemplateRequest;
  block: ImportBlockRequest;
}[K];
export type UpdateRequestOf<K extends TemplateKind> = {
  email: UpdateTemplateRequest;
  attachment: UpdateAttachmentTemplateRequest;
  block: UpdateBlockRequest;
}[K];
