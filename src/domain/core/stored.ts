/**
 * Schema pieces that stored events share. They say which fields there are and of which type, and nothing about lengths or counts: an event
 * that was once accepted stays readable, whatever the API takes today. Lists of values are written out in each events.ts and only ever grow.
 */
import { Type, type Static, type TSchema } from '@sinclair/typebox';

export const text = Type.String();

/** Whether opens and clicks are recorded. */
export const StoredTracking = Type.Object({ opens: Type.Boolean(), clicks: Type.Boolean() });

export const StoredRecipient = Type.Object({ email: text, name: Type.Optional(text) });

/** Where answers go; a text: one address without a name. */
export const StoredReplyTo = Type.Union([text, Type.Array(StoredRecipient)]);
export type ReplyTo = Static<typeof StoredReplyTo>;

/** An HMAC under the master key over the events that leave the log, so that write access to the log is not enough to remove events. See event-log/retirement.ts. */
export const RetirementMark = text;

/** The last event of a stream whose events leave the log. */
export const retirementEventSchemas = {
  /**
   * The first `first` events of the stream leave the log. `hashes` are those from revision `from` on, in their order; each stood as the
   * `ordinals`-th event in the log. A long stream has several of these events, and nothing leaves before the last of them is appended.
   */
  StreamRetired: {
    data: Type.Object({
      at: text,
      first: Type.Integer(),
      from: Type.Integer(),
      ordinals: Type.Array(Type.Integer()),
      hashes: Type.Array(text),
      mark: RetirementMark,
      /** Ids of the events that members of the team were told of. */
      told: Type.Optional(Type.Array(text)),
    }),
  },
} as const;

/** The union of the events of these schemas. `sealed` is the part that can be read while the key of the stream exists. */
export type EventsOf<Schemas extends Readonly<Record<string, Readonly<{ data: TSchema; sealed?: TSchema }>>>> = {
  [Name in keyof Schemas]: Readonly<{ type: Name; data: Static<Schemas[Name]['data']> }> &
    (Schemas[Name] extends { sealed: infer Sealed extends TSchema }
      ? Readonly<{ /** undefined once the key is destroyed */ sealed: Static<Sealed> | undefined }>
      : unknown);
}[keyof Schemas];
