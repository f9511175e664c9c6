/**
 * Events of a bulk send. `sealed` is the content of its emails, encrypted; its key is destroyed when the last of them
 * is made.
 */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import {
  StoredBlock,
  StoredInline,
  StoredRecipient,
  StoredReplyTo,
  StoredTracking,
  text,
} from '../core/stored-schemas.js';
import type { EventDefinitions, EventsOf } from '../core/event.js';

const storedPriority = oneOf(['high', 'normal', 'low']);
const storedFormat = oneOf(['pdf', 'excel']);
const count = Type.Integer();

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const values = Type.Record(text, Type.Unknown());

/** All that its emails depend on, together with the sealed part: an email that is made twice is the same. */
const accepted = {
  at: text,
  name: optional(text),
  /** `inline` where the content came with the call. */
  templateId: text,
  templateName: text,
  templateRevision: count,
  /** null: a draft is sent, or there is no template. */
  templateVersion: nullable(count),
  /** The blocks of the template, and those that they include; absent: none. */
  blocks: optional(Type.Array(StoredBlock)),
  /** The list that its recipients can unsubscribe from. */
  unsubscribeList: optional(text),
  priority: storedPriority,
  tags: Type.Array(text),
  company: Type.Record(text, text),
  /** The number of emails: one for each of the sealed recipients. */
  total: count,
  /**
   * The places of recipients of the call that were left out: with an invalid address, and with an address that another
   * one has before.
   */
  invalid: Type.Array(count),
  duplicates: Type.Array(count),
  /** Why each of them was left out, in this order, without any text of the call. */
  reasons: optional(Type.Array(text)),
  /** The line of the file in which each recipient of the call begins, if it came by one. */
  lines: optional(Type.Array(count)),
  /**
   * The document templates, with their revision, for each recipient. The rest of each document is sealed, in the same
   * order.
   */
  documents: Type.Array(
    Type.Object({
      templateId: text,
      templateName: text,
      templateRevision: count,
      blocks: optional(Type.Array(StoredBlock)),
      required: Type.Boolean(),
    }),
  ),
  /** The number of documents for all recipients together, as far as the call tells. */
  documentCount: count,
  fingerprint: optional(text),
  /** The credits reserved for all its emails, under its own stream; absent if the team was not metered. */
  charged: optional(Type.Object({ month: text, isByCredits: Type.Boolean() })),
  /** The expected wait of its emails, if longer than usual. */
  expectedWaitMs: optional(count),
  /** As in an email: the verified domain of the sender. */
  senderDomain: optional(text),
  /** As in an email: the URL to which unsubscribe links lead. */
  linksUrl: optional(text),
  /** The tracking setting of each of its emails. */
  tracking: optional(Type.Object({ ...StoredTracking.properties, url: text })),
  /** Sent with a test key: it is not delivered, costs nothing and is not counted. Absent from all others. */
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
  replyTo: optional(StoredReplyTo),
  /** The content that came with the call, for all recipients. */
  inline: optional(Type.Object({ subject: text, ...StoredInline.properties })),
  headers: Type.Record(text, text),
  metadata: values,
  baseVariables: values,
  /** The language of all recipients, if the call names one. */
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
      /** Overrides the language of all. */
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

/**
 * The numbers of emails that were sent, that failed or bounced, that were cancelled, and that are in an SMTP dialogue.
 */
const ends = { sent: count, failed: count, cancelled: count, processing: count };

export const batchEvents = {
  BatchQueued: { data: Type.Object(accepted), sealed: BatchContent },
  BatchScheduled: { data: Type.Object({ ...accepted, scheduledAt: text }), sealed: BatchContent },
  /**
   * The first part, of at most `partSize` emails, is being made. The priority is repeated, so that queueing the work
   * needs no earlier event.
   */
  BatchStarted: { data: Type.Object({ at: text, partSize: count, priority: storedPriority }) },
  /** The first `upTo` emails are made, and the next part is being made. */
  BatchAdvanced: { data: Type.Object({ at: text, upTo: count, priority: storedPriority }) },
  /** The recipients at these places are erased: their emails are not sent and hold no address. */
  BatchRecipientsErased: { data: Type.Object({ at: text, recipients: Type.Array(count) }) },
  /** All emails are made. */
  BatchFannedOut: { data: Type.Object({ at: text }), erases: true },
  /** From now on no email is made, and none that was not sent yet is sent. */
  BatchCancelled: {
    data: Type.Object({
      at: text,
      priority: storedPriority,
      idempotencyKey: optional(text),
      fingerprint: optional(text),
    }),
    webhooks: 'batch.cancelled',
  },
  /**
   * Every email that was not sent is cancelled, except those in an SMTP dialogue; the first `made` exist, and no other
   * will.
   */
  BatchStopped: { data: Type.Object({ at: text, made: count, ...ends }), erases: true },
  /** Every email has ended. */
  BatchCompleted: {
    data: Type.Object({ at: text, sent: count, failed: count, cancelled: count }),
    webhooks: 'batch.completed',
  },
  /** The record is no longer kept: nothing shows the bulk send any more. */
  BatchRemoved: { data: Type.Object({ at: text }) },
} as const satisfies EventDefinitions;

export type BatchEvent = EventsOf<typeof batchEvents>;
export type BatchAccepted = Extract<BatchEvent, { type: 'BatchQueued' | 'BatchScheduled' }>;
export type BatchEnds = Readonly<{ sent: number; failed: number; cancelled: number; processing: number }>;

/** The events of each kind of stream. */
export const bulkStreams = { batch: batchEvents } as const;
