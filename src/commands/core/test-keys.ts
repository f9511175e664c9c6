/** What a test key may not do: let mail leave, or keep from leaving what leaves for real, and destroy or spend what is real. */
import type { Caller } from './caller.js';
import type { Loaded } from './handle.js';
import { ownedBy } from './owned-by.js';
import { DomainError } from '../../domain/core/errors.js';

/** Whether nothing leaves of what the caller sends. */
export const isTest = ({ key }: Pick<Caller, 'key'>): boolean => key?.test === true;

/** In: what a test key does instead, after `A test key`. Throws TEST_KEY_NOT_ALLOWED. */
export const assertNoTestKey = (caller: Pick<Caller, 'key'>, instead: string): void => {
  if (isTest(caller)) throw new DomainError('TEST_KEY_NOT_ALLOWED', `A test key ${instead}. Use a live key.`);
};

type Sent = Readonly<{ accepted: Readonly<{ test?: true }> }>;

/** The guard of a command that changes an email, or a bulk send. */
export const changeableBy =
  (caller: Caller, notFound: () => DomainError) =>
  (loaded: Pick<Loaded<Sent | undefined>, 'state' | 'teamId'>): void => {
    ownedBy(caller.teamId, notFound)(loaded);
    if (loaded.state?.accepted.test !== true) assertNoTestKey(caller, 'changes what was sent with a test key alone');
  };

/** As events say it. */
export const testPart = (caller: Pick<Caller, 'key'>): { test?: true } => (isTest(caller) ? { test: true } : {});
