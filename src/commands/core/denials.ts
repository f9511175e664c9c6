/** Whom a refusal concerns, where that is known and is not to be answered. */
import type { UserId } from '../../domain/core/ids.js';

const people = new WeakMap<object, UserId>();

/** The refusal itself says nothing of it. */
export const refusing = <Refusal extends Error>(userId: UserId, refusal: Refusal): Refusal => {
  people.set(refusal, userId);
  return refusal;
};

/** undefined where nobody is known to be refused. */
export const auditedPersonOf = (fault: unknown): UserId | undefined =>
  typeof fault === 'object' && fault !== null ? people.get(fault) : undefined;
