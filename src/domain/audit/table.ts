/** What every type of event is to an auditor: a new type does not compile until it is said here. */
import type { EventType } from '../events.js';
import { not, type AuditCategory, type AuditTable, type AuditTarget } from './line.js';
import { auditedPeople } from './people.js';
import { auditedWork } from './work.js';

const domain = ({ id }: Readonly<{ id: string }>): AuditTarget => ({ type: 'domain', id });

/** In: `email:…`. */
export const targetOf = (text: string | null): AuditTarget | null => {
  const at = text?.indexOf(':') ?? -1;
  return text === null || at < 0 ? null : { type: text.slice(0, at), id: text.slice(at + 1) };
};

/** Refusals of who signs in, or has signed in. */
const OF_SIGNING_IN: ReadonlySet<string> = new Set([
  'INVALID_CREDENTIALS',
  'INVALID_CODE',
  'ADDRESS_NOT_VERIFIED',
  'SESSION_ENDED',
  'SECOND_FACTOR_REQUIRED',
]);

const categoryOfRefusal = (code: string | null): AuditCategory =>
  code !== null && OF_SIGNING_IN.has(code) ? 'authentication' : 'data_access';

export const auditTable: AuditTable<EventType> = {
  ...auditedPeople,
  ...auditedWork,

  AssetUploaded: { category: 'settings', action: 'asset.uploaded' },
  AssetTrashed: { category: 'settings', action: 'asset.deleted' },
  AssetRestored: { category: 'settings', action: 'asset.restored' },
  AssetDeleted: { category: 'settings', action: 'asset.removed', ofCallers: true },

  SenderDomainAdded: { category: 'settings', action: 'domain.added', target: domain },
  SenderDomainsChecked: not('the service looks records up by itself'),
  SenderDomainVerified: { category: 'settings', action: 'domain.verified', target: domain },
  SenderDomainUnverified: { category: 'settings', action: 'domain.unverified', target: domain },
  SenderDomainKeysAdded: { category: 'settings', action: 'domain.keys_rotated', target: domain, ofCallers: true },
  SenderDomainKeysChanged: not('it follows the rotation, which is listed'),
  SenderDomainKeysRetired: not('it follows the rotation, which is listed'),
  SenderDomainDeleted: { category: 'settings', action: 'domain.removed', target: domain, ofCallers: true },
  SenderDomainTrashed: { category: 'settings', action: 'domain.deleted', target: domain },
  SenderDomainRestored: { category: 'settings', action: 'domain.restored', target: domain },
  DomainKeysMade: not('the domain that it belongs to is listed'),
  DomainKeysDestroyed: not('the domain that it belongs to is listed'),

  AddressSuppressed: { category: 'settings', action: 'suppression.added', ofCallers: true },
  SuppressionRemoved: { category: 'settings', action: 'suppression.removed', ofCallers: true },
  SuppressedAddressErased: not('the erasure that it belongs to is listed'),
  ErasureRequested: { category: 'data_access', action: 'recipient.erasure_asked' },
  ErasureFound: not('it is work on the erasure, which is listed'),
  ErasureWaits: not('it is work on the erasure, which is listed'),
  ErasureCompleted: { category: 'data_access', action: 'recipient.erased' },

  StreamRetired: not('what it takes the place of is over'),
  ContentRead: { category: 'data_access', action: ({ action }) => action, target: ({ target }) => targetOf(target) },
  CallDenied: {
    category: ({ code }) => categoryOfRefusal(code),
    action: 'call.denied',
    target: ({ target }) => targetOf(target),
    detail: ({ endpoint }) => endpoint,
    code: ({ code }) => code,
  },
  CallsCounted: {
    category: ({ code }) => categoryOfRefusal(code),
    action: ({ what, action }) => (what === 'denied' ? 'calls.denied' : action),
    target: () => null,
    detail: ({ what, action }) => (what === 'denied' ? action : null),
    code: ({ code }) => code,
    count: ({ count }) => count,
  },
  AuditLogExported: { category: 'data_access', action: 'audit_log.exported', target: () => null, detail: ({ root }) => root },
  CallOriginSeen: not('it says from where a call came that is listed'),
  CallOriginsForgotten: not('the service forgets by itself what is over'),
  AuditEntriesForgotten: not('the service forgets by itself what is over'),
};
