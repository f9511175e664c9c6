/**
 * Events of one email. Statistics may use `data`; `sealed` is personal, encrypted, and unreadable once the key of the
 * stream is destroyed.
 */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import {
  StoredBlock,
  StoredInline,
  StoredMessage,
  StoredRecipient,
  StoredReplyTo,
  StoredTracking,
  text,
} from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf, type Notice, type WebhookKind } from '../core/event.js';

/** Frozen: values that stored events may have. */
const storedPriority = oneOf(['high', 'normal', 'low']);
const storedRole = oneOf(['to', 'cc', 'bcc']);

const storedLossKind = oneOf(['missing', 'calculated', 'link', 'picture', 'color', 'currency', 'setting']);

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);

/** HMAC of the request body under one Idempotency-Key. */
const Fingerprint = Type.String();

/** All that the rendered mail depends on, together with the sealed part: one event always gives the same bytes. */
const accepted = {
  messageId: text,
  /** `inline` where the content came with the call, `smtp` where the mail came by SMTP. */
  templateId: text,
  templateName: text,
  /** The template's draft revision, which never changes its content; 0 where there is none. */
  templateRevision: Type.Integer(),
  /** The published number of that revision; null: a draft was sent, or there is no template. */
  templateVersion: nullable(Type.Integer()),
  /** The blocks of the template, and those that they include; absent: none. */
  blocks: optional(Type.Array(StoredBlock)),
  priority: storedPriority,
  tags: Type.Array(text),
  /** The role of each recipient, in the order of the sealed `recipients`. */
  roles: Type.Array(storedRole),
  attachmentCount: Type.Integer(),
  /**
   * Bytes of its stored attachments: `lasting` as long as the email, `temporary` until `temporaryUntil` at most. Absent
   * if it has none.
   */
  attachmentBytes: optional(Type.Object({ lasting: Type.Integer(), temporary: Type.Integer(), temporaryUntil: text })),
  /** The number of documents generated for it, by format; absent: none. */
  generated: optional(Type.Object({ pdf: Type.Integer(), excel: Type.Integer() })),
  /**
   * The credits reserved for it; `reference`: the stream of this email or of its batch. Absent if the team was not
   * metered.
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
  /** The constants of the team's company at acceptance. */
  company: Type.Record(text, text),
  fingerprint: optional(Fingerprint),
  /**
   * The email is the first one that a call with several emails and an Idempotency-Key appended: its place in the call,
   * and the emails that were refused; the sealed part says why. Absent: it is the first of its call and none was
   * refused, or it has no such call.
   */
  call: optional(
    Type.Object({ index: Type.Integer(), refused: Type.Array(Type.Object({ index: Type.Integer(), code: text })) }),
  ),
  /** The bulk send, and the place of the email in it; absent: the email was sent by itself. */
  batch: optional(Type.Object({ id: text, index: Type.Integer() })),
  /** When its bulk send was called, if that was before `at`: it counts from then on. Absent: it counts from `at` on. */
  calledAt: optional(text),
  /**
   * The list that recipients can unsubscribe from, as the template named it; each recipient then gets a separate copy.
   */
  unsubscribeList: optional(text),
  /** The provider of each recipient whose domain is one of a list; null: another domain. Absent: all have others. */
  domains: optional(Type.Array(nullable(text))),
  /** The verified domain of the team that the sender's address belongs to; absent: none. */
  senderDomain: optional(text),
  /** The URL to which unsubscribe links lead; absent: the public URL of the service, or there are none. */
  linksUrl: optional(text),
  /** The expected wait at acceptance, if longer than usual; stored so that a repeated call gets the same answer. */
  expectedWaitMs: optional(Type.Integer()),
  /** The tracking setting, and the public URL that its links lead to; absent: nothing is recorded of readers. */
  tracking: optional(Type.Object({ ...StoredTracking.properties, url: text })),
  /**
   * Sent with a test key, and not delivered; or a test of a template, which `delivers`. It costs nothing and is not
   * counted. Absent from all others.
   */
  test: optional(Type.Literal(true)),
  delivers: optional(Type.Literal(true)),
  /** The email that it is a copy of; absent: none. */
  resentFrom: optional(text),
  /** A person approved it: which approval that was, who asked for it and who approved, as actors. Absent: none was asked. */
  approval: optional(Type.Object({ id: text, askedBy: text, approvedBy: text })),
  /**
   * A mail of the service with a secret such as a login link: its content is shown to nobody but its recipients; it
   * costs nothing and is not counted. Absent from all others.
   */
  confidential: optional(Type.Literal(true)),
  /**
   * Values that the mail lost at acceptance: the path of the variable, the field of the template that uses it, and the
   * type and rough form of the value, without the value itself. Absent: none.
   */
  losses: optional(Type.Array(Type.Object({ kind: storedLossKind, path: text, field: text, shape: text }))),
};

/**
 * `also`: where else the call names the address, as it is written there; `place`: the place in the field. `written`: as
 * the fields To and Cc of a mail that came by SMTP write it.
 */
const Addressed = Type.Object({
  ...StoredRecipient.properties,
  written: optional(Type.Array(text)),
  also: optional(Type.Array(Type.Object({ role: storedRole, place: Type.Integer(), ...StoredRecipient.properties }))),
});

const envelope = {
  from: StoredRecipient,
  /** One for each role of `roles`; null once the key of that recipient is destroyed. */
  recipients: Type.Array(nullable(Addressed)),
  replyTo: optional(StoredReplyTo),
  /** As rendered at acceptance. */
  subject: text,
  /** Absent from the envelope of older events, which have it in the rest of the sealed part. */
  metadata: optional(Type.Record(text, Type.Unknown())),
};
/**
 * The fields that lists and searches need. They are stored first and encrypted apart, so that the rest need not be
 * read.
 */
const Envelope = Type.Object(envelope);
export type EmailEnvelope = Static<typeof Envelope>;

const Content = Type.Object({
  ...envelope,
  /** The subject of the call, with its `{{…}}`; absent: the template's own is rendered. */
  subjectOverride: optional(text),
  /** The content that came with the call; its subject is `subjectOverride`. Absent: a template is rendered. */
  inline: optional(StoredInline),
  /** The message that came by SMTP. Absent: the mail is composed. */
  message: optional(StoredMessage),
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
      /** An image of the asset gallery that the template shows, not an attachment of the call. */
      ofTemplate: optional(Type.Literal(true)),
      /** The body of a mail that came by SMTP, where it is large. */
      ofMessage: optional(Type.Literal(true)),
      /** SHA-256 of the sealed bytes in the files port; their context is `attachment:<index>`. */
      file: text,
    }),
  ),
  /** The language of the call; absent: that of the template. */
  locale: optional(text),
  timeZone: optional(text),
  /** Optional documents that could not be generated; absent: none. */
  omitted: optional(Type.Array(Type.Object({ name: text, reason: text }))),
  /** Characters that no font has, by document; the document shows their numbers instead. Absent: none. */
  replaced: optional(Type.Array(Type.Object({ name: text, characters: Type.Array(text) }))),
  /** Why the emails of `call.refused` were refused, in that order. */
  refusals: optional(
    Type.Array(
      Type.Object({
        message: text,
        errors: optional(Type.Array(Type.Object({ field: text, message: text }))),
        relatedInfo: optional(
          Type.Record(text, Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
        ),
        retryAfter: optional(Type.Number()),
      }),
    ),
  ),
});
export type EmailContent = Static<typeof Content>;
export type AddressedRecipient = Static<typeof Addressed>;
export type AttachmentBytes = NonNullable<Static<typeof accepted.attachmentBytes>>;

/** The name of the relay of an attempt; absent: the one relay that is set by its URL alone, or none. */
const relay = optional(text);

const outcome = {
  attempt: Type.Integer(),
  at: text,
  host: text,
  relay,
  durationMs: Type.Number(),
  /** For each attempted recipient its place in `roles` and the result. */
  outcomes: Type.Array(
    Type.Object({
      recipient: Type.Integer(),
      result: oneOf(['accepted', 'deferred', 'bounced', 'refused', 'blocked'] as const),
      replyCode: nullable(Type.Integer()),
      enhancedCode: nullable(text),
      rule: text,
      /** Made up by the simulator: no host was asked. Absent otherwise. */
      simulated: optional(Type.Literal(true)),
    }),
  ),
};
/** The replies in words, in the order of `outcomes`; null once the key of that recipient is destroyed. */
const Replies = Type.Object({ replies: Type.Array(nullable(text)) });

/**
 * A recipient, by the place in `roles`, opened the mail or followed a link. `times`: requests since the event before
 * for the same pixel or link, if more than one. `rule`: the rule by which a machine did it; absent: a person.
 */
const engagement = {
  at: text,
  recipient: Type.Integer(),
  times: optional(Type.Integer()),
  machine: Type.Boolean(),
  rule: optional(text),
};
/** The client of the request. */
const visitor = { userAgent: nullable(text), ipAddress: nullable(text) };

const content = {
  field: 'recipients',
  placesOf: ({ roles }: Readonly<{ roles: readonly unknown[] }>) => roles.map((_, place) => place),
};

/** HMAC of a provider's id of the event that said so; absent for reports that came otherwise. */
const toldBy = { toldBy: optional(text) };

type Outcomes = Readonly<{ outcomes: Static<typeof outcome.outcomes> }>;

const replies = { field: 'replies', placesOf: ({ outcomes }: Outcomes) => outcomes.map(({ recipient }) => recipient) };

const visit = { placesOf: ({ recipient }: Readonly<{ recipient: number }>) => [recipient] };

const each = (kind: WebhookKind, recipients: readonly number[]): readonly Notice[] =>
  recipients.map((recipient) => ({ kind, recipient }));

/**
 * One notice for each recipient of an attempt. `deferred`: a deferred recipient is tried again only if the whole email
 * is.
 */
const noticesOf = ({ outcomes }: Outcomes, deferred: WebhookKind = 'email.failed'): readonly Notice[] =>
  outcomes.map(({ recipient, result }): Notice => {
    switch (result) {
      case 'accepted':
        return { kind: 'email.sent', recipient };
      case 'bounced':
        return { kind: 'email.bounced', recipient };
      case 'refused':
      case 'blocked':
        return { kind: 'email.failed', recipient };
      case 'deferred':
        return { kind: deferred, recipient };
    }
  });

export const emailEvents = {
  EmailQueued: {
    data: Type.Object({ ...accepted, at: text }),
    sealed: Content,
    envelope: Envelope,
    perRecipient: content,
    webhooks: 'email.queued',
  },
  EmailScheduled: {
    data: Type.Object({ ...accepted, at: text, scheduledAt: text }),
    sealed: Content,
    envelope: Envelope,
    perRecipient: content,
    webhooks: 'email.scheduled',
  },
  /**
   * `subject`: rendered for the new time, because it may show dates. `temporaryUntil`: the new one of
   * `attachmentBytes`, if it has temporary bytes.
   */
  EmailRescheduled: {
    data: Type.Object({ at: text, scheduledAt: text, temporaryUntil: optional(text) }),
    sealed: Type.Object({ subject: text }),
    webhooks: 'email.scheduled',
  },
  /** A release or a retry repeats the priority, so that queueing it needs no earlier event. */
  EmailReleased: {
    data: Type.Object({
      at: text,
      priority: storedPriority,
      /**
       * Present if the email was pushed by hand: its original time, from which the schedule goes on if the attempt is
       * deferred again.
       */
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
      /** After this moment the dialogue has certainly ended. */
      deadlineAt: text,
      relay,
      /** The relays before it in the order of this mail, each with the rule by which it got no attempt; absent: none. */
      passedRelays: optional(
        Type.Array(Type.Object({ relay: text, rule: text, replyCode: optional(nullable(Type.Integer())) })),
      ),
    }),
  },
  /**
   * In an attempt that sends one copy to each recipient: a final answer, while other copies are still to be sent. The
   * event that ends the attempt repeats it.
   */
  CopyAnswered: { data: Type.Object(outcome), sealed: Replies, perRecipient: replies },
  EmailSent: { data: Type.Object(outcome), sealed: Replies, perRecipient: replies, webhooks: noticesOf },
  /**
   * `heldUntil`: the host took no session, so the mail waits without using an attempt, and fails at that moment.
   * `attempt` is then the one that found the host unavailable, or 0 if none was begun. `failedOver`: the relay failed
   * before it got any of the content, so another relay is tried at once, and the schedule of attempts is not used.
   * `mayHaveIt`: the relay got some of the content and answered nothing for it, so later attempts stay with that relay.
   */
  EmailDeferred: event({
    data: Type.Object({
      ...outcome,
      nextAttemptAt: text,
      heldUntil: optional(text),
      failedOver: optional(Type.Literal(true)),
      mayHaveIt: optional(Type.Literal(true)),
    }),
    sealed: Replies,
    perRecipient: replies,
    // After a failover the next attempt follows at once, so only final answers are told.
    webhooks: ({ outcomes, failedOver }) =>
      noticesOf(
        { outcomes: failedOver === true ? outcomes.filter(({ result }) => result !== 'deferred') : outcomes },
        'email.deferred',
      ),
  }),
  EmailBounced: {
    data: Type.Object({ ...outcome, bounceType: oneOf(['hard', 'soft'] as const) }),
    sealed: Replies,
    perRecipient: replies,
    webhooks: noticesOf,
  },
  EmailFailed: {
    data: Type.Object({
      ...outcome,
      reason: oneOf(['refused', 'blocked', 'attempts-spent', 'rendering', 'content-lost'] as const),
    }),
    sealed: Replies,
    perRecipient: replies,
    webhooks: noticesOf,
  },
  EmailDelivered: event({
    data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()), ...toldBy }),
    webhooks: ({ recipients }) => each('email.delivered', recipients),
  }),
  /** A host that took the mail reported later that it could not deliver it. `replies` are in the order of `bounces`. */
  EmailBounceReported: event({
    data: Type.Object({
      at: text,
      bounces: Type.Array(
        Type.Object({
          recipient: Type.Integer(),
          bounceType: oneOf(['hard', 'soft', 'blocked'] as const),
          bounceSubType: text,
          enhancedCode: nullable(text),
        }),
      ),
      ...toldBy,
    }),
    sealed: Replies,
    perRecipient: { field: 'replies', placesOf: ({ bounces }) => bounces.map(({ recipient }) => recipient) },
    webhooks: ({ bounces }) => bounces.map(({ recipient }) => ({ kind: 'email.bounced', recipient })),
  }),
  /**
   * `recipients` is empty if the complaint does not tell which of several recipients complained. `simulated`: as in
   * outcomes.
   */
  EmailComplained: event({
    data: Type.Object({
      at: text,
      feedbackType: text,
      recipients: Type.Array(Type.Integer()),
      simulated: optional(Type.Literal(true)),
      ...toldBy,
    }),
    /** A complaint that does not name its recipient is about the whole email. */ webhooks: ({ recipients }) =>
      recipients.length === 0 ? [{ kind: 'email.complained' }] : each('email.complained', recipients),
  }),
  /**
   * A provider told something of this email that the service does not understand. `payloads`: the event as JSON, for the
   * recipient in `recipients`; if the event names no recipient of the email, `recipients` is empty and `payload` has it.
   */
  ProviderEventKept: event({
    data: Type.Object({ at: text, provider: text, toldBy: text, recipients: Type.Array(Type.Integer()) }),
    sealed: Type.Object({ payloads: Type.Array(nullable(text)), payload: optional(text) }),
    perRecipient: { field: 'payloads', placesOf: ({ recipients }) => recipients },
  }),
  EmailRetried: {
    data: Type.Object({
      at: text,
      retryCount: Type.Integer(),
      priority: storedPriority,
      idempotencyKey: optional(text),
      fingerprint: optional(Fingerprint),
    }),
    webhooks: 'email.queued',
  },
  EmailCancelled: {
    data: Type.Object({ at: text, idempotencyKey: optional(text), fingerprint: optional(Fingerprint) }),
    webhooks: 'email.cancelled',
  },
  /**
   * These recipients, by their place in `roles`, are on the suppression list: none was or will be attempted. The
   * priority is repeated.
   */
  RecipientsSuppressed: event({
    data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()), priority: storedPriority }),
    webhooks: ({ recipients }) => each('email.suppressed', recipients),
  }),
  /** The addresses of these recipients, who hard-bounced or complained, were put on the suppression list. */
  EmailBouncesNoted: { data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()) }) },
  /**
   * The personal data of these recipients, by their place in `roles`, is destroyed; the email goes on for the others.
   * The priority is repeated.
   */
  RecipientsErased: {
    data: Type.Object({ at: text, recipients: Type.Array(Type.Integer()), priority: storedPriority }),
  },
  EmailOpened: event({
    data: Type.Object(engagement),
    sealed: Type.Object(visitor),
    perRecipient: visit,
    webhooks: ({ recipient }) => [{ kind: 'email.opened', recipient }],
  }),
  /** `link`: its place among the tracked links of the mail. */
  EmailClicked: event({
    data: Type.Object({ ...engagement, link: Type.Integer() }),
    sealed: Type.Object({ ...visitor, url: text }),
    perRecipient: visit,
    webhooks: ({ recipient }) => [{ kind: 'email.clicked', recipient }],
  }),
  EmailDeleted: { data: Type.Object({ at: text }), erases: true },
  EmailArchived: { data: Type.Object({ at: text }), erases: true },
  /** The record is no longer kept: nothing shows the email any more, as if it were deleted. */
  EmailRemoved: { data: Type.Object({ at: text }) },
} as const satisfies EventDefinitions;

export const relayEvents = {
  /**
   * A process took `count` of the mails that the relay may get on that day (UTC) of its ramp-up; what the process does
   * not use lapses with the day.
   */
  RelayDayTaken: { data: Type.Object({ at: text, day: text, count: Type.Integer() }) },
} as const satisfies EventDefinitions;

export type EmailEvent = EventsOf<typeof emailEvents>;
export type RelayEvent = EventsOf<typeof relayEvents>;
export type EmailAccepted = Extract<EmailEvent, { type: 'EmailQueued' | 'EmailScheduled' }>;
export type EmailEngaged = Extract<EmailEvent, { type: 'EmailOpened' | 'EmailClicked' }>;
export type DeliveryOutcomeEvent = Extract<
  EmailEvent,
  { type: 'EmailSent' | 'EmailDeferred' | 'EmailBounced' | 'EmailFailed' }
>;

/** The events of each kind of stream. */
export const emailStreams = { email: emailEvents, relay: relayEvents } as const;
