/**
 * Schema pieces that stored events share. They say which fields there are and of which type, and nothing about lengths
 * or counts: an event that was once accepted stays readable, whatever the API takes today. Lists of values are written
 * out in each events.ts and only ever grow.
 */
import { Type, type Static } from '@sinclair/typebox';

export const text = Type.String();

/** Whether opens and clicks are recorded. */
export const StoredTracking = Type.Object({ opens: Type.Boolean(), clicks: Type.Boolean() });

export const StoredRecipient = Type.Object({ email: text, name: Type.Optional(text) });

/** Stands for the template of a mail whose content came with the call. */
export const INLINE = 'inline';

/**
 * The content of such a mail. `text`: absent: it is made from the HTML. `isFilled`: the call had variables, so `{{…}}`
 * are placeholders.
 */
export const StoredInline = Type.Object({
  html: text,
  text: Type.Optional(text),
  isFilled: Type.Optional(Type.Literal(true)),
});
export type StoredInline = Static<typeof StoredInline>;

/**
 * A block as it was pinned when a mail was accepted: the slug and the version that the template names (`latest` or a
 * number), and the revision and the version that this was.
 */
export const StoredBlock = Type.Object({
  slug: text,
  wanted: text,
  id: text,
  revision: Type.Integer(),
  version: Type.Integer(),
});
export type StoredBlock = Static<typeof StoredBlock>;

/** Stands for the template of a mail that a program handed over by SMTP. */
export const SUBMITTED = 'smtp';

/** Such a message. It leaves as it came, but for what a copy adds. */
export const StoredMessage = Type.Object({
  /** Its fields in ASCII; `\0<place>\0` stands for what `written` of a recipient holds next. */
  head: text,
  /** In latin1. Absent: it is the file of the first attachment. */
  body: Type.Optional(text),
  /** As the field has it. */
  messageId: text,
  /** The sender of the envelope; absent: the address of From. */
  sender: Type.Optional(text),
  /** The files that it carries, as the log tells them. */
  files: Type.Array(Type.Object({ filename: text, contentType: text, sizeBytes: Type.Integer() })),
});
export type StoredMessage = Static<typeof StoredMessage>;

/** Recipients of replies. A text is one address without a name. */
export const StoredReplyTo = Type.Union([text, Type.Array(StoredRecipient)]);
export type ReplyTo = Static<typeof StoredReplyTo>;
