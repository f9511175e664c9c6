/** What the events of a person add up to, and who has an address. */
import type { Role } from '../access/roles.js';
import { DomainError } from '../core/errors.js';
import type { TeamId } from '../core/ids.js';
import type { EndReason } from './session.js';
import type { UserAddressEvent, UserEvent } from './events.js';

/** What a link in a mail carries, as it is kept. */
export type Link = Readonly<{ hash: string; expiresAt: string }>;

export type SecondFactor = Readonly<{
  /** undefined once the key of the person is destroyed, as all that is personal below. */
  secret: string | undefined;
  recoveryHashes: readonly string[];
  usedRecovery: ReadonlySet<number>;
  /** No code of this step or of one before is taken. */
  step: number;
}>;

export type User = Readonly<{
  addressId: string;
  isVerified: boolean;
  email: string | undefined;
  name: string | undefined;
  passwordHash: string | undefined;
  registeredAt: string;
  /** The invitation by which the person came; undefined where there was none. */
  invitation: string | undefined;
  /** How often all sessions were ended. A session of an earlier epoch has ended, but the one that was kept. */
  epoch: number;
  /** It had not ended when all others were. */
  keptSession: string | undefined;
  /** Why they were ended last. */
  endedBy: Extract<EndReason, 'password' | 'revoked' | 'erased'> | undefined;
  links: Readonly<Partial<Record<'verify' | 'reset', Link>>>;
  nextAddress: (Link & Readonly<{ addressId: string; email: string | undefined }>) | undefined;
  /** A second factor that is not asked for yet. */
  prepared: Readonly<{ secret: string | undefined; at: string }> | undefined;
  secondFactor: SecondFactor | undefined;
  /** Fingerprints of networks and devices from which the person signed in, those last that are known for the shortest time. */
  places: ReadonlySet<string>;
  /** How many of them were new on the day on which the last one was. */
  newPlaces: Readonly<{ day: string; count: number }>;
  isErased: boolean;
}>;

export type UserState = User | undefined;

export const userNotFound = (): DomainError =>
  new DomainError('USER_NOT_FOUND', 'There is no user with this id in a team of yours. GET /api/teams lists your teams.');

const ended = (user: User, endedBy: NonNullable<User['endedBy']>, keptSession?: string): User => ({
  ...user,
  epoch: user.epoch + 1,
  keptSession,
  endedBy,
});

const without = (links: User['links'], use: 'verify' | 'reset'): User['links'] => {
  const { [use]: _, ...others } = links;
  return others;
};

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
      keptSession: undefined,
      endedBy: undefined,
      links: {},
      nextAddress: undefined,
      prepared: undefined,
      secondFactor: undefined,
      places: new Set(),
      newPlaces: NO_PLACES,
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
    case 'UserAddressVerified':
      return { ...user, isVerified: true, links: without(user.links, 'verify') };
    case 'UserAddressChangeAsked': {
      const { hash, expiresAt, addressId } = event.data;
      return { ...user, nextAddress: { hash, expiresAt, addressId, email: event.sealed?.email } };
    }
    case 'UserAddressChanged':
      // A link that went to the address of before opens nothing any more.
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
      // Whoever asked for another address knew the password of before.
      return ended({ ...changed, links: without(user.links, 'reset'), nextAddress: undefined }, 'password', event.data.keptSession);
    }
    case 'UserSessionsEnded':
      return ended(user, 'revoked', event.data.keptSession);
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
      return withFactor(user, (factor) => ({ ...factor, usedRecovery: new Set(factor.usedRecovery).add(event.data.index) }));
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
    case 'UserErased':
      return { ...ended(user, 'erased'), ...nothingPersonal, links: {}, nextAddress: undefined, secondFactor: undefined, isErased: true };
  }
};

/** More than a person signs in from; of older ones they are told anew. */
const PLACES_MAX = 200;

/** Whether the person signed in from that network and by that device before. */
export const knowsPlace = ({ places }: User, { network, device }: Readonly<{ network: string; device: string }>): boolean =>
  places.has(network) && places.has(device);

const NO_PLACES: User['newPlaces'] = { day: '', count: 0 };

const dayOf = (at: string): string => at.slice(0, 10);

/** From how many new places the person has signed in on the day of `at`. */
export const newPlacesOn = ({ newPlaces }: User, at: string): number => (newPlaces.day === dayOf(at) ? newPlaces.count : 0);

const nothingPersonal = {
  email: undefined,
  name: undefined,
  passwordHash: undefined,
  prepared: undefined,
  places: new Set<string>(),
} as const;

const withFactor = (user: User, change: (factor: SecondFactor) => SecondFactor): User =>
  user.secondFactor === undefined ? user : { ...user, secondFactor: change(user.secondFactor) };

/** Whether a session that began under that epoch is still one. One that was kept may have begun under any before. */
export const holdsSession = (user: User, sessionId: string, epoch: number): boolean =>
  !user.isErased && (epoch === user.epoch || user.keptSession === sessionId);

/** The id of the person who has an address; undefined where nobody has. */
export type UserAddressState = string | undefined;

export const evolveUserAddress = (owner: UserAddressState, event: UserAddressEvent): UserAddressState => {
  switch (event.type) {
    case 'UserAddressClaimed':
      return event.data.userId;
    case 'UserAddressReleased':
      return owner === event.data.userId ? undefined : owner;
  }
};

/** A team that a person is in. */
export type Membership = Readonly<{ teamId: TeamId; role: Role }>;
