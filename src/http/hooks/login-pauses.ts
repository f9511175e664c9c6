/**
 * Pauses between attempts to sign in. They grow: each window that is full is longer than the one before. First an address as one network
 * tries it, so that nobody locks out its owner, who comes from another; then all that comes from the network; last, and far wider, the
 * address from wherever it is tried.
 */
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors.js';
import { loginLimits } from '../../domain/rate-limits.js';
import type { Window } from '../../domain/ports/limiter.js';
import { addressBucket } from '../../shared/address-bucket.js';
import type { HttpDeps } from '../context.js';

type Deps = Pick<HttpDeps, 'limiter' | 'commands'>;
type Bounds = readonly Readonly<{ limit: number; windowMs: number }>[];

const windowsOf = (bucket: string, bounds: Bounds): readonly Window[] =>
  bounds.map(({ limit, windowMs }) => ({ bucket: `${bucket}:${windowMs}`, limit, windowMs }));

/** Counts an attempt, good or bad, before anything of it is checked. Rejects with LOGIN_PAUSED and ERR_EMAIL_001. */
export const countLogin = async ({ limiter, commands }: Deps, request: Pick<FastifyRequest, 'ip'>, email: string): Promise<void> => {
  const account = await commands.loginBucketOf(email);
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
    {
      retryAfterS,
    },
  );
};
