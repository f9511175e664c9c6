/**
 * Idempotency-Keys: how a repeated request is recognised, and how repeated calls that run at the same time share one
 * outcome.
 */
import { DomainError } from '../../domain/core/errors.js';
import type { Keys } from '../../domain/ports/keys.js';
import { canonicalJson } from '../../shared/text.js';

/**
 * `body`: the parsed request body, whose fingerprint tells a repeated request from another request under the same key.
 * `canonical`: its canonical JSON, if that was made before.
 */
export type Idempotency = Readonly<{ key: string; body: unknown; canonical?: string | Uint8Array }>;

/** `replayed`: the answer belongs to an earlier request under the key. */
export type Answer<T> = Readonly<{ body: T; replayed: boolean }>;

const PURPOSE = 'idempotency';

/** The fingerprint of the canonical form of a body: order of members, white space and escapes do not matter. */
export const fingerprintOf = (keys: Pick<Keys, 'fingerprint'>, { body, canonical }: Idempotency): string =>
  keys.fingerprint(PURPOSE, canonical ?? canonicalJson(body ?? null));

/**
 * True if a stored fingerprint belongs to this body. Older events hold a fingerprint of the members in the order in
 * which they came.
 */
export const isSameBody = (
  keys: Pick<Keys, 'fingerprint'>,
  stored: string | undefined,
  idempotency: Idempotency,
): boolean =>
  stored !== undefined &&
  (stored === fingerprintOf(keys, idempotency) ||
    stored === keys.fingerprint(PURPOSE, JSON.stringify(idempotency.body ?? null)));

export const keyReused = (): DomainError =>
  new DomainError(
    'IDEMPOTENCY_KEY_REUSED',
    'This Idempotency-Key was used with another body. Repeat that body, or take a new key.',
  );

export type JoinedCalls<Answer> = (
  id: string,
  /** Equal for calls with the same body. */
  fingerprint: string,
  work: () => Promise<Answer>,
) => Promise<Readonly<{ answer: Answer; joined: boolean }>>;

/**
 * Joins calls of the same id that arrive while one is under way. A call with the same fingerprint gets the outcome of
 * the running call, its failure too. A call with another fingerprint begins when the running call has ended.
 */
export const joinedCalls = <Answer>(): JoinedCalls<Answer> => {
  const underWay = new Map<string, Readonly<{ fingerprint: string; answer: Promise<Answer> }>>();
  return async (id, fingerprint, work) => {
    for (let first = underWay.get(id); first !== undefined; first = underWay.get(id)) {
      if (first.fingerprint === fingerprint) return { answer: await first.answer, joined: true };
      await first.answer.catch(() => undefined);
    }
    const answer = work().finally(() => underWay.delete(id));
    underWay.set(id, { fingerprint, answer });
    return { answer: await answer, joined: false };
  };
};
