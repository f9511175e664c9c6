/** Request and answer of the conversion of a mail of another service to a template. */
import { Type, type Static } from '@sinclair/typebox';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import { SOURCE_CHARS_MAX } from '../../domain/rendering/import/convert.js';
import { sourceLanguages } from '../../domain/rendering/import/language.js';
import { importOutcomes } from '../../domain/rendering/import/names.js';
import { nullable } from '../../domain/core/schema.js';
import { closed, enumOf, valuesSchema } from '../core/common.js';
import { UnsavedTemplatePreviewSchema } from './unsaved.js';

export const ConvertTemplateRequestSchema = Type.Object(
  {
    source: Type.String({
      minLength: 1,
      maxLength: SOURCE_CHARS_MAX,
      description: 'The HTML of the mail, or its MJML',
    }),
    language: Type.Optional(
      enumOf(
        ['auto', ...sourceLanguages],
        'The language of the source: Handlebars as SendGrid takes it, Mustachio of Postmark, MJML with placeholders of either, or HTML without placeholders; `auto` guesses it. Default `auto`',
      ),
    ),
    subject: Type.Optional(
      Type.String({
        maxLength: limits.subjectCharsMax,
        description: 'The subject in the same language; default: the title of the source',
      }),
    ),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.templateNameCharsMax,
        description: 'The name of the template; default: its subject without placeholders',
      }),
    ),
    variables: Type.Optional(valuesSchema('Sample values as the other service gets them; types are guessed by them')),
  },
  closed,
);
export type ConvertTemplateRequest = Static<typeof ConvertTemplateRequestSchema>;

const LanguageSchema = Type.Object(
  {
    name: enumOf(sourceLanguages),
    guessed: Type.Boolean({ description: 'False where the request names it' }),
    reason: Type.String({ description: 'The sign by which it was guessed' }),
  },
  closed,
);

const NoteSchema = Type.Object(
  {
    what: Type.String({ description: 'A part of the source, and what became of it' }),
    in: enumOf(['source', 'subject']),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1 }),
    done: enumOf(
      importOutcomes,
      '`dropped`: it is not in the template; `approximated`: it may look or act otherwise; `kept`: it is there in another form',
    ),
    advice: Type.String({ description: 'How to bring it back, or why nothing is lost' }),
  },
  closed,
);

const preview = UnsavedTemplatePreviewSchema.properties;

export const ConvertedTemplateSchema = Type.Object(
  {
    language: LanguageSchema,
    template: Type.Record(Type.String(), Type.Unknown(), { description: 'A body that `POST /api/templates` takes' }),
    samples: valuesSchema('A value for each variable: those of the request, and others that are made up'),
    notes: Type.Array(NoteSchema, { description: 'What became of parts that a template says otherwise or not at all' }),
    notesLeftOut: Type.Integer({ minimum: 0, description: 'Notes beyond the first 200' }),
    original: Type.Object(
      {
        subject: Type.String(),
        html: nullable(
          Type.String({
            description:
              'The source as its own service would fill it with the samples; `null` for MJML. It may hold scripts: show it only in an `iframe` with an empty `sandbox`',
          }),
        ),
        mjml: nullable(
          Type.String({
            description:
              'MJML, filled with the samples, for a compiler of MJML; `null` for another language. What it makes may hold scripts too',
          }),
        ),
      },
      closed,
    ),
    preview: Type.Object(
      { subject: preview.subject, html: preview.html, text: preview.text },
      { ...closed, description: 'The template with the samples' },
    ),
  },
  closed,
);
export type ConvertedTemplate = Static<typeof ConvertedTemplateSchema>;
