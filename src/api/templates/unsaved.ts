/** Requests and answers of previews of what is not saved, and of tests of templates. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { outputFormats } from '../../domain/rendering/content.js';
import { nullable, oneOf } from '../../domain/core/schema.js';
import { closed, languageFields, RecipientSchema, valuesSchema } from '../core/common.js';
import { DocumentPreviewRequestSchema, PreviewRequestSchema, PreviewResponseSchema } from './templates.js';

/** A template as it is written. Its parts are checked one by one, and faults are answered beside the preview. */
const written = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });

const valuesOfPreview = {
  variables: Type.Optional(valuesSchema('Values for the template; its default values stand in for others')),
  ...languageFields,
};

const marks = Type.Optional(
  Type.Boolean({
    description:
      'Each component names its id in `data-component` of its outermost element, and each section in `data-section`, percent-encoded. Conditionals, loops and includes have no element: their ids stand before those of the components inside, separated by blanks. Default false',
  }),
);

const errors = Type.Array(Type.Object({ field: Type.String(), message: Type.String() }, closed), {
  description:
    'Faults for which a save would be refused, with the paths that its answer names; at most 100. A part that is named here is left out of the preview, or has the name of its component in its place',
});

export const PreviewUnsavedTemplateRequestSchema = Type.Object(
  {
    template: written('The email template as `POST /api/templates` takes it, finished or not'),
    ...valuesOfPreview,
    marks,
  },
  closed,
);
export type PreviewUnsavedTemplateRequest = Static<typeof PreviewUnsavedTemplateRequestSchema>;

export const PreviewUnsavedBlockRequestSchema = Type.Object(
  { block: written('The block as `POST /api/blocks` takes it, finished or not'), ...valuesOfPreview, marks },
  closed,
);
export type PreviewUnsavedBlockRequest = Static<typeof PreviewUnsavedBlockRequestSchema>;

export const PreviewUnsavedAttachmentRequestSchema = Type.Object(
  {
    template: written('The attachment template as `POST /api/templates/attachment` takes it, finished or not'),
    ...valuesOfPreview,
    format: DocumentPreviewRequestSchema.properties.format,
  },
  closed,
);
export type PreviewUnsavedAttachmentRequest = Static<typeof PreviewUnsavedAttachmentRequestSchema>;

const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  nullable({ ...schema, description: `${description}; null where nothing can be shown` });

const { subject, html, text, ...toldOfMail } = PreviewResponseSchema.properties;

const shownMail = {
  html: orNull(html, 'The HTML of the mail'),
  text: orNull(text, 'Its text part'),
  ...toldOfMail,
  errors,
};

export const UnsavedTemplatePreviewSchema = Type.Object(
  { subject: orNull(subject, 'Its subject'), ...shownMail },
  closed,
);
export type UnsavedTemplatePreview = Static<typeof UnsavedTemplatePreviewSchema>;

export const UnsavedBlockPreviewSchema = Type.Object(
  {
    ...shownMail,
    outputs: Type.Array(oneOf(['email', 'pdf', 'excel']), { description: 'The outputs that can show the block' }),
  },
  closed,
);
export type UnsavedBlockPreview = Static<typeof UnsavedBlockPreviewSchema>;

export const UnsavedDocumentPreviewSchema = Type.Object(
  {
    format: nullable(oneOf(outputFormats)),
    name: nullable(Type.String({ description: 'The name of the template, filled from the variables' })),
    content: orNull(Type.String(), 'Base64 of the document'),
    emptyPaths: PreviewResponseSchema.properties.emptyPaths,
    replaced: Type.Array(Type.String(), { description: 'Characters that no font of a PDF has' }),
    warnings: PreviewResponseSchema.properties.warnings,
    errors,
  },
  closed,
);
export type UnsavedDocumentPreview = Static<typeof UnsavedDocumentPreviewSchema>;

/** Most people who get one test. */
const TESTERS_MAX = 10;

export const TestTemplateRequestSchema = Type.Object(
  {
    to: Type.Optional(
      Type.Array(RecipientSchema, {
        minItems: 1,
        maxItems: TESTERS_MAX,
        description: 'Verified addresses of members of the team; default: that of the person who calls',
      }),
    ),
    ...PreviewRequestSchema.properties,
  },
  { ...closed, description: 'Whom a test goes to, and its variables; may be absent' },
);
export type TestTemplateRequest = Static<typeof TestTemplateRequestSchema>;
