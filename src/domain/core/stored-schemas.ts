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

/** Recipients of replies. A text is one address without a name. */
export const StoredReplyTo = Type.Union([text, Type.Array(StoredRecipient)]);
export type ReplyTo = Static<typeof StoredReplyTo>;
