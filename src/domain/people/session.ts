/** A session of a person: its state, the decisions about it, and its refresh tokens, of which each is good once. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import { parseSessionId, type SessionId } from '../core/ids.js';
import type { Keys } from '../ports/keys.js';
import type { SessionEvent, TokenKeyEvent } from './events.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { DAY_MS } from '../core/time.js';

export type Session = Readonly<{
  userId: string;
  epoch: number;
  startedAt: string;
  refreshedAt: string;
  /** SHA-256 (hex) of the refresh token that is good now. */
  hash: string;
  expiresAt: string;
  /** Whether a code of the second factor was given in this session. */
  secondFactor: boolean;
  /** Whether it began by a one-time link. */
  byLink: boolean;
  ended: EndReason | undefined;
  ipAddress: string | undefined;
  userAgent: string | undefined;
}>;

export type SessionState = Session | undefined;

export const endReasons = ['logout', 'reuse', 'password', 'erased', 'revoked', 'expired'] as const;
export type EndReason = (typeof endReasons)[number];

type Started = Extract<SessionEvent, { type: 'SessionStarted' }>;

type SessionCommand =
  | Readonly<{
      type: 'StartSession';
      started: Started['data'];
      from: Readonly<{ ipAddress: string; userAgent: string }>;
    }>
  /**
   * `used`: the hash of the token that was given. Its mark proves that it was made for this session, now or earlier.
   */
  | Readonly<{ type: 'Refresh'; at: string; used: string; hash: string; expiresAt: string }>
  | Readonly<{ type: 'GiveSecondFactor'; at: string }>
  | Readonly<{ type: 'EndSession'; at: string; reason: EndReason }>;

type Fingerprint = Pick<Keys, 'fingerprint'>;

const PREFIX = 'sealpost_rt_';

const FORMAT = /^sealpost_rt_([A-Za-z0-9_-]{22})([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{22})$/;

const why: Readonly<Record<EndReason, string>> = {
  logout: 'its user signed out',
  reuse: 'a refresh token of it was used a second time, as somebody would who stole it',
  password: 'the password was changed',
  erased: 'the user was erased',
  revoked: 'its user ended it from elsewhere',
  expired: 'it was not used for too long',
};

export const sessionEnded = (reason: EndReason): DomainError =>
  new DomainError('SESSION_ENDED', `This session has ended: ${why[reason]}. Sign in again.`);

export const invalidToken = (): DomainError =>
  new DomainError('INVALID_TOKEN', 'The token is none that this service has given, or not a whole one. Sign in again.');

const none: readonly SessionEvent[] = [];

const decide = (command: SessionCommand, session: SessionState): readonly SessionEvent[] => {
  if (command.type === 'StartSession')
    return session === undefined ? [{ type: 'SessionStarted', data: command.started, sealed: command.from }] : none;
  if (session === undefined) throw invalidToken();
  const { at } = command;
  switch (command.type) {
    case 'Refresh': {
      if (session.ended !== undefined) throw sessionEnded(session.ended);
      if (session.expiresAt <= at) return [{ type: 'SessionEnded', data: { at, reason: 'expired' } }];
      // Two parties hold the same token: one of them stole it, and nobody can tell which.
      if (session.hash !== command.used) return [{ type: 'SessionEnded', data: { at, reason: 'reuse' } }];
      return [{ type: 'SessionRefreshed', data: { at, hash: command.hash, expiresAt: command.expiresAt } }];
    }
    case 'GiveSecondFactor':
      return session.ended !== undefined || session.secondFactor
        ? none
        : [{ type: 'SessionSecondFactorGiven', data: { at } }];
    case 'EndSession':
      // The session was refreshed meanwhile: it goes on.
      if (command.reason === 'expired' && session.expiresAt > at) return none;
      return session.ended === undefined ? [{ type: 'SessionEnded', data: { at, reason: command.reason } }] : none;
  }
};

const evolve = (session: SessionState, event: SessionEvent): SessionState => {
  switch (event.type) {
    case 'SessionStarted': {
      const { at, userId, epoch, hash, expiresAt, secondFactor, byLink = false } = event.data;
      return {
        userId,
        epoch,
        startedAt: at,
        refreshedAt: at,
        hash,
        expiresAt,
        secondFactor,
        byLink,
        ended: undefined,
        ipAddress: event.sealed?.ipAddress,
        userAgent: event.sealed?.userAgent,
      };
    }
    case 'SessionRefreshed': {
      const { at: refreshedAt, hash, expiresAt } = event.data;
      return session && { ...session, refreshedAt, hash, expiresAt };
    }
    case 'SessionSecondFactorGiven':
      return session && { ...session, secondFactor: true };
    case 'SessionEnded':
      return session && { ...session, ended: event.data.reason, ipAddress: undefined, userAgent: undefined };
  }
};

export const sessionDecider: Decider<SessionCommand, SessionEvent, SessionState> = {
  decide,
  evolve,
  initialState: undefined,
};

/** In: 32 random bytes. Out: the token, and what is kept of it. */
export const makeRefreshToken = (
  keys: Fingerprint,
  sessionId: SessionId,
  bytes: Buffer,
): Readonly<{ token: string; hash: string }> => {
  const random = bytes.toString('base64url');
  const token = `${PREFIX}${sessionId.slice('ses_'.length)}${random}${markOf(keys, sessionId, random)}`;
  return { token, hash: hashOf(token) };
};

/**
 * Out: undefined for a text that was never issued as a token. The mark in it is checked, so that knowing the id of a
 * session is not enough to end it.
 */
export const readRefreshToken = (
  keys: Fingerprint,
  token: string,
): Readonly<{ sessionId: SessionId; hash: string }> | undefined => {
  const [, id = '', random = '', mark = ''] = FORMAT.exec(token) ?? [];
  const sessionId = parseSessionId(`ses_${id}`);
  if (sessionId === undefined) return undefined;
  return timingSafeEqual(Buffer.from(mark), Buffer.from(markOf(keys, sessionId, random)))
    ? { sessionId, hash: hashOf(token) }
    : undefined;
};

const markOf = ({ fingerprint }: Fingerprint, sessionId: SessionId, random: string): string =>
  Buffer.from(fingerprint('refresh token', JSON.stringify([sessionId, random])).slice(0, 32), 'hex').toString(
    'base64url',
  );

const hashOf = (token: string): string => digestOf('sha256', token, 'hex');

// The keys that sign access tokens: one for each period of 30 days, made when it is first needed.

export type TokenKey = Readonly<{ kid: string; publicKey: string; privateKey: string | undefined; isRetired: boolean }>;

/** undefined: the period has no key yet. */
export type TokenKeyState = TokenKey | undefined;

export const TOKEN_KEY_PERIOD_MS = 30 * DAY_MS;

const KID = /^(\d{1,9})\.[A-Za-z0-9_-]{22}$/;

/** The number of the period that a moment is in. */
export const tokenKeyPeriod = (atMs: number): number => Math.floor(atMs / TOKEN_KEY_PERIOD_MS);

/** In: the number of the period and 16 random bytes. */
export const kidOf = (period: number, random: Buffer): string => `${period}.${random.toString('base64url')}`;

/**
 * In: the `kid` of a token. Out: the period that it names, undefined if it does not have the format of a `kid` of this
 * service.
 */
export const periodOfKid = (kid: string): number | undefined => {
  const [, period] = KID.exec(kid) ?? [];
  return period === undefined ? undefined : Number(period);
};

export const evolveTokenKey = (key: TokenKeyState, event: TokenKeyEvent): TokenKeyState => {
  switch (event.type) {
    case 'TokenKeyMade':
      return {
        kid: event.data.kid,
        publicKey: event.data.publicKey,
        privateKey: event.sealed?.privateKey,
        isRetired: false,
      };
    case 'TokenKeyRetired':
      return key && { ...key, privateKey: undefined, isRetired: true };
  }
};
