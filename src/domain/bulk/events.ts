/** The facts of a bulk send. `sealed` is what its emails are made of; it goes with the key of the stream when the last of them is made. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { RetirementMark, StoredRecipient, StoredTracking, text, type EventsOf } from '../core/stored.js';

const storedPriority = oneOf(['high', 'normal', 'low']);
const storedFormat = oneOf(['pdf', 'excel']);
const count = Type.Integer();

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const values = Type.Record(text, Type.Unknown());

/** All that its emails depend on, beside the sealed part: made from it twice, each email is the same. */
const accepted = {
  at: text,
  name: optional(text),
  templateId: text,
  templateName: text,
  templateRevision: count,
  /** null where a draft is sent. */
  templateVersion: nullable(count),
  /** The list that its recipients can unsubscribe from. */
  unsubscribeList: optional(text),
  priority: storedPriority,
  tags: Type.Array(text),
  company: Type.Record(text, text),
  /** How many emails it makes: one for each of the sealed recipients. */
  total: count,
  /** The places of recipients of the call that were left out: without a valid address, and with an address that stands there before. */
  invalid: Type.Array(count),
  duplicates: Type.Array(count),
  /** The documents that may be made for each recipient: which revision of which template. The rest of each is sealed, in the same order. */
  documents: Type.Array(Type.Object({ templateId: text, templateName: text, templateRevision: count, required: Type.Boolean() })),
  /** How many documents are made for all recipients together, as far as the call tells. */
  documentCount: count,
  fingerprint: optional(text),
  /** What was reserved for all its emails, under its own stream; absent where its team was not metered. */
  charged: optional(Type.Object({ month: text, isByCredits: Type.Boolean() })),
  /** How long its emails were likely to wait for their turn, where that was longer than usual. */
  expectedWaitMs: optional(count),
  /** As each of its emails has it. */
  tracking: optional(Type.Object({ ...StoredTracking.properties, url: text })),
  /** Sent with a test key: nothing of it leaves, and it costs and counts nothing. Absent from all others. */
  test: optional(Type.Literal(true)),
};

const Override = Type.Object({
  /** The place of the document in `documents`. */
  document: count,
  variables: optional(values),
  filename: optional(text),
  outputFormats: optional(Type.Array(storedFormat)),
  skip: optional(Type.Boolean()),
});

const BatchContent = Type.Object({
  from: StoredRecipient,
  replyTo: optional(text),
  headers: Type.Record(text, text),
  metadata: values,
  baseVariables: values,
  /** The language of all recipients, where the call says one. */
  locale: optional(text),
  timeZone: optional(text),
  documents: Type.Array(
    Type.Object({
      filename: optional(text),
      baseVariables: values,
      recipientVariableFields: optional(Type.Array(text)),
      outputFormats: optional(Type.Array(storedFormat)),
    }),
  ),
  recipients: Type.Array(
    Type.Object({
      email: text,
      name: optional(text),
      variables: optional(values),
      /** Over the language of all. */
      locale: optional(text),
      timeZone: optional(text),
      overrides: optional(Type.Array(Override)),
      /** Its place in the call. */
      given: count,
    }),
  ),
});
export type BatchContent = Static<typeof BatchContent>;
export type BatchRecipient = BatchContent['recipients'][number];

/** What has become of its emails: those that left, those that failed or bounced, those that are cancelled, those in a dialogue. */
const ends = { sent: count, failed: count, cancelled: count, processing: count };

export const batchEventSchemas = {
  BatchQueued: { data: Type.Object(accepted), sealed: BatchContent },
  BatchScheduled: { data: Type.Object({ ...accepted, scheduledAt: text }), sealed: BatchContent },
  /** The first part of its emails is being made: none beyond `partSize`. The priority is said again, so that work is queued without looking back. */
  BatchStarted: { data: Type.Object({ at: text, partSize: count, priority: storedPriority }) },
  /** The first `upTo` emails are made, and the next part is being made: none beyond `upTo` and the part size. */
  BatchAdvanced: { data: Type.Object({ at: text, upTo: count, priority: storedPriority }) },
  /** The recipients at these places are erased: the emails for them are not written to anybody. */
  BatchRecipientsErased: { data: Type.Object({ at: text, recipients: Type.Array(count) }) },
  /** All emails are made. */
  BatchFannedOut: { data: Type.Object({ at: text }) },
  /** From here on none is made, and none that has not left is to leave. */
  BatchCancelled: {
    data: Type.Object({ at: text, priority: storedPriority, idempotencyKey: optional(text), fingerprint: optional(text) }),
  },
  /** Every email that had not left is cancelled but for those in a dialogue; the first `made` exist, and no other will. */
  BatchStopped: { data: Type.Object({ at: text, made: count, ...ends }) },
  /** Every email has come to an end. */
  BatchCompleted: { data: Type.Object({ at: text, sent: count, failed: count, cancelled: count }) },
  /** Its record is kept no longer: nothing shows it any more. */
  BatchRemoved: { data: Type.Object({ at: text }) },
  /** All before this leaves the log: `hashes`, in their order, stood as the `ordinals`-th events in it. */
  BatchRetired: { data: Type.Object({ at: text, ordinals: Type.Array(count), hashes: Type.Array(text), mark: RetirementMark }) },
} as const;

export type BatchEvent = EventsOf<typeof batchEventSchemas>;
export type BatchAccepted = Extract<BatchEvent, { type: 'BatchQueued' | 'BatchScheduled' }>;
export type BatchEnds = Readonly<{ sent: number; failed: number; cancelled: number; processing: number }>;
