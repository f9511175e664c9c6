/** What one type of event is to an auditor: a line of the table, or the reason why it is none. */
import type { DomainEvent, EventType } from '../events.js';

export const auditCategories = ['authentication', 'api_keys', 'team', 'data_access', 'oauth', 'settings'] as const;
export type AuditCategory = (typeof auditCategories)[number];

/** On what it was done: `email:…`, `apiKey:…`. */
export type AuditTarget = Readonly<{ type: string; id: string }>;

type EventOf<Name extends EventType> = Extract<DomainEvent, { type: Name }>;
type DataOf<Name extends EventType> = EventOf<Name>['data'];

/**
 * `target`: of the data and the id of the stream; default: the thing of the stream. `detail`: what is said beside, in one text.
 * `ofCallers`: only where somebody called; what the service does by itself is not listed.
 */
export type AuditLine<Name extends EventType> = Readonly<{
  category: AuditCategory | ((data: DataOf<Name>) => AuditCategory);
  action: string | ((data: DataOf<Name>) => string);
  target?: (data: DataOf<Name>, streamId: string) => AuditTarget | null;
  detail?: (data: DataOf<Name>) => string | null;
  /** The code with which it was refused; what is not refused succeeded. */
  code?: (data: DataOf<Name>) => string | null;
  /** How often; default: once. */
  count?: (data: DataOf<Name>) => number;
  ofCallers?: true;
}>;

/** Why events of a type are not listed. */
export type NotAudited = Readonly<{ not: string }>;

export type AuditTable<Names extends EventType> = { readonly [Name in Names]: AuditLine<Name> | NotAudited };

export const not = (reason: string): NotAudited => ({ not: reason });
