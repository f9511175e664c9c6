/** The facts of one email. `data` is what statistics may know; `sealed` is personal and goes with the key of the stream. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { RetirementMark, StoredRecipient, StoredTracking, text, type EventsOf } from '../core/stored.js';

/** Frozen: what was ever written. */
const storedPriority = oneOf(['high', 'normal', 'low']);
const storedRole = oneOf(['to', 'cc', 'bcc']);

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);

/** HMAC of the request body under one Idempotency-Key. */
const Fingerprint = Type.String();

/** All that the finished mail depends on, beside the sealed part: the same event gives the same bytes. */
const accepted = {
  messageId: text,
  templateId: text,
  templateName: text,
  /** The template's draft revision, which never changes its content. */
  templateRevision: Type.Integer(),
  /** The published number of that revision; null where a draft was sent. */
  templateVersion: nullable(Type.Integer()),
  priority: storedPriority,
  tags: Type.Array(text),
  /** The role of each recipient, in the order of the sealed `recipients`. */
  roles: Type.Array(storedRole),
  attachmentCount: Type.Integer(),
  /**
   * Bytes of its attachments that are kept: `lasting` as long as the email, `temporary` until that moment at most. Absent where it has none.
   */
  attachmentBytes: optional(Type.Object({ lasting: Type.Integer(), temporary: Type.Integer(), temporaryUntil: text })),
  /** How many documents of each format were made for it; absent where none was. */
  generated: optional(Type.Object({ pdf: Type.Integer(), excel: Type.Integer() })),
  /**
   * What was reserved for it of its team's credits, under `reference`, the stream of this email or of the batch that it belongs to; absent
   * where its team was not metered.
   */
  charged: optional(
    Type.Object({
      reference: text,
      month: text,
      isByCredits: Type.Boolean(),
      emails: Type.Integer(),
      attachments: Type.Integer(),
    }),
  ),
  /** The constants of the team's company, as they were. */
  company: Type.Record(text, text),
  fingerprint: optional(Fingerprint),
  /** The bulk send that it belongs to, and its place among the recipients of that; absent where it was sent by itself. */
  batch: optional(Type.Object({ id: text, index: Type.Integer() })),
  /** The list that its recipients can unsubscribe from, as the template named it; each of them gets a copy of its own. */
  unsubscribeList: optional(text),
  /** How long it was likely to wait for its turn, where that was longer than usual: a repeated call is answered the same. */
  expectedWaitMs: optional(Type.Integer()),
  /** What is recorded of its readers, and the address of the service that its links lead to; absent where nothing is. */
  tracking: optional(Type.Object({ ...StoredTracking.properties, url: text })),
  /** Sent with a test key: nothing of it leaves, and it costs and counts nothing. Absent from all others. */
  test: optional(Type.Literal(true)),
  /** What it says lets somebody in: it is shown to nobody but its recipients. It is the service's own, so it costs and counts nothing. Absent from all others. */
  confidential: optional(Type.Literal(true)),
};

const envelope = {
  from: StoredRecipient,
  /** One for each role of `roles`; null once the key of that recipient is destroyed. */
  recipients: Type.Array(nullable(StoredRecipient)),
  replyTo: optional(text),
  /** As rendered at acceptance. */
  subject: text,
  /** Absent from the envelope of events of before, which have it with the rest of the sealed part. */
  metadata: optional(Type.Record(text, Type.Unknown())),
};
/** What lists and searches need of the sealed part. It stands first and by itself, so that they need not read the rest. */
const Envelope = Type.Object(envelope);
export type EmailEnvelope = Static<typeof Envelope>;

const Content = Type.Object({
  ...envelope,
  /** The subject of the call, with its `{{…}}`; absent where the template's own is rendered. */
  subjectOverride: optional(text),
  variables: Type.Record(text, Type.Unknown()),
  headers: Type.Record(text, text),
  metadata: Type.Record(text, Type.Unknown()),
  attachments: Type.Array(
    Type.Object({
      filename: text,
      contentType: text,
      sizeBytes: Type.Integer(),
      /** Without angle brackets; the HTML shows it as `cid:…`. */
      contentId: optional(text),
      /** A picture of the gallery that the template shows, not one that the call gave. */
      ofTemplate: optional(Type.Literal(true)),
      /** SHA-256 of the sealed bytes in the files port; their context is `attachment:<index>`. */
      file: text,
    }),
  ),
  /** The language of the call, where it says one; absent where it is that of the template. */
  locale: optional(text),
  timeZone: optional(text),
  /** Documents that it goes without, for they could not be made; absent where there is none. */
  omitted: optional(Type.Array(Type.Object({ name: text, reason: text }))),
  /** Characters in whose place the documents show numbers, for no font has them; absent where there is none. */
  replaced: optional(Type.Array(Type.Object({ name: text, characters: Type.Array(text) }))),
});
export type EmailContent = Static<typeof Content>;
export type AttachmentBytes = NonNullable<Static<typeof accepted.attachmentBytes>>;

const outcome = {
  attempt: Type.Integer(),
  at: text,
  host: text,
  durationMs: Type.Number(),
  /** For each recipient that was attempted: its place in `roles` and what became of it. */
  outcomes: Type.Array(
    Type.Object({
      recipient: Type.Integer(),
      result: oneOf(['accepted', 'deferred', 'bounced', 'refused'] as const),
      replyCode: nullable(Type.Integer()),
      enhancedCode: nullable(text),
      rule: text,
      /** Made up here: no host was asked. Absent where one was. */
      simulated: optional(Type.Literal(true)),
    }),
  ),
};
/** The replies in words, in the order of `outcomes`; null once the key of that recipient is destroyed. */
const Replies = Type.Object({ replies: Type.Array(nullable(text)) });

/**
 * One recipient, by the place in `roles`, has asked for the picture or a link. `times`: how often since the event before for the same thing,
 * where more than once. `rule`: by which rule no person did it; absent where none says so.
 */
const engagement = {
  at: text,
  recipient: Type.Integer(),
  times: optional(Type.Integer()),
  machine: Type.Boolean(),
  rule: optional(text),
};
/** Who asked. */
const visitor = { userAgent: nullable(text), ipAddress: nullable(text) };

export const emailEventSchemas = {
  EmailQueued: { data: Type.Object({ ...accepted, at: text }), sealed: Content, envelope: Envelope },
  EmailScheduled: { data: Type.Object({ ...accepted, at: text, scheduledAt: text }), sealed: Content, envelope: Envelope },
  /** `subject`: as rendered for the new time, for it may show dates. `temporaryUntil`: as of `attachmentBytes`, where there are temporary ones. */
  EmailRescheduled: {
    data: Type.Object({ at: text, scheduledAt: text, temporaryUntil: optional(text) }),
    sealed: Type.Object({ subject: text }),
  },
  /** A release or a retry says the priority again, so that it can be queued without looking back. */
  EmailReleased: {
    data: Type.Object({
      at: text,
      priority: storedPriority,
      /** Pushed by hand before its time, which was this: the schedule goes on from there where the attempt is deferred again. */
      pushedFrom: optional(text),
    }),
  },
  DeliveryAttempted: {
    data: Type.Object({
      attempt: Type.Integer(),
      at: text,
      host: text,
      /** The run of the program that holds the dialogue. */
      worker: text,
      /** After this moment the dialogue cannot be under way any more. */
      deadlineAt: text,
    }),
  },
  /** Of an attempt that sends one copy to each recipient: an answer that stands, while others are to be sent. What ends the attempt says it again. */
  CopyAnswered: { data: Type.Object(outcome), sealed: Replies },
  EmailSent: { data: Type.Object(outcome), sealed: Replies },
  /**
   * `heldUntil`: the host took no session, so the mail waits for it and spends no attempt; at that moment it fails. `attempt` is then the
   * attempt that found the host away, or 0 where none was begun.
   */
  EmailDeferred: { data: Type.Object({ ...outcome, nextAttemptAt: text, heldUntil: optional(text) }), sealed: Replies },
  EmailBounced: { data: Type.Object({ ...outcome, bounceType: oneOf(['hard', 'soft'] as const) }), sealed: Replies },
  EmailFailed: {
    data: Type.Object({ ...outcome, reason: oneOf(['refused', 'attempts-spent', 'rendering', 'content-lost'] as const) }),
    sealed: Replies,
  },
  EmailDelivered: { data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()) }) },
  /** A host that has the mail after ours could not deliver it, and has said so later. In words: in the order of `bounces`. */
  EmailBounceReported: {
    data: Type.Object({
      at: text,
      bounces: Type.Array(
        Type.Object({
          recipient: Type.Integer(),
          bounceType: oneOf(['hard', 'soft', 'infrastructure'] as const),
          bounceSubType: text,
          enhancedCode: nullable(text),
        }),
      ),
    }),
    sealed: Replies,
  },
  /** `recipients` is empty where the complaint does not tell which of several has complained. `simulated`: as of outcomes, of all of them. */
  EmailComplained: {
    data: Type.Object({ at: text, feedbackType: text, recipients: Type.Array(Type.Integer()), simulated: optional(Type.Literal(true)) }),
  },
  EmailRetried: {
    data: Type.Object({
      at: text,
      retryCount: Type.Integer(),
      priority: storedPriority,
      idempotencyKey: optional(text),
      fingerprint: optional(Fingerprint),
    }),
  },
  EmailCancelled: { data: Type.Object({ at: text, idempotencyKey: optional(text), fingerprint: optional(Fingerprint) }) },
  /** To these recipients, by their place in `roles`, the team does not write: none of them was or will be attempted. The priority is said again. */
  RecipientsSuppressed: { data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()), priority: storedPriority }) },
  /** The addresses of these recipients, whose hosts have refused them for good, were given to the suppression list. */
  EmailBouncesNoted: { data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()) }) },
  /** What is personal of these recipients, by their place in `roles`, is to be destroyed; the email goes on for the others. The priority is said again. */
  RecipientsErased: { data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()), priority: storedPriority }) },
  EmailOpened: { data: Type.Object(engagement), sealed: Type.Object(visitor) },
  /** `link`: its place among the tracked links of the mail. */
  EmailClicked: { data: Type.Object({ ...engagement, link: Type.Integer() }), sealed: Type.Object({ ...visitor, url: text }) },
  EmailDeleted: { data: Type.Object({ at: text }) },
  EmailArchived: { data: Type.Object({ at: text }) },
  /** Its record is kept no longer: nothing shows it any more, as if it were deleted. */
  EmailRemoved: { data: Type.Object({ at: text }) },
  /**
   * What the email counted for on one day (UTC), said again before the events that said it leave the log: by revision, what it came to and
   * the sums of its durations.
   */
  EmailSummarised: {
    data: Type.Object({
      at: text,
      day: text,
      templateId: text,
      tags: Type.Array(text),
      reached: Type.Array(
        Type.Object({
          revision: Type.Integer(),
          milestones: Type.Array(text),
          attempted: optional(Type.Integer()),
          waitMs: optional(Type.Number()),
          sendMs: optional(Type.Number()),
          deliverMs: optional(Type.Number()),
        }),
      ),
    }),
  },
  /**
   * All before the first `EmailSummarised`, or before this, leaves the log: `hashes`, in their order, stood as the `ordinals`-th events in it.
   * `position`: of the first of them. `used`: by how many the emails of its day became more or fewer. `ended`: how often it was done, or
   * deferred, and in which minute, of the newest.
   */
  EmailRetired: {
    data: Type.Object({
      at: text,
      createdAt: text,
      priority: storedPriority,
      position: Type.Integer(),
      used: Type.Array(Type.Object({ revision: Type.Integer(), by: Type.Integer() })),
      documents: Type.Integer(),
      hasAttachments: Type.Boolean(),
      ended: Type.Array(Type.Object({ revision: Type.Integer(), minute: text })),
      ordinals: Type.Array(Type.Integer()),
      hashes: Type.Array(text),
      mark: RetirementMark,
    }),
  },
} as const;

export type EmailEvent = EventsOf<typeof emailEventSchemas>;
export type EmailAccepted = Extract<EmailEvent, { type: 'EmailQueued' | 'EmailScheduled' }>;
export type EmailEngaged = Extract<EmailEvent, { type: 'EmailOpened' | 'EmailClicked' }>;
export type DeliveryOutcomeEvent = Extract<EmailEvent, { type: 'EmailSent' | 'EmailDeferred' | 'EmailBounced' | 'EmailFailed' }>;
