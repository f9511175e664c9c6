/**
 * The facts of the audit log that are no facts of anything else: who was refused, who read, and from where calls came.
 */
import { Type } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { type AuditCategory, type AuditTarget, event, type EventDefinitions, type EventsOf } from '../core/event.js';

/** In: `email:…`. */
const targetOf = (target: string | null): AuditTarget | null => {
  const at = target?.indexOf(':') ?? -1;
  return target === null || at < 0 ? null : { type: target.slice(0, at), id: target.slice(at + 1) };
};

/** Refusals of people who sign in, or whose session is refused. */
const OF_SIGNING_IN: ReadonlySet<string> = new Set([
  'INVALID_CREDENTIALS',
  'INVALID_CODE',
  'ADDRESS_NOT_VERIFIED',
  'SESSION_ENDED',
  'SECOND_FACTOR_REQUIRED',
]);

const categoryOfRefusal = (code: string | null): AuditCategory =>
  code !== null && OF_SIGNING_IN.has(code) ? 'authentication' : 'data_access';

/** Audit entries of one team or one person in one month. `target`: kind and id, as `email:…`. */
export const auditEvents = {
  /** A person read something of what mails say, or took it away. */
  ContentRead: event({
    data: Type.Object({ at: text, action: text, target: nullable(text) }),
    audit: { category: 'data_access', action: ({ action }) => action, target: ({ target }) => targetOf(target) },
  }),
  /** A person was refused. `endpoint`: method and pattern. */
  CallDenied: event({
    data: Type.Object({ at: text, endpoint: text, code: text, target: nullable(text) }),
    audit: {
      category: ({ code }) => categoryOfRefusal(code),
      action: 'call.denied',
      target: ({ target }) => targetOf(target),
      detail: ({ endpoint }) => endpoint,
      code: ({ code }) => code,
    },
  }),
  /**
   * Calls that a key or an app made within one minute, or repeated calls of a person; `code`: the error code of refused
   * calls.
   */
  CallsCounted: event({
    data: Type.Object({
      at: text,
      minute: text,
      what: oneOf(['read', 'denied']),
      action: text,
      code: nullable(text),
      count: Type.Integer(),
    }),
    audit: {
      category: ({ code }) => categoryOfRefusal(code),
      action: ({ what, action }) => (what === 'denied' ? 'calls.denied' : action),
      target: () => null,
      detail: ({ what, action }) => (what === 'denied' ? action : null),
      code: ({ code }) => code,
      count: ({ count }) => count,
    },
  }),
  /** `root`: the last link of the chain over all lines. `upTo`: the position of the log at which it ends. */
  AuditLogExported: event({
    data: Type.Object({
      at: text,
      format: oneOf(['jsonl', 'csv']),
      from: nullable(text),
      to: nullable(text),
      upTo: Type.Integer(),
      entries: Type.Integer(),
      root: text,
    }),
    audit: { category: 'data_access', action: 'audit_log.exported', target: () => null, detail: ({ root }) => root },
  }),
} as const satisfies EventDefinitions;

/** The networks and agents from which one person, or the keys of one team, called in one month. */
export const auditOriginEvents = {
  /** Events name it by the revision at which it stands. */
  CallOriginSeen: { data: Type.Object({ at: text }), sealed: Type.Object({ ipAddress: text, userAgent: text }) },
  /** Their time is over, or the person is erased: the key is destroyed right after. */
  CallOriginsForgotten: { data: Type.Object({ at: text }), erases: true },
} as const satisfies EventDefinitions;

export const auditRetentionEvents = {
  /** The entries of those events have expired and are not listed. */
  AuditEntriesForgotten: { data: Type.Object({ at: text, ids: Type.Array(text) }) },
} as const satisfies EventDefinitions;

export type AuditEvent = EventsOf<typeof auditEvents>;
export type AuditOriginEvent = EventsOf<typeof auditOriginEvents>;
export type AuditRetentionEvent = EventsOf<typeof auditRetentionEvents>;

/** The events of each kind of stream. */
export const auditStreams = {
  audit: auditEvents,
  auditOrigins: auditOriginEvents,
  auditRetention: auditRetentionEvents,
} as const;
