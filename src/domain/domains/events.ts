/**
 * Events of the sender domains of one team, and of the keys of one domain. Private keys are encrypted with the key of
 * their stream.
 */
import { Type, type Static } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { event, type AuditTarget, type EventDefinitions, type EventsOf } from '../core/event.js';

/** `publicKey`: as the tag `p` of its DNS record has it (RFC 6376, RFC 8463). */
const StoredKey = Type.Object({ selector: text, algorithm: oneOf(['rsa', 'ed25519'] as const), publicKey: text });

/** Private keys in PEM form (PKCS #8). */
const PrivateKeys = Type.Object({ privateKeys: Type.Array(Type.Object({ selector: text, privateKey: text })) });

/** The result of a look-up of one record. `unknown`: no server answered, or none could tell. */
const storedFound = oneOf(['right', 'missing', 'wrong', 'unknown'] as const);

const id = (data: Readonly<{ id: string }>): string => data.id;
const domain = (data: Readonly<{ id: string }>): AuditTarget => ({ type: 'domain', id: data.id });

export const senderDomainEvents = {
  SenderDomainAdded: {
    data: Type.Object({ at: text, id: text, domain: text, keys: Type.Array(StoredKey), nextCheckAt: text }),
    sealed: PrivateKeys,
    audit: { category: 'settings', action: 'domain.added', target: domain },
    activity: { kind: 'sender-domain.added', id },
  },
  /** The records of some of the domains were looked up. */
  SenderDomainsChecked: {
    data: Type.Object({
      at: text,
      checks: Type.Array(
        Type.Object({
          id: text,
          dkim: Type.Array(Type.Object({ selector: text, found: storedFound })),
          spf: storedFound,
          dmarc: storedFound,
          returnPath: Type.Optional(Type.Object({ mx: storedFound, spf: storedFound })),
          /** `name`: the tracking domain that was looked up; absent if the domain has none. */
          tracking: Type.Optional(Type.Object({ name: text, found: storedFound })),
          nextCheckAt: text,
        }),
      ),
    }),
  },
  SenderDomainVerified: {
    data: Type.Object({ at: text, id: text }),
    audit: { category: 'settings', action: 'domain.verified', target: domain },
    activity: { kind: 'sender-domain.verified', id },
  },
  /** Its records were missing or wrong on several days, or another team is its owner. */
  SenderDomainUnverified: {
    data: Type.Object({ at: text, id: text }),
    audit: { category: 'settings', action: 'domain.unverified', target: domain },
    activity: { kind: 'sender-domain.unverified', id },
  },
  /** New keys were made; the earlier ones sign until the records of the new ones are seen. */
  SenderDomainKeysAdded: {
    data: Type.Object({ at: text, id: text, keys: Type.Array(StoredKey) }),
    sealed: PrivateKeys,
    audit: { category: 'settings', action: 'domain.keys_rotated', target: domain, ofCallers: true },
    activity: { kind: 'sender-domain.keys-rotated', id },
  },
  /** The new keys sign from now on. The records of the earlier ones are needed until `retireAt`. */
  SenderDomainKeysChanged: { data: Type.Object({ at: text, id: text, retireAt: text }) },
  /** The domain of the links in its mails; null: links lead to the public URL of the service. */
  SenderDomainTrackingSet: {
    data: Type.Object({ at: text, id: text, trackingDomain: nullable(text) }),
    audit: { category: 'settings', action: 'domain.tracking_set', target: domain },
  },
  SenderDomainKeysRetired: { data: Type.Object({ at: text, id: text }) },
  /**
   * The share of bounces or complaints of a domain on a day has crossed its bound; `isAbove` is false once it has fallen
   * to half of it. `hits` of `recipients`; `bound` in per mille.
   */
  DomainRateCrossed: event({
    data: Type.Object({
      at: text,
      day: text,
      side: oneOf(['recipient', 'sender'] as const),
      domain: text,
      measure: oneOf(['bounce', 'complaint'] as const),
      isAbove: Type.Boolean(),
      recipients: Type.Integer(),
      hits: Type.Integer(),
      bound: Type.Integer(),
    }),
    webhooks: ({ isAbove }) => (isAbove ? [{ kind: 'domain.alerted' }] : []),
  }),
  /** The domain signs no mail any more, and can be restored for some days. */
  SenderDomainTrashed: {
    data: Type.Object({ at: text, id: text }),
    audit: { category: 'settings', action: 'domain.deleted', target: domain },
    activity: { kind: 'sender-domain.deleted', id },
  },
  /** Its records are looked up at once, because they may be gone. */
  SenderDomainRestored: {
    data: Type.Object({ at: text, id: text }),
    audit: { category: 'settings', action: 'domain.restored', target: domain },
    activity: { kind: 'sender-domain.restored', id },
  },
  /** The domain is deleted for good. */
  SenderDomainDeleted: {
    data: Type.Object({ at: text, id: text }),
    audit: { category: 'settings', action: 'domain.removed', target: domain, ofCallers: true },
  },
} as const satisfies EventDefinitions;

/**
 * Private keys of one domain, in a stream of its own so that they can be destroyed with it. Those of older domains
 * stand in the team's stream.
 */
export const domainKeysEvents = {
  DomainKeysMade: { data: Type.Object({ at: text, selectors: Type.Array(text) }), sealed: PrivateKeys },
  /** The keys sign no more emails; the key that encrypts them is destroyed right after. */
  DomainKeysDestroyed: { data: Type.Object({ at: text }), erases: true },
} as const satisfies EventDefinitions;

/**
 * The teams that have verified a domain, in one stream for all names with the same last two labels. `name`: an HMAC of
 * the domain.
 */
export const domainClaimsEvents = {
  DomainClaimed: { data: Type.Object({ at: text, name: text, teamId: text, id: text }) },
} as const satisfies EventDefinitions;

export type DomainClaimsEvent = EventsOf<typeof domainClaimsEvents>;
export type DomainKeysEvent = EventsOf<typeof domainKeysEvents>;
export type SenderDomainEvent = EventsOf<typeof senderDomainEvents>;
export type PublicKey = Static<typeof StoredKey>;
export type PrivateKeys = Static<typeof PrivateKeys>['privateKeys'];
export type Found = Static<typeof storedFound>;
export type Check = Extract<SenderDomainEvent, { type: 'SenderDomainsChecked' }>['data']['checks'][number];

/** The events of each kind of stream. */
export const domainStreams = {
  senderDomains: senderDomainEvents,
  domainKeys: domainKeysEvents,
  domainClaims: domainClaimsEvents,
} as const;
