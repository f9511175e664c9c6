/** Attachment templates as callers see them: what makes and changes one, and what is shown of it. */
import { Type, type Static } from '@sinclair/typebox';
import { outputFormats } from '../../domain/rendering/document-content.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { nullable, oneOf } from '../../domain/core/schema.js';
import { closed, enumOf, Time } from '../core/common.js';
import { languageFields } from '../core/language.js';
import {
  deletedAtField,
  leftAsideTemplateFields,
  readOnlyTemplateFields,
  revisionField,
  PreviewRequestSchema,
  templateFields,
  translationsField,
  warningsField,
} from './templates.js';

/** The parts that the author writes. Variables and schema are checked part by part, with paths. */
const writable = {
  ...templateFields,
  schema: Type.Unknown({ description: 'An object with `outputFormats` and `pages`' }),
};

const { name, schema, ...others } = writable;
/** An export is what GET answers, and comes in as it is. The command line checks it without a validator of JSON Schema. */
const creation = {
  name,
  schema,
  ...Type.Partial(Type.Object(others)).properties,
  type: Type.Optional(Type.Literal('attachment')),
  outputFormats: Type.Optional(Type.Array(oneOf(outputFormats), { description: 'Those of `schema.outputFormats`' })),
  shortId: leftAsideTemplateFields.id,
  ...leftAsideTemplateFields,
};

export const CreateAttachmentTemplateRequestSchema = Type.Object(
  { ...creation, publish: Type.Optional(Type.Boolean({ description: 'Publish the draft at once as version 1; default false' })) },
  closed,
);
export type CreateAttachmentTemplateRequest = Static<typeof CreateAttachmentTemplateRequestSchema>;

export const UpdateAttachmentTemplateRequestSchema = Type.Partial(
  Type.Object({
    ...writable,
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
    revision: revisionField,
    warnings: warningsField,
  },
  closed,
);
export type AttachmentTemplateRecord = Static<typeof AttachmentTemplateRecordSchema>;

export const AttachmentTemplateListItemSchema = Type.Object(
  {
    ...Type.Omit(AttachmentTemplateRecordSchema, ['variables', 'schema', 'revision', 'strictVariables', 'translations', 'warnings'])
      .properties,
    deletedAt: deletedAtField,
  },
  closed,
);
export type AttachmentTemplateListItem = Static<typeof AttachmentTemplateListItemSchema>;

export const ImportAttachmentTemplateRequestSchema = Type.Object(creation, closed);
export type ImportAttachmentTemplateRequest = Static<typeof ImportAttachmentTemplateRequestSchema>;

export const AttachmentTemplateVersionSchema = Type.Object(
  { version: Type.Integer(), name: Type.String(), publishedAt: Time, current: Type.Boolean() },
  closed,
);
export type AttachmentTemplateVersion = Static<typeof AttachmentTemplateVersionSchema>;
export const AttachmentTemplateVersionsSchema = Type.Object({ data: Type.Array(AttachmentTemplateVersionSchema) }, closed);

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

/** What the preview of a document takes in its query. */
export const DocumentPreviewQuerySchema = Type.Object(
  {
    variables: Type.Optional(
      Type.String({
        maxLength: defaultLimits.urlSizeBytesMax,
        description: 'A JSON object, percent-encoded',
        examples: ['{"number":"2030-17"}'],
      }),
    ),
    ...languageFields,
    format: Type.Optional(enumOf(outputFormats, 'Default: the first of the template’s `outputFormats`')),
    version: Type.Optional(
      Type.String({ minLength: 1, maxLength: 20, description: '`draft` (default), `published`, or a version number' }),
    ),
  },
  closed,
);
/** What it takes in its body. */
export const DocumentPreviewRequestSchema = Type.Object(
  {
    ...PreviewRequestSchema.properties,
    format: Type.Optional(enumOf(outputFormats, 'Default: the first of the template’s `outputFormats`')),
  },
  closed,
);

export type DocumentPreviewQuery = Static<typeof DocumentPreviewQuerySchema>;
