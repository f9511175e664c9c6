/** An invitation in its own stream: the address it goes to, the decisions about it, and the token that accepts it. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { parseInvitationId, type InvitationId } from '../core/ids.js';
import type { InvitationEvent } from './events.js';

/** `email`: undefined once the key is destroyed. */
export type InvitationOf = Readonly<{
  email: string | undefined;
  tokenHash: string;
  expiresAt: string;
  isClosed: boolean;
}>;
export type InvitationState = InvitationOf | undefined;

export type InvitationCommand =
  | Readonly<{ type: 'MakeInvitation'; at: string; email: string; tokenHash: string; expiresAt: string }>
  | Readonly<{ type: 'MakeToken'; at: string; tokenHash: string; expiresAt: string }>
  | Readonly<{ type: 'CloseInvitation'; at: string; reason: 'accepted' | 'revoked' | 'lapsed' }>;

const PREFIX = 'sealpost_inv_';

const FORMAT = /^sealpost_inv_([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}$/;

export const invitationNotFound = (): DomainError =>
  new DomainError(
    'INVITATION_NOT_FOUND',
    'There is no open invitation like this: it is unknown, or was accepted, revoked or replaced by another.',
  );

export const invitationNotYours = (): DomainError =>
  new DomainError(
    'INVITATION_NOT_YOURS',
    'This invitation is to another address than yours. Sign in or register as who was invited, or ask for one to your address.',
  );

export const invitationDecider: Decider<InvitationCommand, InvitationEvent, InvitationState> = {
  decide: (command, state) => {
    const { at } = command;
    switch (command.type) {
      case 'MakeInvitation': {
        const { email, tokenHash, expiresAt } = command;
        return state === undefined
          ? [{ type: 'InvitationMade', data: { at, tokenHash, expiresAt }, sealed: { email } }]
          : [];
      }
      case 'MakeToken': {
        if (state === undefined || state.isClosed) throw invitationNotFound();
        const { tokenHash, expiresAt } = command;
        return [{ type: 'InvitationTokenMade', data: { at, tokenHash, expiresAt } }];
      }
      case 'CloseInvitation':
        return state === undefined || state.isClosed
          ? []
          : [{ type: 'InvitationClosed', data: { at, reason: command.reason } }];
    }
  },
  evolve: (state, event) => {
    switch (event.type) {
      case 'InvitationMade': {
        const { tokenHash, expiresAt } = event.data;
        return { email: event.sealed?.email, tokenHash, expiresAt, isClosed: false };
      }
      case 'InvitationTokenMade': {
        const { tokenHash, expiresAt } = event.data;
        return state && { ...state, tokenHash, expiresAt };
      }
      case 'InvitationClosed':
        return state && { ...state, email: undefined, isClosed: true };
    }
  },
  initialState: undefined,
};

/** Whether the text has the prefix of an invitation token. The token need not be good. */
export const isInvitationToken = (token: string): boolean => token.startsWith(PREFIX);

const hashOf = (token: string): string => digestOf('sha256', token, 'hex');

/** In: 32 random bytes. Out: the token, which contains the id of its invitation, and the hash that is stored. */
export const makeInvitationToken = (id: InvitationId, bytes: Buffer): Readonly<{ token: string; hash: string }> => {
  const token = `${PREFIX}${Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')}${bytes.toString('base64url')}`;
  return { token, hash: hashOf(token) };
};

export const readInvitationToken = (token: string): Readonly<{ id: InvitationId; hash: string }> | undefined => {
  const [, packed] = FORMAT.exec(token) ?? [];
  if (packed === undefined) return undefined;
  const hex = Buffer.from(packed, 'base64url').toString('hex');
  const id = parseInvitationId(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  return id === undefined ? undefined : { id, hash: hashOf(token) };
};

/**
 * The address of the invitation that the token accepts at that moment. Throws INVITATION_NOT_FOUND, INVITATION_EXPIRED.
 */
export const addressOfToken = (state: InvitationState, hash: string, at: string): string => {
  if (state?.email === undefined || state.isClosed) throw invitationNotFound();
  if (!timingSafeEqual(Buffer.from(state.tokenHash), Buffer.from(hash))) throw invitationNotFound();
  if (state.expiresAt <= at)
    throw new DomainError('INVITATION_EXPIRED', 'This invitation is no longer good. Ask who invited you for another.');
  return state.email;
};
