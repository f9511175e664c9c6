/** Sender domains as tests have them: keys by name, and what a look-up of their records found. */
import type { Found, PublicKey } from '../../src/domain/domains/events.js';
import type { LookedUp } from '../../src/domain/domains/decider.js';
import type { TxtLookup } from '../../src/domain/ports/dns.js';
import type { DomainRecord } from '../../src/api/domains.js';

export const DOMAIN_ID = '0198f000-0000-7000-8000-0000000000d1';

export const keysNamed = (name: string): PublicKey[] => [
  { selector: `${name}-rsa`, algorithm: 'rsa', publicKey: `${name}+rsa=` },
  { selector: `${name}-ed25519`, algorithm: 'ed25519', publicKey: `${name}+ed25519=` },
];

export const privateKeysOf = (keys: readonly PublicKey[]) =>
  keys.map(({ selector }) => ({ selector, privateKey: `private ${selector}` }));

/** The look-up with one result for both keys of each name. */
export const lookedUp = (found: Readonly<Record<string, Found>>, id = DOMAIN_ID): LookedUp => ({
  id,
  dkim: Object.entries(found).flatMap(([name, one]) =>
    keysNamed(name).map(({ selector }) => ({ selector, found: one })),
  ),
  spf: 'right',
  dmarc: 'missing',
});

/** Sets the records that the API shows, or only those of keys with that use. */
export const publish = (dns: Map<string, TxtLookup>, { records }: DomainRecord, use?: string): void => {
  for (const { name, value, key } of records)
    if (use === undefined || key?.use === use) dns.set(name, { kind: 'found', texts: [value] });
};
