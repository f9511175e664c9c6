/** What the events of one session add up to, and the decisions about it. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { SessionEvent } from './session-events.js';

export type Session = Readonly<{
  userId: string;
  epoch: number;
  startedAt: string;
  refreshedAt: string;
  /** SHA-256 (hex) of the refresh token that is good now. */
  hash: string;
  expiresAt: string;
  /** Whether the second factor was given in it. */
  secondFactor: boolean;
  ended: EndReason | undefined;
  ipAddress: string | undefined;
  userAgent: string | undefined;
}>;

export type SessionState = Session | undefined;

export const endReasons = ['logout', 'reuse', 'password', 'erased', 'revoked', 'expired'] as const;
export type EndReason = (typeof endReasons)[number];

type Started = Extract<SessionEvent, { type: 'SessionStarted' }>;

export type SessionCommand =
  | Readonly<{ type: 'StartSession'; started: Started['data']; from: Readonly<{ ipAddress: string; userAgent: string }> }>
  /** `used`: the hash of the token that was given, which is one that was once made for this session. */
  | Readonly<{ type: 'Refresh'; at: string; used: string; hash: string; expiresAt: string }>
  | Readonly<{ type: 'GiveSecondFactor'; at: string }>
  | Readonly<{ type: 'EndSession'; at: string; reason: EndReason }>;

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
      // Of two who hold the same token one is a thief, and nobody can tell which.
      if (session.hash !== command.used) return [{ type: 'SessionEnded', data: { at, reason: 'reuse' } }];
      return [{ type: 'SessionRefreshed', data: { at, hash: command.hash, expiresAt: command.expiresAt } }];
    }
    case 'GiveSecondFactor':
      return session.ended !== undefined || session.secondFactor ? none : [{ type: 'SessionSecondFactorGiven', data: { at } }];
    case 'EndSession':
      // One that was refreshed meanwhile goes on.
      if (command.reason === 'expired' && session.expiresAt > at) return none;
      return session.ended === undefined ? [{ type: 'SessionEnded', data: { at, reason: command.reason } }] : none;
  }
};

const evolve = (session: SessionState, event: SessionEvent): SessionState => {
  switch (event.type) {
    case 'SessionStarted': {
      const { at, userId, epoch, hash, expiresAt, secondFactor } = event.data;
      return {
        userId,
        epoch,
        startedAt: at,
        refreshedAt: at,
        hash,
        expiresAt,
        secondFactor,
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

export const sessionDecider: Decider<SessionCommand, SessionEvent, SessionState> = { decide, evolve, initialState: undefined };
