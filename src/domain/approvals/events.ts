/**
 * Events of one approval: a send that a program asked for and a person decides on. `sealed` is the proposed email,
 * encrypted with a key of the approval alone.
 */
import { Type, type Static } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { StoredBlock, StoredRecipient, StoredTracking, text } from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

const count = Type.Integer();
const optional = Type.Optional;

/** One revision of an attachment template, and its place among the attachments of the request. */
const StoredDocument = Type.Object({
  place: count,
  templateId: text,
  templateName: text,
  templateRevision: count,
  blocks: optional(Type.Array(StoredBlock)),
});

/** The part of the proposed email that lists show. */
const Envelope = Type.Object({
  from: StoredRecipient,
  recipients: Type.Array(Type.Object({ ...StoredRecipient.properties, role: oneOf(['to', 'cc', 'bcc']) })),
  subject: text,
  attachments: Type.Array(Type.Object({ filename: text, contentType: text, sizeBytes: count })),
  warnings: Type.Array(text),
});

/** `request`: the body of the send call; files that it fetches from addresses stand in it as their bytes. */
const Proposal = Type.Object({ ...Envelope.properties, request: Type.Record(text, Type.Unknown()) });
export type Proposal = Static<typeof Proposal>;
export type ProposalEnvelope = Static<typeof Envelope>;

const decided = { at: text, askedBy: text };

export const approvalEvents = {
  /** All that the email depends on is pinned here and in the sealed part. */
  ApprovalRequested: event({
    data: Type.Object({
      at: text,
      /** The approval expires then: no person can approve it any more. */
      expiresAt: text,
      /** The actor that asks, and the name of its API key or app. */
      askedBy: text,
      askedByName: nullable(text),
      /** The person on whose behalf an app asks. */
      askedFor: optional(text),
      /** HMAC of the proposal: who approves names what was shown. */
      digest: text,
      /** HMAC of the body of the call, if it has an Idempotency-Key. */
      fingerprint: optional(text),
      /** `inline` where the content came with the call. */
      templateId: text,
      templateName: text,
      templateRevision: count,
      templateVersion: nullable(count),
      blocks: optional(Type.Array(StoredBlock)),
      unsubscribeList: optional(text),
      tracking: optional(StoredTracking),
      documents: Type.Array(StoredDocument),
      recipientCount: count,
      /** Credits of the email: 1 and its documents; zero for an email that costs nothing. */
      cost: Type.Object({ emails: count, attachments: count }),
      scheduledAt: nullable(text),
      test: optional(Type.Literal(true)),
    }),
    sealed: Proposal,
    envelope: Envelope,
    audit: { category: 'team', action: 'approval.requested', detail: ({ askedByName }) => askedByName },
  }),
  /** A person approved this proposal. The email is made after this event. */
  ApprovalApproved: event({
    data: Type.Object({ ...decided, approvedBy: text, digest: text }),
    audit: { category: 'team', action: 'approval.approved', detail: ({ askedBy }) => `asked by ${askedBy}` },
  }),
  /** The email exists. */
  ApprovalSent: { data: Type.Object({ at: text, emailId: text }) },
  /** The email was refused with that code, so there is none. */
  ApprovalFailed: { data: Type.Object({ at: text, code: text }) },
  ApprovalRejected: event({
    data: Type.Object({
      ...decided,
      rejectedBy: text,
      reason: oneOf(['recipient', 'content', 'timing', 'unwanted', 'other']),
    }),
    erases: true,
    audit: {
      category: 'team',
      action: 'approval.rejected',
      detail: ({ askedBy, reason }) => `${reason}; asked by ${askedBy}`,
    },
  }),
  /** The program that asked took it back. */
  ApprovalWithdrawn: event({
    data: Type.Object({ at: text, withdrawnBy: text }),
    erases: true,
    audit: { category: 'team', action: 'approval.withdrawn' },
  }),
  ApprovalExpired: { data: Type.Object({ at: text }), erases: true },
  /** A recipient of the proposal was erased: nobody can approve it any more. */
  ApprovalErased: { data: Type.Object({ at: text }), erases: true },
  /** The record is no longer kept: nothing shows the approval any more. */
  ApprovalRemoved: { data: Type.Object({ at: text }), erases: true },
} as const satisfies EventDefinitions;

export type ApprovalEvent = EventsOf<typeof approvalEvents>;
export type ApprovalRequested = Extract<ApprovalEvent, { type: 'ApprovalRequested' }>;

/** The events of each kind of stream. */
export const approvalStreams = { approval: approvalEvents } as const;
