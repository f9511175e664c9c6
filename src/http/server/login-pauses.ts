/**
 * Pauses between attempts to sign in. They grow: each window that is full is longer than the one before. First an address as one network
 * tries it, so that nobody locks out its owner, who comes from another; then all that comes from the network; last, and far wider, the
 * address from wherever it is tried.
 */
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import { loginLimits } from '../../domain/access/rate-limits.js';
import type { Window } from '../../domain/ports/limiter.js';
import { addressBucket } from '../../shared/addresses.js';
import type { Caller } from '../../commands/core/caller.js';
import { callerOf, type HttpDeps } from './context.js';

type Deps = Pick<HttpDeps, 'limiter' | 'commands'>;
type Bounds = readonly Readonly<{ limit: number; windowMs: number }>[];

const windowsOf = (bucket: string, bounds: Bounds): readonly Window[] =>
  bounds.map(({ limit, windowMs }) => ({ bucket: `${bucket}:${windowMs}`, limit, windowMs }));

type Asked = Pick<FastifyRequest, 'ip'>;

/** Counts an attempt, good or bad, before anything of it is checked. Rejects with LOGIN_PAUSED and ERR_EMAIL_001. */
export const countLogin = async (deps: Deps, request: Asked, email: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.loginBucketOf(email));

/**
 * The same where a person who is signed in shows again who they are: whoever has their session tries no more passwords and codes than
 * whoever has not. Rejects with LOGIN_PAUSED.
 */
export const countOwnAttempt = async (deps: Deps, request: Asked & Readonly<{ caller: Caller | null }>): Promise<void> =>
  countAttempt(deps, request, await deps.commands.ownLoginBucket(callerOf(request)));

/** The same where the link to another address is followed, which takes the password of the account. Rejects with LINK_INVALID and LOGIN_PAUSED. */
export const countLinkAttempt = async (deps: Deps, request: Asked, token: string): Promise<void> =>
  countAttempt(deps, request, await deps.commands.addressLinkBucket(token));

const countAttempt = async ({ limiter }: Deps, request: Asked, account: string): Promise<void> => {
  const network = addressBucket(request.ip ?? '');
  const { ofBoth, ofNetwork, ofAccount } = loginLimits;
  const { admitted, retryAfterS } = await limiter.hit([
    ...windowsOf(`login:${account}@${network}`, ofBoth),
    ...windowsOf(`login:${network}`, ofNetwork),
    ...windowsOf(`login:${account}`, ofAccount),
  ]);
  if (admitted) return;
  throw new DomainError(
    'LOGIN_PAUSED',
    `Too many attempts to sign in. Try again in ${retryAfterS} second${retryAfterS === 1 ? '' : 's'}.`,
    { retryAfterS },
  );
};
