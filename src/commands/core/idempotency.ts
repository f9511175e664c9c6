/** A request under an Idempotency-Key, and its answer. */
import { DomainError } from '../../domain/core/errors.js';
import type { Keys } from '../../domain/ports/keys.js';
import { canonicalJson } from '../../shared/text.js';

/**
 * `body` is the request body as parsed; it is fingerprinted to tell the same request from another under one key. `canonical`: its
 * canonical form, where that was made before.
 */
export type Idempotency = Readonly<{ key: string; body: unknown; canonical?: string | Uint8Array }>;

/** `replayed`: the answer is the stored one. */
export type Answer<T> = Readonly<{ body: T; replayed: boolean }>;

const PURPOSE = 'idempotency';

/** The fingerprint of a body: of its canonical form, so that order of members, white space and escapes do not matter. */
export const fingerprintOf = (keys: Pick<Keys, 'fingerprint'>, { body, canonical }: Idempotency): string =>
  keys.fingerprint(PURPOSE, canonical ?? canonicalJson(body ?? null));

/** Whether a stored fingerprint is that of this body. An event may hold the one of the members in the order in which they came. */
export const isSameBody = (keys: Pick<Keys, 'fingerprint'>, stored: string | undefined, idempotency: Idempotency): boolean =>
  stored !== undefined &&
  (stored === fingerprintOf(keys, idempotency) || stored === keys.fingerprint(PURPOSE, JSON.stringify(idempotency.body ?? null)));

export const keyReused = (): DomainError =>
  new DomainError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another body. Repeat that body, or take a new key.');

/** What was made under it is gone, and nobody knows any more with which body. */
export const keyRetired = (): DomainError =>
  new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used years ago, for something whose record is removed. Take a new key.',
  );
