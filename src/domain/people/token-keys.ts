/** The keys that sign access tokens: one for each period of 30 days, made when it is first needed. */
import { DAY_MS } from '../core/time.js';
import type { TokenKeyEvent } from './events.js';

export type TokenKey = Readonly<{ kid: string; publicKey: string; privateKey: string | undefined; isRetired: boolean }>;

/** undefined: the period has no key yet. */
export type TokenKeyState = TokenKey | undefined;

export const TOKEN_KEY_PERIOD_MS = 30 * DAY_MS;

const KID = /^(\d{1,9})\.[A-Za-z0-9_-]{22}$/;

/** The number of the period that a moment is in. */
export const tokenKeyPeriod = (atMs: number): number => Math.floor(atMs / TOKEN_KEY_PERIOD_MS);

/** In: the number of the period and 16 random bytes. */
export const kidOf = (period: number, random: Buffer): string => `${period}.${random.toString('base64url')}`;

/** In: the `kid` of a token. Out: the period that it names, undefined if it does not have the format of a `kid` of this service. */
export const periodOfKid = (kid: string): number | undefined => {
  const [, period] = KID.exec(kid) ?? [];
  return period === undefined ? undefined : Number(period);
};

export const evolveTokenKey = (key: TokenKeyState, event: TokenKeyEvent): TokenKeyState => {
  switch (event.type) {
    case 'TokenKeyMade':
      return { kid: event.data.kid, publicKey: event.data.publicKey, privateKey: event.sealed?.privateKey, isRetired: false };
    case 'TokenKeyRetired':
      return key && { ...key, privateKey: undefined, isRetired: true };
  }
};
