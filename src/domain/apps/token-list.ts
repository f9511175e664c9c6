/** Which tokens of one person, or of one app that acts for itself, are in use: the contract's bounds hold by taking the newest. */
import type { OAuthTokensEvent } from './events.js';

/** Per person at most so many active access tokens, and so many active refresh tokens; the oldest beyond them end. */
export const ACCESS_TOKENS_MAX = 50;
export const REFRESH_TOKENS_MAX = 10;

type Counted = Extract<OAuthTokensEvent, { type: 'OAuthTokensCounted' }>['data'];
type Entry = Readonly<{ grantId: string; number: number; expiresAt: string }>;

/** The oldest first. */
export type TokenList = Readonly<{ access: readonly Entry[]; refresh: readonly Entry[] }>;

export const emptyTokenList: TokenList = { access: [], refresh: [] };

export const evolveTokenList = (list: TokenList, { data }: OAuthTokensEvent): TokenList => ({
  access: newest(list.access, data, data.accessExpiresAt, ACCESS_TOKENS_MAX),
  // A grant has one refresh token: the newest.
  refresh:
    data.refreshExpiresAt === null
      ? list.refresh
      : newest(
          list.refresh.filter(({ grantId }) => grantId !== data.grantId),
          data,
          data.refreshExpiresAt,
          REFRESH_TOKENS_MAX,
        ),
});

const newest = (entries: readonly Entry[], { at, grantId, number }: Counted, expiresAt: string, max: number): readonly Entry[] =>
  [...entries.filter((entry) => entry.expiresAt > at), { grantId, number, expiresAt }].slice(-max);

/** Whether it is still among those in use. */
export const isCounted = (entries: readonly Entry[], grantId: string, number: number): boolean =>
  entries.some((entry) => entry.grantId === grantId && entry.number === number);
