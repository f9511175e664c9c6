/** Argon2id (RFC 9106) for passwords: a bounded number at a time, for each takes 19 MiB of memory. */
import { hash as argon2, parseOptions, verify, type Options } from '@node-rs/argon2';
import type { Passwords } from '../../domain/ports/passwords.js';
import { DomainError } from '../../domain/core/errors.js';
import { isCommonPassword } from './common.js';

/** What the OWASP Password Storage Cheat Sheet names as the least. Algorithm 2 is Argon2id. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const satisfies Options;

const AT_ONCE = 2;
const WAITING_MAX = 64;

/** The hash of random bytes that nobody kept, by the parameters above: what an unknown address is compared with. */
const OF_NOBODY = '$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5c3NhbHQxMjM0NQ$Zm9yIG5vYm9keSBhdCBhbGwuLi4uLi4uLi4uLi4uLi4';

/** `compare`: by what a password is held against a hash. */
export const argon2Passwords = (compare: (hash: string, password: string) => Promise<boolean> = verify): Passwords => {
  const inTurn = openTurns();
  return {
    hash: (password) => inTurn(() => argon2(password, parameters)),
    verify: (hash, password) => inTurn(async () => (await compare(hash ?? OF_NOBODY, password)) && hash !== undefined),
    isOutdated: (hash) => {
      const { memoryCost, timeCost, parallelism, algorithm } = parseOptions(hash);
      const { memoryCost: memory, timeCost: time, parallelism: lanes, algorithm: kind } = parameters;
      return memoryCost !== memory || timeCost !== time || parallelism !== lanes || (algorithm as number) !== kind;
    },
    isCommon: isCommonPassword,
  };
};

/** Runs so many at a time, in the order in which they came. */
const openTurns = () => {
  let running = 0;
  const waiting: (() => void)[] = [];
  const acquire = async (): Promise<void> => {
    if (running < AT_ONCE) {
      running += 1;
      return;
    }
    if (waiting.length >= WAITING_MAX) {
      throw new DomainError('RATE_LIMIT_EXCEEDED', 'Too many people sign in at this moment. Try again in 2 seconds.', { retryAfterS: 2 });
    }
    await new Promise<void>((resolve) => void waiting.push(resolve));
  };
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  return async <T>(work: () => Promise<T>): Promise<T> => {
    await acquire();
    try {
      return await work();
    } finally {
      release();
    }
  };
};
