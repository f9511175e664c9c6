/**
 * A person: what their events add up to, who has an address, and the rules for passwords, for places of sign-in and for
 * links in mails.
 */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import { invalid, DomainError } from '../core/errors.js';
import { defaultLimits } from '../core/limits.js';
import { parseUserId, type UserId } from '../core/ids.js';
import type { EndReason } from './session.js';
import type { UserAddressEvent, UserEvent } from './events.js';

/** People who may become users: everybody, those who were invited, or only the first. */
export const registrations = ['open', 'invited', 'closed'] as const;

export type Registration = (typeof registrations)[number];

type LinkUse = 'verify' | 'reset' | 'sign-in';

/**
 * The address of a first user who came by the link of the terminal, until they choose another. No mail is sent to it:
 * `localhost` is no host of the internet (RFC 6761, section 6.3).
 */
export const FIRST_USER_ADDRESS = 'owner@sealpost.localhost';

/** Stored form of a link in a mail. */
type Link = Readonly<{ hash: string; expiresAt: string }>;

export type SecondFactor = Readonly<{
  /** undefined once the key of the person is destroyed, as all that is personal below. */
  secret: string | undefined;
  recoveryHashes: readonly string[];
  usedRecovery: ReadonlySet<number>;
  /** No code of this step or of one before is taken. */
  step: number;
}>;

/** `email`: the address that the provider said; undefined once the key of the person is destroyed. */
export type LinkedIdentity = Readonly<{ provider: string; at: string; email: string | undefined }>;

export type User = Readonly<{
  addressId: string;
  isVerified: boolean;
  email: string | undefined;
  name: string | undefined;
  passwordHash: string | undefined;
  registeredAt: string;
  /** The invitation by which the person came; undefined where there was none. */
  invitation: string | undefined;
  /** How often all sessions were ended. Every session of an earlier epoch has ended, except `keptSession`. */
  epoch: number;
  /** The epoch that began when the password was last changed; 0 if it is the first one. */
  passwordEpoch: number;
  /** The session that went on when all others were ended. */
  keptSession: string | undefined;
  /** Why all sessions were last ended. */
  endedBy: Extract<EndReason, 'password' | 'revoked' | 'erased'> | undefined;
  links: Readonly<Partial<Record<LinkUse, Link>>>;
  nextAddress: (Link & Readonly<{ addressId: string; email: string | undefined }>) | undefined;
  /** A second factor that is not asked for yet. */
  prepared: Readonly<{ secret: string | undefined; at: string }> | undefined;
  secondFactor: SecondFactor | undefined;
  /** Identities at sign-in providers by which the person signs in, by the id of their stream. */
  identities: ReadonlyMap<string, LinkedIdentity>;
  /** Fingerprints of networks and devices from which the person signed in, the newest last. */
  places: ReadonlySet<string>;
  /** How many of them were new on the day on which the last one was. */
  newPlaces: Readonly<{ day: string; count: number }>;
  /** Whether the person is an operator of the instance. */
  isOperator: boolean;
  isErased: boolean;
}>;

export type UserState = User | undefined;

/** The id of the person who has an address; undefined where nobody has. */
export type UserAddressState = string | undefined;

const { passwordCharsMin, passwordCharsMax } = defaultLimits;

const IPV6_GROUPS = 8;

/** A provider gives one customer at least a network of 48 bits. */
const IPV6_GROUPS_OF_NETWORK = 3;

const IPV4_PARTS_OF_NETWORK = 3;

/** Places that are remembered; a person gets another mail about one that was forgotten. */
const PLACES_MAX = 200;

const NO_PLACES: User['newPlaces'] = { day: '', count: 0 };

const NO_IDENTITIES: User['identities'] = new Map();

const nothingPersonal = {
  email: undefined,
  name: undefined,
  passwordHash: undefined,
  prepared: undefined,
  places: new Set<string>(),
} as const;

const FORMAT = /^([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}$/;

export const userNotFound = (): DomainError =>
  new DomainError(
    'USER_NOT_FOUND',
    'There is no user with this id in a team of yours. GET /api/teams lists your teams.',
  );

export const evolveUser = (user: UserState, event: UserEvent): UserState => {
  if (event.type === 'UserRegistered') {
    return {
      addressId: event.data.addressId,
      isVerified: event.data.isVerified,
      email: event.sealed?.email,
      name: event.sealed?.name,
      passwordHash: event.sealed?.passwordHash,
      registeredAt: event.data.at,
      invitation: event.data.invitation,
      epoch: 0,
      passwordEpoch: 0,
      keptSession: undefined,
      endedBy: undefined,
      links: {},
      nextAddress: undefined,
      prepared: undefined,
      secondFactor: undefined,
      identities: NO_IDENTITIES,
      places: new Set(),
      newPlaces: NO_PLACES,
      isOperator: false,
      isErased: false,
    };
  }
  return user && evolveKnown(user, event);
};

const evolveKnown = (user: User, event: Exclude<UserEvent, { type: 'UserRegistered' }>): User => {
  switch (event.type) {
    case 'UserLinkMade': {
      const { use, hash, expiresAt } = event.data;
      return { ...user, links: { ...user.links, [use]: { hash, expiresAt } } };
    }
    case 'UserSignInLinkMade': {
      const { hash, expiresAt } = event.data;
      return { ...user, links: { ...user.links, 'sign-in': { hash, expiresAt } } };
    }
    case 'UserSignInLinkFollowed':
      return { ...user, links: withoutLink(user.links, 'sign-in') };
    case 'UserAddressVerified':
      return { ...user, isVerified: true, links: withoutLink(user.links, 'verify') };
    case 'UserAddressChangeAsked': {
      const { hash, expiresAt, addressId } = event.data;
      return { ...user, nextAddress: { hash, expiresAt, addressId, email: event.sealed?.email } };
    }
    case 'UserAddressChanged':
      // Links that went to the old address are void.
      return {
        ...user,
        addressId: event.data.addressId,
        email: event.sealed?.email,
        isVerified: true,
        nextAddress: undefined,
        links: {},
      };
    case 'UserProfileChanged':
      return { ...user, name: event.sealed?.name };
    case 'UserPasswordChanged': {
      const changed = { ...user, passwordHash: event.sealed?.passwordHash };
      if (event.data.reason === 'rehashed') return changed;
      // The other address may have been requested by somebody who knew the old password: that request is void.
      return withSessionsEnded(
        {
          ...changed,
          passwordEpoch: user.epoch + 1,
          links: withoutLink(withoutLink(user.links, 'reset'), 'sign-in'),
          nextAddress: undefined,
        },
        'password',
        event.data.keptSession,
      );
    }
    case 'UserSessionsEnded':
      return withSessionsEnded(user, 'revoked', event.data.keptSession);
    case 'SecondFactorPrepared':
      return { ...user, prepared: { secret: event.sealed?.secret, at: event.data.at } };
    case 'SecondFactorConfirmed': {
      const { secret, recoveryHashes = [] } = event.sealed ?? {};
      const secondFactor = { secret, recoveryHashes, usedRecovery: new Set<number>(), step: event.data.step };
      return { ...user, prepared: undefined, secondFactor };
    }
    case 'SecondFactorUsed':
      return withFactor(user, (factor) => ({ ...factor, step: Math.max(factor.step, event.data.step) }));
    case 'RecoveryCodeUsed':
      return withFactor(user, (factor) => ({
        ...factor,
        usedRecovery: new Set(factor.usedRecovery).add(event.data.index),
      }));
    case 'UserSignInPlaceSeen': {
      const { network, device } = event.sealed ?? {};
      const known = [network, device].filter((place) => place !== undefined);
      const day = dayOf(event.data.at);
      const newPlaces = { day, count: newPlacesOn(user, event.data.at) + 1 };
      return { ...user, places: new Set([...user.places, ...known].slice(-PLACES_MAX)), newPlaces };
    }
    case 'RecoveryCodesRenewed': {
      const { recoveryHashes = [] } = event.sealed ?? {};
      return withFactor(user, (factor) => ({ ...factor, recoveryHashes, usedRecovery: new Set<number>() }));
    }
    case 'SecondFactorRemoved':
      return { ...user, prepared: undefined, secondFactor: undefined };
    case 'UserIdentityLinked': {
      const { at, identityId, provider } = event.data;
      const linked = { provider, at, email: event.sealed?.email };
      return { ...user, identities: new Map(user.identities).set(identityId, linked) };
    }
    case 'UserIdentityUnlinked': {
      const identities = new Map(user.identities);
      identities.delete(event.data.identityId);
      return { ...user, identities };
    }
    case 'OperatorGranted':
      return { ...user, isOperator: true };
    case 'OperatorRevoked':
      return { ...user, isOperator: false };
    case 'UserErased':
      return {
        ...withSessionsEnded(user, 'erased'),
        ...nothingPersonal,
        links: {},
        nextAddress: undefined,
        secondFactor: undefined,
        isOperator: false,
        isErased: true,
      };
  }
};

export const evolveUserAddress = (owner: UserAddressState, event: UserAddressEvent): UserAddressState => {
  switch (event.type) {
    case 'UserAddressClaimed':
      return event.data.userId;
    case 'UserAddressReleased':
      return owner === event.data.userId ? undefined : owner;
  }
};

const withSessionsEnded = (user: User, endedBy: NonNullable<User['endedBy']>, keptSession?: string): User => ({
  ...user,
  epoch: user.epoch + 1,
  keptSession,
  endedBy,
});

const withoutLink = (links: User['links'], use: LinkUse): User['links'] => {
  const { [use]: _, ...others } = links;
  return others;
};

const withFactor = (user: User, change: (factor: SecondFactor) => SecondFactor): User =>
  user.secondFactor === undefined ? user : { ...user, secondFactor: change(user.secondFactor) };

/** Whether the person signed in from that network and by that device before. */
export const knowsPlace = (
  { places }: User,
  { network, device }: Readonly<{ network: string; device: string }>,
): boolean => places.has(network) && places.has(device);

/** From how many new places the person has signed in on the day of `at`. */
export const newPlacesOn = ({ newPlaces }: User, at: string): number =>
  newPlaces.day === dayOf(at) ? newPlaces.count : 0;

const dayOf = (at: string): string => at.slice(0, 10);

/**
 * Whether the person may choose a password without knowing the one of before, in a session that began by a one-time link:
 * once.
 */
export const mayChoosePassword = (
  user: Pick<User, 'passwordEpoch'>,
  session: Readonly<{ byLink: boolean; epoch: number }> | undefined,
): boolean => session?.byLink === true && session.epoch >= user.passwordEpoch;

/** Whether a session that began under that epoch goes on. */
export const holdsSession = (user: User, sessionId: string, epoch: number): boolean =>
  !user.isErased && (epoch === user.epoch || user.keptSession === sessionId);

/**
 * The form in which passwords are compared: the same text typed on another keyboard or system is the same password (RFC
 * 8265, section 4.2).
 */
export const normalPassword = (password: string): string => password.normalize('NFC');

/** Throws VALIDATION_ERROR where the password may not be chosen. */
export const assertPassword = (field: string, password: string, isCommon: (password: string) => boolean): void => {
  const characters = [...password].length;
  if (characters < passwordCharsMin)
    throw invalid('request body', field, `must have at least ${passwordCharsMin} characters`);
  if (characters > passwordCharsMax)
    throw invalid('request body', field, `must have at most ${passwordCharsMax} characters`);
  if (isCommon(password))
    throw invalid(
      'request body',
      field,
      'is one of the passwords that are tried first, or made of one; choose another, such as a few words',
    );
};

/**
 * The network of an address as it comes from a socket: 24 bits of IPv4, 48 of IPv6, so that the same place is
 * recognized. Any other text is returned as it is.
 */
export const networkOf = (address: string): string => {
  const plain = (/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address.split('%')[0]!).toLowerCase();
  if (!plain.includes(':')) return plain.split('.').slice(0, IPV4_PARTS_OF_NETWORK).join('.');
  const [front = '', back] = plain.split('::');
  const [before, after] = [groupsIn(front), groupsIn(back ?? '')];
  const zeros = back === undefined ? 0 : Math.max(0, IPV6_GROUPS - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return groups
    .slice(0, IPV6_GROUPS_OF_NETWORK)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
};

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));

/** The `User-Agent` without version numbers: an updated program counts as the same device. */
export const deviceOf = (userAgent: string): string => userAgent.toLowerCase().replaceAll(/[\d._]+/g, '');

const hashOf = (token: string): string => digestOf('sha256', token, 'hex');

/** In: 32 random bytes. Out: the token of the link, and what is kept of it. */
export const makeLink = (userId: UserId, bytes: Buffer): Readonly<{ token: string; hash: string }> => {
  const token = `${Buffer.from(userId.replaceAll('-', ''), 'hex').toString('base64url')}${bytes.toString('base64url')}`;
  return { token, hash: hashOf(token) };
};

export const readLink = (token: string): Readonly<{ userId: UserId; hash: string }> | undefined => {
  const [, id] = FORMAT.exec(token) ?? [];
  if (id === undefined) return undefined;
  const hex = Buffer.from(id, 'base64url').toString('hex');
  const userId = parseUserId(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  return userId === undefined ? undefined : { userId, hash: hashOf(token) };
};

export const linkInvalid = (): DomainError =>
  new DomainError('LINK_INVALID', 'This link was used before, has expired, or is not whole. Ask for another.');

/** Throws LINK_INVALID where the link is not the one that was sent last, or has expired. */
export const assertLink = (kept: Link | undefined, hash: string, at: string): void => {
  if (kept === undefined || kept.expiresAt <= at || !timingSafeEqual(Buffer.from(kept.hash), Buffer.from(hash)))
    throw linkInvalid();
};
