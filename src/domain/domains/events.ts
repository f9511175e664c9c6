/** The facts of the sender domains of one team. Public keys are data; each private key is sealed under the key of the stream. */
import { Type, type Static } from '@sinclair/typebox';
import { oneOf } from '../core/schema.js';
import { retirementEventSchemas, text, type EventsOf } from '../core/stored.js';

/** `publicKey`: as the tag `p` of its DNS record has it (RFC 6376, RFC 8463). */
const StoredKey = Type.Object({ selector: text, algorithm: oneOf(['rsa', 'ed25519'] as const), publicKey: text });

/** Private keys in PEM form (PKCS #8). */
const PrivateKeys = Type.Object({ privateKeys: Type.Array(Type.Object({ selector: text, privateKey: text })) });

/** What a look-up found for a record. `unknown`: no server answered, or none that could. */
const storedFound = oneOf(['right', 'missing', 'wrong', 'unknown'] as const);

export const senderDomainEventSchemas = {
  SenderDomainAdded: {
    data: Type.Object({ at: text, id: text, domain: text, keys: Type.Array(StoredKey), nextCheckAt: text }),
    sealed: PrivateKeys,
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
          nextCheckAt: text,
        }),
      ),
    }),
  },
  SenderDomainVerified: { data: Type.Object({ at: text, id: text }) },
  /** Its records were missing or wrong on several days. */
  SenderDomainUnverified: { data: Type.Object({ at: text, id: text }) },
  /** New keys are there; those before sign until the records of the new ones are seen. */
  SenderDomainKeysAdded: { data: Type.Object({ at: text, id: text, keys: Type.Array(StoredKey) }), sealed: PrivateKeys },
  /** The new keys sign from now on. The records of those before are still needed until `retireAt`. */
  SenderDomainKeysChanged: { data: Type.Object({ at: text, id: text, retireAt: text }) },
  SenderDomainKeysRetired: { data: Type.Object({ at: text, id: text }) },
  /** It signs no mail any more, and for some days it can be taken back. */
  SenderDomainTrashed: { data: Type.Object({ at: text, id: text }) },
  /** Its records are to be looked up at once: they may be gone. */
  SenderDomainRestored: { data: Type.Object({ at: text, id: text }) },
  /** Gone for good. */
  SenderDomainDeleted: { data: Type.Object({ at: text, id: text }) },
  ...retirementEventSchemas,
} as const;

/** The private keys of one domain alone, so that they can be destroyed with it. Of older domains they stand in the stream of the team. */
export const domainKeysEventSchemas = {
  DomainKeysMade: { data: Type.Object({ at: text, selectors: Type.Array(text) }), sealed: PrivateKeys },
  /** Nothing is signed with them any more; the key that seals them is destroyed right after. */
  DomainKeysDestroyed: { data: Type.Object({ at: text }) },
} as const;

export type DomainKeysEvent = EventsOf<typeof domainKeysEventSchemas>;
export type SenderDomainEvent = EventsOf<typeof senderDomainEventSchemas>;
export type PublicKey = Static<typeof StoredKey>;
export type PrivateKeys = Static<typeof PrivateKeys>['privateKeys'];
export type Found = Static<typeof storedFound>;
export type Check = Extract<SenderDomainEvent, { type: 'SenderDomainsChecked' }>['data']['checks'][number];
