/** Answers of the built-in mailbox, which takes mails by SMTP and shows them. */
import { Type } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, pageOf } from './core/common.js';

const AddressSchema = Type.Object({ address: Type.String(), name: Type.String() }, closed);

const entry = {
  id: Type.String(),
  from: AddressSchema,
  to: Type.Array(AddressSchema),
  subject: Type.String(),
  receivedAt: Type.String({ format: 'date-time' }),
  sizeBytes: Type.Integer(),
};

export const MailboxPageSchema = pageOf(Type.Object(entry, closed));

export const MailboxMessageSchema = Type.Object(
  {
    ...entry,
    cc: Type.Array(AddressSchema),
    envelope: Type.Object(
      { from: Type.String(), to: Type.Array(Type.String()) },
      { ...closed, description: 'As SMTP carried it; blind copies stand only here' },
    ),
    html: nullable(Type.String()),
    text: nullable(Type.String()),
    headers: Type.Array(Type.Object({ name: Type.String(), value: Type.String() }, closed)),
    attachments: Type.Array(
      Type.Object(
        {
          filename: Type.String(),
          contentType: Type.String(),
          contentId: nullable(Type.String()),
          sizeBytes: Type.Integer(),
        },
        closed,
      ),
    ),
  },
  closed,
);

export const MailboxClearedSchema = Type.Object({ deleted: Type.Integer() }, closed);

export const MailboxAttachmentParamsSchema = Type.Object({
  id: Type.String({ description: 'Id of the message' }),
  index: Type.String({ description: 'Counts from 0' }),
});

/** The token of the link that opens the mailbox. */
export const MailboxLinkQuerySchema = Type.Object({ token: Type.Optional(Type.String()) }, closed);

/** The colour scheme in which the HTML of a mail is shown. */
export const MailboxHtmlQuerySchema = Type.Object({ scheme: Type.Optional(enumOf(['light', 'dark'])) }, closed);
