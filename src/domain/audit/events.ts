/** The facts of the audit log that are no facts of anything else: who was refused, who read, and from where calls came. */
import { Type } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text, type EventsOf } from '../core/stored.js';

/** Audit entries of one team or one person in one month. `target`: kind and id, as `email:…`. */
export const auditEventSchemas = {
  /** A person read something of what mails say, or took it away. */
  ContentRead: { data: Type.Object({ at: text, action: text, target: nullable(text) }) },
  /** A person was refused. `endpoint`: method and pattern. */
  CallDenied: { data: Type.Object({ at: text, endpoint: text, code: text, target: nullable(text) }) },
  /** What a key or an app did within one minute, or a person again; `code`: of refusals. */
  CallsCounted: {
    data: Type.Object({
      at: text,
      minute: text,
      what: oneOf(['read', 'denied']),
      action: text,
      code: nullable(text),
      count: Type.Integer(),
    }),
  },
  /** `root`: the last link of the chain over all lines. `upTo`: the position of the log at which it ends. */
  AuditLogExported: {
    data: Type.Object({
      at: text,
      format: oneOf(['jsonl', 'csv']),
      from: nullable(text),
      to: nullable(text),
      upTo: Type.Integer(),
      entries: Type.Integer(),
      root: text,
    }),
  },
} as const;

/** The networks and agents from which one person, or the keys of one team, called in one month. */
export const auditOriginEventSchemas = {
  /** Events name it by the revision at which it stands. */
  CallOriginSeen: { data: Type.Object({ at: text }), sealed: Type.Object({ ipAddress: text, userAgent: text }) },
  /** Their time is over, or the person is erased: the key is destroyed right after. */
  CallOriginsForgotten: { data: Type.Object({ at: text }) },
} as const;

export const auditRetentionEventSchemas = {
  /** What is listed of those events is over: nobody finds it any more. */
  AuditEntriesForgotten: { data: Type.Object({ at: text, ids: Type.Array(text) }) },
} as const;

export type AuditEvent = EventsOf<typeof auditEventSchemas>;
export type AuditOriginEvent = EventsOf<typeof auditOriginEventSchemas>;
export type AuditRetentionEvent = EventsOf<typeof auditRetentionEventSchemas>;
