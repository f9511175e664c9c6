/** Decisions about a person, and about the claim and release of an address. */
import { timingSafeEqual } from 'node:crypto';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { SessionId, UserId } from '../core/ids.js';
import type { UserAddressEvent, UserEvent } from './events.js';
import { sessionEnded } from './session.js';
import {
  assertLink,
  evolveUser,
  evolveUserAddress,
  holdsSession,
  knowsPlace,
  linkInvalid,
  userNotFound,
  type SecondFactor,
  type User,
  type UserAddressState,
  type UserState,
} from './user.js';

/** A code as a person typed it. */
export type GivenCode = Readonly<{
  /** Six digits, as apps show them; any other text is a recovery code. */
  isOfApp: boolean;
  /** The time step of the code under a secret; undefined if it is not a code of that secret for about this moment. */
  stepOf: (secret: string) => number | undefined;
  /** Stored hash, if the code is a recovery code. */
  recoveryHash: string;
}>;

/** The session that asks, and the epoch in which it began; undefined if the session is unknown. */
export type AskingSession = Readonly<{ id: SessionId; epoch: number | undefined }>;

type PasswordHash = string | undefined;

/** An identity at a provider, by the id of its stream, and the address that the provider says. */
export type NewIdentity = Readonly<{ identityId: string; provider: string; email: string }>;

export type UserCommand = Readonly<{ at: string }> &
  Readonly<
    | { type: 'UseCode'; code: GivenCode }
    | { type: 'PrepareSecondFactor'; secret: string }
    | { type: 'ConfirmSecondFactor'; code: GivenCode; recoveryHashes: string[]; preparedMs: number }
    | { type: 'RemoveSecondFactor'; code: GivenCode }
    | { type: 'RenewRecoveryCodes'; code: GivenCode; recoveryHashes: string[] }
    | { type: 'EndOtherSessions'; session: AskingSession }
    /** `before`: the hash of the password that the caller proved. */
    | { type: 'ChangePassword'; session: AskingSession; before: PasswordHash; passwordHash: string }
    /** Hashes the known password again with newer parameters. */
    | { type: 'RehashPassword'; before: string; passwordHash: string }
    | { type: 'NoteSignInPlace'; place: Readonly<{ network: string; device: string }> }
    | { type: 'ChangeName'; name: string }
    | {
        type: 'AskAddressChange';
        before: PasswordHash;
        hash: string;
        expiresAt: string;
        addressId: string;
        email: string;
      }
    | { type: 'ChangeAddress'; hash: string; addressId: string; email: string }
    | { type: 'FollowVerifyLink'; hash: string; passwordHash: string }
    | { type: 'FollowResetLink'; hash: string; passwordHash: string }
    /** No link is made if the person has another address by then: it would go to the old one. */
    | { type: 'MakeResetLink'; hash: string; expiresAt: string; addressId: string }
    | { type: 'MakeVerifyLink'; hash: string; expiresAt: string }
    | { type: 'MakeSignInLink'; hash: string; expiresAt: string }
    | { type: 'FollowSignInLink'; hash: string }
    /**
     * An invitation that went to the address proves it. `replacedBy`: absent if the given password is that of the user.
     */
    | { type: 'VerifyByInvitation'; replacedBy?: Readonly<{ name: string; passwordHash: string }> }
    | { type: 'RegisterAnew'; name: string; passwordHash: string; hash: string; expiresAt: string }
    | ({ type: 'LinkIdentity' } & NewIdentity)
    | { type: 'UnlinkIdentity'; identityId: string }
    /**
     * A sign-in provider proves the address, which nobody had proved before: the password of whoever registered it is
     * replaced, and the identity is linked.
     */
    | ({ type: 'VerifyByProvider'; name: string; passwordHash: string } & NewIdentity)
    | { type: 'GrantOperator' }
    | { type: 'RevokeOperator' }
    | { type: 'Erase' }
  >;

/** Identities of one person at sign-in providers. */
const IDENTITIES_MAX = 20;

export const identityNotFound = (): DomainError =>
  new DomainError('IDENTITY_NOT_FOUND', 'You have no identity with this id. GET /api/users/me/identities lists yours.');

export const addressTaken = (): DomainError =>
  new DomainError('ADDRESS_TAKEN', 'This address is that of a user. Sign in, or choose another.', {
    errors: [{ field: 'email', message: 'is taken' }],
  });

export const decideUser = (command: UserCommand, user: UserState): readonly UserEvent[] => {
  const { at } = command;
  switch (command.type) {
    case 'UseCode':
      return user?.secondFactor === undefined ? [] : [usedCode(user.secondFactor, command.code, at)];
    case 'PrepareSecondFactor':
      if (livingUser(user).secondFactor !== undefined) throw factorSet();
      return [{ type: 'SecondFactorPrepared', data: { at }, sealed: { secret: command.secret } }];
    case 'ConfirmSecondFactor': {
      const living = livingUser(user);
      if (living.secondFactor !== undefined) throw factorSet();
      const { code, recoveryHashes } = command;
      const secret = preparedSecret(living, at, command.preparedMs);
      const step = code.isOfApp ? code.stepOf(secret) : undefined;
      if (step === undefined) throw invalidCode();
      return [{ type: 'SecondFactorConfirmed', data: { at, step }, sealed: { secret, recoveryHashes } }];
    }
    case 'RemoveSecondFactor':
      usedCode(factorOf(user), command.code, at);
      return [{ type: 'SecondFactorRemoved', data: { at } }];
    case 'RenewRecoveryCodes':
      return [
        usedCode(factorOf(user), command.code, at),
        { type: 'RecoveryCodesRenewed', data: { at }, sealed: { recoveryHashes: command.recoveryHashes } },
      ];
    case 'EndOtherSessions':
      askedBy(user, command.session);
      return [{ type: 'UserSessionsEnded', data: { at, keptSession: command.session.id } }];
    case 'ChangePassword': {
      const { session, before, passwordHash } = command;
      // The caller proved the old password only.
      if (askedBy(user, session).passwordHash !== before)
        throw new DomainError('CONFLICT', 'The password was changed at the same moment. Sign in again.');
      return [
        {
          type: 'UserPasswordChanged',
          data: { at, reason: 'changed', keptSession: session.id },
          sealed: { passwordHash },
        },
      ];
    }
    case 'RehashPassword': {
      const { before, passwordHash } = command;
      if (user?.passwordHash !== before) return [];
      return [{ type: 'UserPasswordChanged', data: { at, reason: 'rehashed' }, sealed: { passwordHash } }];
    }
    case 'NoteSignInPlace':
      if (user === undefined || user.isErased || knowsPlace(user, command.place)) return [];
      return [{ type: 'UserSignInPlaceSeen', data: { at }, sealed: command.place }];
    case 'ChangeName':
      return livingUser(user).name === command.name
        ? []
        : [{ type: 'UserProfileChanged', data: { at }, sealed: { name: command.name } }];
    case 'AskAddressChange': {
      const { before, hash, expiresAt, addressId, email } = command;
      // The caller proved the old password only.
      if (livingUser(user).passwordHash !== before)
        throw new DomainError('INVALID_CREDENTIALS', 'The password was changed at this moment.');
      return [{ type: 'UserAddressChangeAsked', data: { at, hash, expiresAt, addressId }, sealed: { email } }];
    }
    case 'ChangeAddress':
      assertLink(user?.nextAddress, command.hash, at);
      return [
        { type: 'UserAddressChanged', data: { at, addressId: command.addressId }, sealed: { email: command.email } },
      ];
    case 'FollowVerifyLink': {
      assertLink(user?.links.verify, command.hash, at);
      if (user!.isVerified) throw linkInvalid();
      return [verified(at), ...(user!.passwordHash === command.passwordHash ? [] : [reset(command.passwordHash, at)])];
    }
    case 'FollowResetLink':
      // The link proves that the person reads the mails of the address.
      assertLink(user?.links.reset, command.hash, at);
      return [verified(at), reset(command.passwordHash, at)];
    case 'MakeResetLink': {
      const { hash, expiresAt } = command;
      if (user === undefined || user.isErased || user.addressId !== command.addressId) return [];
      return [{ type: 'UserLinkMade', data: { at, use: 'reset', hash, expiresAt } }];
    }
    case 'MakeVerifyLink':
      return user === undefined || user.isErased || user.isVerified ? [] : [verifyLink(command)];
    case 'MakeSignInLink': {
      // Anybody may have registered an address that is not verified, with a password of theirs.
      if (!livingUser(user).isVerified)
        throw new DomainError('ADDRESS_NOT_VERIFIED', 'This user has not verified the address yet.');
      const { hash, expiresAt } = command;
      return [{ type: 'UserSignInLinkMade', data: { at, hash, expiresAt } }];
    }
    case 'FollowSignInLink':
      assertLink(user?.links['sign-in'], command.hash, at);
      return [{ type: 'UserSignInLinkFollowed', data: { at } }];
    case 'VerifyByInvitation': {
      const { replacedBy } = command;
      if (user === undefined || user.isErased || (user.isVerified && replacedBy !== undefined)) throw addressTaken();
      if (user.isVerified) return [];
      return [verified(at), ...(replacedBy === undefined ? [] : replaced(replacedBy, at))];
    }
    case 'RegisterAnew':
      if (user === undefined || user.isErased || user.isVerified) throw addressTaken();
      return [...replaced(command, at), verifyLink(command)];
    case 'LinkIdentity': {
      const { identities } = livingUser(user);
      if (identities.has(command.identityId)) return [];
      if (identities.size >= IDENTITIES_MAX)
        throw new DomainError('CONFLICT', `You have ${IDENTITIES_MAX} identities, the maximum. Unlink one first.`);
      return [identityLinked(command, at)];
    }
    case 'UnlinkIdentity': {
      const known = livingUser(user).identities.get(command.identityId);
      if (known === undefined) throw identityNotFound();
      return [{ type: 'UserIdentityUnlinked', data: { at, identityId: command.identityId, provider: known.provider } }];
    }
    case 'VerifyByProvider':
      if (user === undefined || user.isErased || user.isVerified) throw addressTaken();
      return [verified(at), ...replaced(command, at), identityLinked(command, at)];
    case 'GrantOperator':
      return livingUser(user).isOperator ? [] : [{ type: 'OperatorGranted', data: { at } }];
    case 'RevokeOperator':
      return user?.isOperator === true ? [{ type: 'OperatorRevoked', data: { at } }] : [];
    case 'Erase':
      return user === undefined || user.isErased ? [] : [{ type: 'UserErased', data: { at } }];
  }
};

export const userDecider: Decider<UserCommand, UserEvent, UserState> = {
  decide: decideUser,
  evolve: evolveUser,
  initialState: undefined,
};

/**
 * `ConfirmAddress` renews the claim of a person who has the address, so that a call that wants to take it over fails.
 */
export type UserAddressCommand = Readonly<{
  type: 'ClaimAddress' | 'ConfirmAddress' | 'ReleaseAddress';
  at: string;
  userId: UserId;
}>;

export const userAddressDecider: Decider<UserAddressCommand, UserAddressEvent, UserAddressState> = {
  decide: ({ type, at, userId }, owner) => {
    switch (type) {
      case 'ClaimAddress':
        return [{ type: 'UserAddressClaimed', data: { at, userId } }];
      case 'ConfirmAddress':
        return owner === userId ? [{ type: 'UserAddressClaimed', data: { at, userId } }] : [];
      case 'ReleaseAddress':
        return owner === userId ? [{ type: 'UserAddressReleased', data: { at, userId } }] : [];
    }
  },
  evolve: evolveUserAddress,
  initialState: undefined,
};

/**
 * Whether the person who claimed the address or the identity has it, or is taking it right now: they followed the link
 * that changes their address.
 */
export const isKeptBy = (
  { addressId, nextAddress, identities, isErased }: User,
  claimed: string,
  at: string,
): boolean => {
  if (isErased) return false;
  // The link may have been followed in its last moment.
  const isNext = nextAddress?.addressId === claimed && Date.parse(at) < Date.parse(nextAddress.expiresAt) + 60_000;
  return addressId === claimed || isNext || identities.has(claimed);
};

/** Throws USER_NOT_FOUND. */
export const livingUser = (user: UserState): User => {
  if (user === undefined || user.isErased) throw userNotFound();
  return user;
};

/**
 * Throws SESSION_ENDED if the session that asks was ended at the same moment: of two sessions that end each other, one
 * goes on.
 */
const askedBy = (user: UserState, { id, epoch }: AskingSession): User => {
  const living = livingUser(user);
  if (epoch === undefined || !holdsSession(living, id, epoch)) throw sessionEnded(living.endedBy ?? 'revoked');
  return living;
};

export const identityLinked = ({ identityId, provider, email }: NewIdentity, at: string): UserEvent => ({
  type: 'UserIdentityLinked',
  data: { at, identityId, provider },
  sealed: { email },
});

const verified = (at: string): UserEvent => ({ type: 'UserAddressVerified', data: { at } });

const reset = (passwordHash: string, at: string): UserEvent => ({
  type: 'UserPasswordChanged',
  data: { at, reason: 'reset' },
  sealed: { passwordHash },
});

const verifyLink = ({ at, hash, expiresAt }: Readonly<{ at: string; hash: string; expiresAt: string }>): UserEvent => ({
  type: 'UserLinkMade',
  data: { at, use: 'verify', hash, expiresAt },
});

/** Replaces the name and password of an unverified user, whom somebody else may have registered. Every session ends. */
const replaced = (
  { name, passwordHash }: Readonly<{ name: string; passwordHash: string }>,
  at: string,
): readonly UserEvent[] => [{ type: 'UserProfileChanged', data: { at }, sealed: { name } }, reset(passwordHash, at)];

/** The event that uses the code up. Throws INVALID_CODE. */
const usedCode = (factor: SecondFactor, { isOfApp, stepOf, recoveryHash }: GivenCode, at: string): UserEvent => {
  if (isOfApp) {
    const step = factor.secret === undefined ? undefined : stepOf(factor.secret);
    if (step === undefined || step <= factor.step) throw invalidCode();
    return { type: 'SecondFactorUsed', data: { at, step } };
  }
  const hash = Buffer.from(recoveryHash);
  const index = factor.recoveryHashes.findIndex((kept) => timingSafeEqual(Buffer.from(kept), hash));
  if (index < 0 || factor.usedRecovery.has(index)) throw invalidCode();
  return { type: 'RecoveryCodeUsed', data: { at, index } };
};

const preparedSecret = ({ prepared }: User, at: string, preparedMs: number): string => {
  if (prepared?.secret === undefined || Date.parse(prepared.at) + preparedMs <= Date.parse(at)) throw factorNotSet();
  return prepared.secret;
};

const factorOf = (user: UserState): SecondFactor => {
  const { secondFactor } = livingUser(user);
  if (secondFactor === undefined) throw factorNotSet();
  return secondFactor;
};

const invalidCode = (): DomainError =>
  new DomainError(
    'INVALID_CODE',
    'The code is wrong, or was used before. Take the one that the app shows now, or a recovery code.',
  );

const factorSet = (): DomainError =>
  new DomainError('SECOND_FACTOR_SET', 'There is a second factor already. POST /api/auth/totp/remove takes it away.');

const factorNotSet = (): DomainError =>
  new DomainError(
    'SECOND_FACTOR_NOT_SET',
    'There is no second factor. POST /api/auth/totp/prepare begins to set one up.',
  );
