/** The mail of an accepted email, read again: its content, and whose copy is read. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { closed, enumOf, RecipientSchema, valuesSchema } from './core/common.js';

const sizeInBytes = Type.Integer({ description: 'Bytes' });

/** The mail itself, read again. */
export const SentContentSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    messageId: Type.String(),
    recipient: nullable(
      Type.Integer({
        description:
          'Whose copy this is, by the place in `recipients` of the record; null where all recipients got the same mail',
      }),
    ),
    from: RecipientSchema,
    replyTo: Type.Array(RecipientSchema),
    to: Type.Array(RecipientSchema),
    cc: Type.Array(RecipientSchema),
    subject: Type.String(),
    headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }, closed), {
      description: 'The header fields in their order, unfolded, without those of MIME parts and signatures',
    }),
    html: Type.String({ description: 'Without tracking: links lead where their author sent them' }),
    text: Type.String(),
    attachments: Type.Array(
      Type.Object(
        {
          index: Type.Integer({ description: 'Names it in `/attachments/:index`' }),
          filename: Type.String(),
          contentType: Type.String(),
          contentId: nullable(Type.String({ description: 'The HTML shows it as `cid:` and this' })),
          sizeBytes: sizeInBytes,
        },
        closed,
      ),
    ),
    sizes: Type.Object({ html: sizeInBytes, text: sizeInBytes, attachments: sizeInBytes }, closed),
  },
  closed,
);
export type SentContent = Static<typeof SentContentSchema>;

const recipient = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: limits.recipientsMax - 1,
    description:
      'Whose copy, by the place in `recipients` of the record, from 0; default: the first that is not erased. It matters where each recipient got a copy: with an unsubscribe list, or tracked',
  }),
);

/** Which recipient's copy of a mail is read. */
export const CopyQuerySchema = Type.Object({ recipient }, closed);

/** How the page of a mail looks. */
export const SentPageQuerySchema = Type.Object(
  {
    recipient,
    scheme: Type.Optional(
      enumOf(['light', 'dark'] as const, 'The colour scheme that the mail is told; default `light`'),
    ),
    pictures: Type.Optional(
      Type.Boolean({ description: 'Whether pictures, styles and fonts of other hosts are loaded; default false' }),
    ),
  },
  closed,
);

export const SentAttachmentParamsSchema = Type.Object({
  id: Type.String({ description: 'Email log id' }),
  index: Type.String({ description: 'The `index` of the attachment in the content' }),
});

export const ResendEmailRequestSchema = Type.Object(
  {
    to: Type.Optional(
      Type.Array(RecipientSchema, { minItems: 1, description: 'In place of all recipients of the original' }),
    ),
    variables: Type.Optional(valuesSchema('In place of the variables of these names')),
  },
  { ...closed, description: 'Changes of the copy; may be absent' },
);
export type ResendEmailRequest = Static<typeof ResendEmailRequestSchema>;
