/** A request under an Idempotency-Key, and its answer. */
import { DomainError } from '../domain/errors.js';

/** `body` is the request body as parsed; it is fingerprinted to tell the same request from another under one key. */
export type Idempotency = Readonly<{ key: string; body: unknown }>;

/** `replayed`: the answer is the stored one. */
export type Answer<T> = Readonly<{ body: T; replayed: boolean }>;

export const keyReused = (): DomainError =>
  new DomainError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another body. Repeat that body, or take a new key.');
