/**
 * Sign-in by a provider (OpenID Connect): the secrets of an attempt stay in a signed cookie of the browser that began
 * it. A person is known by the identity that the provider says, and only the first time by their verified address.
 */
import { timingSafeEqual } from 'node:crypto';
import { openTurns } from '../../shared/concurrency.js';
import { nameFault } from '../../shared/text.js';
import { changeUser, loadUser, ownerOf, personOf, signInAddress } from '../access/users.js';
import { withRefusedUser, type Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import { joinBy, finishJoining, readInvitation, type Invited } from '../teams/invitations.js';
import type { TeamNeeds } from '../teams/needs.js';
import { noteLogins } from '../billing/billing.js';
import { assertOwnPassword, assertSecondFactor, codeRequired } from './credentials.js';
import { registrationClosed, makeUser, removeUser, teamWithoutOwner } from './registration.js';
import { noteSignInPlace, personalCause, startSession, type CalledFrom } from './sessions.js';
import { claimAddress, confirmAddress, ownCause, releaseAddress } from './users.js';
import type { BeginIdentityLinkRequest, LinkedIdentityRecord, SignedIn } from '../../api/people.js';
import type { Deleted } from '../../api/core/common.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import {
  parseUserId,
  userAddressIdOfFingerprint,
  userStream,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { identityNotFound, userDecider, type UserCommand } from '../../domain/people/decider.js';
import { invitationNotYours } from '../../domain/teams/invitation.js';
import { normalPassword, type User } from '../../domain/people/user.js';
import { ProviderFault, type SignInProvider, type SignInSecrets } from '../../domain/ports/sign-in-providers.js';
import type { Cause } from '../../event-log/event-log.js';

/** The address to which the browser goes, and the cookie that it must bring back. */
export type BegunSignIn = Readonly<{ url: string; cookie: string }>;

/** `code`: the second factor is asked for; the cookie says of whom. `linked`: nobody was signed in. */
export type FinishedSignIn = Readonly<{ returnTo: string }> &
  Readonly<
    { kind: 'signed-in'; signedIn: SignedIn } | { kind: 'code'; cookie: string } | { kind: 'linked'; label: string }
  >;

type TeamsOf = (userId: UserId) => Promise<readonly TeamId[]>;

/** An attempt before the provider has answered. `linkTo`: the person who gets the identity. */
type Attempt = SignInSecrets &
  Readonly<{ stage: 'begun'; provider: string; returnTo: string; invitation?: string; linkTo?: string }>;

/** The provider has answered, and a code of the second factor is missing. */
type Pending = Readonly<{ stage: 'code'; provider: string; returnTo: string; invitation?: string }> &
  Readonly<{ userId: string; identityId: string; email: string }>;

/** An identity that may sign in: its address is verified and of a domain of the provider. */
type Allowed = Readonly<{ identityId: string; email: string; name: string }>;

type Admission = Readonly<{
  provider: SignInProvider;
  userId: UserId;
  user: User;
  identityId: string;
  email: string;
  invited: Invited | undefined;
  /** Whether a second factor was given, to the provider or here. */
  secondFactor: boolean;
}>;

/** An attempt must end within this time: the person signs in at the provider meanwhile. */
export const SIGN_IN_ATTEMPT_MS = 10 * 60_000;

const RETURN_TO_CHARS_MAX = 1_000;

const ATTEMPT = /^([A-Za-z0-9_-]{1,6000})\.([0-9a-f]{64})$/;

/** The providers that the operator has set up, for pages. */
export const signInProviders = async (
  deps: Pick<TeamNeeds, 'people'>,
): Promise<{ data: { id: string; label: string }[] }> => ({
  data: deps.people.providers.all.map(({ id, label }) => ({ id, label })),
});

/** Rejects with SIGN_IN_PROVIDER_UNKNOWN, SIGN_IN_PROVIDER_AWAY, and VALIDATION_ERROR for a `returnTo` elsewhere. */
export const beginSignIn = async (
  deps: TeamNeeds,
  { provider, returnTo, invitation }: Readonly<{ provider: string; returnTo?: string; invitation?: string }>,
): Promise<BegunSignIn> => begin(deps, provider, { returnTo, ...(invitation === undefined ? {} : { invitation }) });

/**
 * Begins to link another identity to the caller, who proves again who they are. Rejects as `beginSignIn`, and with
 * INVALID_CREDENTIALS, CODE_REQUIRED, INVALID_CODE.
 */
export const beginIdentityLink = async (
  deps: TeamNeeds,
  caller: Caller,
  provider: string,
  { password, code, returnTo }: BeginIdentityLinkRequest,
): Promise<BegunSignIn> => {
  const userId = personOf(caller);
  providerOf(deps, provider);
  const user = await assertOwnPassword(deps, userId, password);
  if (user.secondFactor !== undefined) await assertSecondFactor(deps, userId, code, ownCause(deps, caller));
  return begin(deps, provider, { returnTo, linkTo: userId });
};

/**
 * In: the cookie of the attempt, and the query with which the provider sent the browser back. Rejects with
 * SIGN_IN_REFUSED where the two do not belong together, with SIGN_IN_NOT_ALLOWED, IDENTITY_NOT_LINKED, IDENTITY_TAKEN,
 * REGISTRATION_CLOSED, and as invitations do. A code is good once, at the provider.
 */
export const finishSignIn = async (
  deps: TeamNeeds,
  { provider: id, cookie, query }: Readonly<{ provider: string; cookie: string | undefined; query: string }>,
  from: CalledFrom,
  teamsOf?: TeamsOf,
): Promise<FinishedSignIn> => {
  const provider = providerOf(deps, id);
  const attempt = readAttempt(deps, cookie);
  if (attempt?.stage !== 'begun' || attempt.provider !== id) throw refused();
  const identity = await answered(() =>
    deps.people.providers.finish(provider, callbackOf(deps, id), { query, secrets: attempt }),
  );
  const allowed = allowedOf(deps, provider, identity);
  const { returnTo, linkTo, invitation } = attempt;
  if (linkTo !== undefined) {
    const userId = parseUserId(linkTo)!;
    await loadUser(deps, userId);
    await linkIdentity(deps, userId, provider, allowed, personalCause(deps, userId, from));
    return { kind: 'linked', returnTo, label: provider.label };
  }
  const invited = invitation === undefined ? undefined : await readInvitation(deps, invitation);
  for (let tries = 1; ; tries += 1) {
    try {
      return await turns(allowed.identityId, () =>
        signInAs(deps, { provider, allowed, invited, attempt }, from, teamsOf),
      );
    } catch (fault) {
      const isCrossed = fault instanceof DomainError && CROSSED.has(fault.code);
      if (!isCrossed || tries === SIGN_IN_TRIES_MAX) throw fault;
    }
  }
};

/** Sign-ins of one person go one after another. */
const turns = openTurns();

/** Faults where another process makes the user of the same person at the same moment; the next try finds it. */
const CROSSED: ReadonlySet<string> = new Set(['ADDRESS_TAKEN', 'IDENTITY_TAKEN', 'USER_NOT_FOUND']);

const SIGN_IN_TRIES_MAX = 3;

type Answered = Readonly<{
  provider: SignInProvider;
  allowed: Allowed;
  invited: Invited | undefined;
  attempt: Attempt;
}>;

const signInAs = async (
  deps: TeamNeeds,
  { provider, allowed, invited, attempt: { returnTo, invitation } }: Answered,
  from: CalledFrom,
  teamsOf: TeamsOf | undefined,
): Promise<FinishedSignIn> => {
  const { userId, user } = await personBehind(deps, provider, allowed, invited, from);
  if (user.secondFactor !== undefined && !provider.asksSecondFactor) {
    const { identityId, email } = allowed;
    const pending: Pending = {
      stage: 'code',
      provider: provider.id,
      returnTo,
      userId,
      identityId,
      email,
      ...(invitation === undefined ? {} : { invitation }),
    };
    return { kind: 'code', returnTo, cookie: signed(deps, pending) };
  }
  const signedIn = await admit(
    deps,
    { provider, userId, user, ...allowed, invited, secondFactor: provider.asksSecondFactor },
    from,
    teamsOf,
  );
  return { kind: 'signed-in', returnTo, signedIn };
};

/** The address of the person of whom a code is asked. Rejects with SIGN_IN_REFUSED. */
export const pendingAddress = async (deps: TeamNeeds, cookie: string | undefined): Promise<string> => {
  const { userId } = pendingOf(deps, cookie);
  return (await loadUser(deps, parseUserId(userId)!)).email ?? '';
};

/** Ends a sign-in that waits for a code. Rejects with SIGN_IN_REFUSED, CODE_REQUIRED, INVALID_CODE. */
export const giveSignInCode = async (
  deps: TeamNeeds,
  { cookie, code }: Readonly<{ cookie: string | undefined; code: string | undefined }>,
  from: CalledFrom,
  teamsOf?: TeamsOf,
): Promise<Extract<FinishedSignIn, { kind: 'signed-in' }>> => {
  const { provider: id, userId: text, identityId, email, returnTo, invitation } = pendingOf(deps, cookie);
  const provider = providerOf(deps, id);
  const userId = parseUserId(text)!;
  const user = await loadUser(deps, userId);
  if (code === undefined) throw codeRequired();
  const secondFactor = await assertSecondFactor(deps, userId, code, personalCause(deps, userId, from));
  const invited = invitation === undefined ? undefined : await readInvitation(deps, invitation);
  const signedIn = await admit(
    deps,
    { provider, userId, user, identityId, email, invited, secondFactor },
    from,
    teamsOf,
  );
  return { kind: 'signed-in', returnTo, signedIn };
};

export const listIdentities = async (deps: TeamNeeds, caller: Caller): Promise<{ data: LinkedIdentityRecord[] }> => {
  const { identities } = await loadUser(deps, personOf(caller));
  const labels = new Map(deps.people.providers.all.map(({ id, label }) => [id, label]));
  return {
    data: [...identities].map(([id, { provider, at, email }]) => ({
      id,
      provider,
      label: labels.get(provider) ?? provider,
      email: email ?? null,
      linkedAt: at,
    })),
  };
};

/** The identity signs the person in no more; open sessions go on. Rejects with IDENTITY_NOT_FOUND. */
export const unlinkIdentity = async (deps: TeamNeeds, caller: Caller, id: string): Promise<Deleted> => {
  const userId = personOf(caller);
  const cause = ownCause(deps, caller);
  const { identities } = await loadUser(deps, userId);
  if (!identities.has(id)) throw identityNotFound();
  await changeUser(deps, userId, { type: 'UnlinkIdentity', at: cause.at, identityId: id }, cause);
  await releaseAddress(deps, id, userId, cause);
  return { id, deleted: true };
};

/** As `beginIdentityLink`, for a caller who has just signed in with the password. */
export const beginProvenLink = async (deps: TeamNeeds, caller: Caller, provider: string): Promise<BegunSignIn> =>
  begin(deps, provider, { returnTo: undefined, linkTo: personOf(caller) });

const begin = async (
  deps: TeamNeeds,
  id: string,
  { returnTo, ...more }: Readonly<{ returnTo?: string | undefined; invitation?: string; linkTo?: string }>,
): Promise<BegunSignIn> => {
  const provider = providerOf(deps, id);
  const secret = (): string => deps.ids.bytes(32).toString('base64url');
  const secrets = { state: secret(), nonce: secret(), verifier: secret() };
  const attempt: Attempt = { stage: 'begun', provider: id, returnTo: ownPath(deps, returnTo), ...secrets, ...more };
  const url = await answered(() => deps.people.providers.begin(provider, callbackOf(deps, id), secrets));
  return { url, cookie: signed(deps, attempt) };
};

/** Path of a page of this service, so that no link to this service leads elsewhere. Throws VALIDATION_ERROR. */
const ownPath = ({ people }: Pick<TeamNeeds, 'people'>, given = '/account'): string => {
  const base = new URL(people.publicUrl);
  const isPath = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(given) && given.length <= RETURN_TO_CHARS_MAX;
  const url = isPath && URL.canParse(given, base.origin) ? new URL(given, base.origin) : undefined;
  // A path that begins with two slashes once its dots are resolved names another host to a browser.
  if (url?.origin !== base.origin || url.pathname.startsWith('//'))
    throw invalid('query', 'returnTo', 'must be a path of this service, such as /account');
  return `${url.pathname}${url.search}${url.hash}`;
};

const callbackOf = ({ people }: Pick<TeamNeeds, 'people'>, id: string): string =>
  `${people.publicUrl}/api/auth/oidc/${id}/callback`;

const providerOf = ({ people }: Pick<TeamNeeds, 'people'>, id: string): SignInProvider => {
  const provider = people.providers.all.find((one) => one.id === id);
  if (provider === undefined)
    throw new DomainError(
      'SIGN_IN_PROVIDER_UNKNOWN',
      'There is no sign-in provider with this name. GET /api/auth/oidc lists them.',
    );
  return provider;
};

const answered = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await ask();
  } catch (fault) {
    if (!(fault instanceof ProviderFault)) throw fault;
    throw fault.fault === 'refused'
      ? new DomainError('SIGN_IN_REFUSED', fault.message)
      : new DomainError(
          'SIGN_IN_PROVIDER_AWAY',
          'The sign-in provider does not answer as it should. Try again later, or sign in with a password.',
          { retryAfterS: 60 },
        );
  }
};

const refused = (): DomainError =>
  new DomainError(
    'SIGN_IN_REFUSED',
    'This browser has not begun this sign-in, or more than ten minutes ago. Begin it anew.',
  );

const allowedOf = (
  deps: TeamNeeds,
  { label, domains }: SignInProvider,
  {
    issuer,
    subject,
    email: given,
    isEmailVerified,
    name,
  }: Awaited<ReturnType<TeamNeeds['people']['providers']['finish']>>,
): Allowed => {
  if (given === undefined || !isEmailVerified)
    throw new DomainError('SIGN_IN_NOT_ALLOWED', `${label} says no address of yours that it has verified.`);
  const { email } = signInAddress(deps, given);
  const domain = email.slice(email.lastIndexOf('@') + 1);
  if (domains !== undefined && !domains.includes(domain))
    throw new DomainError('SIGN_IN_NOT_ALLOWED', `Addresses of ${domain} do not sign in by ${label}.`);
  const fingerprint = deps.keys.fingerprint('external identity', JSON.stringify([issuer, subject]));
  return { identityId: userAddressIdOfFingerprint(fingerprint), email, name: nameOf(name, email) };
};

/** A name that may stand in mails and lists; without one, the part before the @. */
const nameOf = (given: string | undefined, email: string): string => {
  const candidates = [given?.trim() ?? '', email.slice(0, email.lastIndexOf('@')), 'User'];
  const isGood = (name: string): boolean =>
    name !== '' && [...name].length <= defaultLimits.userNameCharsMax && nameFault(name) === undefined;
  return candidates.find(isGood)!;
};

/** The person who has the identity, or who gets it: by their address, or as a new user. */
const personBehind = async (
  deps: TeamNeeds,
  provider: SignInProvider,
  allowed: Allowed,
  invited: Invited | undefined,
  from: CalledFrom,
): Promise<Readonly<{ userId: UserId; user: User }>> => {
  const { identityId, email, name } = allowed;
  const known = await livingOf(deps, await ownerOf(deps, identityId));
  if (known?.user.identities.has(identityId) === true) return known;
  const { addressId } = signInAddress(deps, email);
  const holder = await livingOf(deps, await ownerOf(deps, addressId));
  const owner = holder?.user.addressId === addressId ? holder : undefined;
  if (owner?.user.isVerified === true) {
    if (provider.isAuthoritative) return owner;
    throw withRefusedUser(
      owner.userId,
      new DomainError(
        'IDENTITY_NOT_LINKED',
        `A user has this address. Sign in with the password, then link ${provider.label} on the page /account/link/${provider.id}.`,
      ),
    );
  }
  await assertMayRegister(deps, email, invited);
  // The address is proved now for the first time: a password that somebody set before must not open the account.
  const password = deps.ids.bytes(32).toString('base64url');
  if (owner !== undefined) {
    const { userId } = owner;
    const proof = { name, passwordHash: await deps.people.passwords.hash(normalPassword(password)) };
    await linkIdentity(deps, userId, provider, allowed, personalCause(deps, userId, from), proof);
    return { userId, user: await loadUser(deps, userId) };
  }
  const userId = await makeUser(
    deps,
    { email, password, name },
    {
      isVerified: true,
      from,
      identity: { identityId, provider: provider.id, email },
      ...(invited === undefined ? {} : { invitation: invited.id }),
    },
  );
  if (invited !== undefined) {
    const cause = personalCause(deps, userId, from);
    try {
      await joinBy(deps, invited, userId, cause);
    } catch (fault) {
      // After any other fault the user stays: they may have joined, and the next sign-in goes on.
      if (fault instanceof DomainError) await removeUser(deps, userId, email, cause);
      throw fault;
    }
  }
  return { userId, user: await loadUser(deps, userId) };
};

/** Throws INVITATION_NOT_YOURS and REGISTRATION_CLOSED. */
const assertMayRegister = async (deps: TeamNeeds, email: string, invited: Invited | undefined): Promise<void> => {
  if (deps.people.registration === 'closed') throw registrationClosed('Registration is closed.');
  if (invited !== undefined) {
    if (invited.email !== email) throw invitationNotYours();
    return;
  }
  if ((await teamWithoutOwner(deps)) !== undefined)
    throw registrationClosed('The first user registers with a password, by POST /api/auth/register.');
  if (deps.people.registration !== 'open')
    throw registrationClosed(
      'No user has this address, and registration needs an invitation. Open the link of your invitation and go on from there.',
    );
};

const livingOf = async (
  deps: TeamNeeds,
  userId: UserId | undefined,
): Promise<Readonly<{ userId: UserId; user: User }> | undefined> => {
  if (userId === undefined) return undefined;
  const { state: user } = await loadState(deps.eventLog, userStream(userId), userDecider);
  return user === undefined || user.isErased ? undefined : { userId, user };
};

/** Links the identity where it is new, joins the team of the invitation, and begins a session. */
const admit = async (
  deps: TeamNeeds,
  { provider, userId, user, identityId, email, invited, secondFactor }: Admission,
  from: CalledFrom,
  teamsOf: TeamsOf | undefined,
): Promise<SignedIn> => {
  const cause = personalCause(deps, userId, from);
  if (!user.identities.has(identityId)) await linkIdentity(deps, userId, provider, { identityId, email }, cause);
  if (invited !== undefined && user.invitation !== invited.id) {
    if (user.email !== invited.email) throw invitationNotYours();
    await joinBy(deps, invited, userId, cause);
  }
  if (user.invitation !== undefined) await finishJoining(deps, userId, user.invitation, cause);
  await noteSignInPlace(deps, userId, user, from, cause);
  const session = await startSession(deps, { userId, user, secondFactor, provider: provider.id }, from);
  if (teamsOf !== undefined) await noteLogins(deps, userId, await teamsOf(userId), cause);
  return session;
};

/**
 * Claims the identity as an address is claimed. `proof`: the name and password of a user whose address the identity
 * proves; one append verifies the user and links the identity. Rejects with IDENTITY_TAKEN where another person has it.
 */
const linkIdentity = async (
  deps: TeamNeeds,
  userId: UserId,
  { id, label }: SignInProvider,
  { identityId, email }: Pick<Allowed, 'identityId' | 'email'>,
  cause: Cause,
  proof?: Readonly<{ name: string; passwordHash: string }>,
): Promise<void> => {
  const taken = new DomainError('IDENTITY_TAKEN', `Another user signs in by this account of ${label}.`);
  try {
    await claimAddress(deps, identityId, userId, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError) || fault.code !== 'ADDRESS_TAKEN') throw fault;
    // Another sign-in of the same person may have claimed it at the same moment.
    if ((await ownerOf(deps, identityId)) !== userId) throw taken;
  }
  const identity = { at: cause.at, identityId, provider: id, email };
  const command: UserCommand =
    proof === undefined ? { type: 'LinkIdentity', ...identity } : { type: 'VerifyByProvider', ...identity, ...proof };
  await changeUser(deps, userId, command, cause);
  if (await confirmAddress(deps, identityId, userId, cause)) return;
  await changeUser(deps, userId, { type: 'UnlinkIdentity', at: cause.at, identityId }, cause);
  throw taken;
};

const signed = (deps: TeamNeeds, attempt: Attempt | Pending): string => {
  const expiresAtMs = deps.clock.now() + SIGN_IN_ATTEMPT_MS;
  const payload = Buffer.from(JSON.stringify({ ...attempt, expiresAtMs })).toString('base64url');
  return `${payload}.${markOf(deps, payload)}`;
};

const markOf = ({ keys }: TeamNeeds, payload: string): string =>
  keys.fingerprint('sign-in attempt', payload).slice(0, 64);

/** undefined where the cookie is missing, changed, or too old. */
const readAttempt = (deps: TeamNeeds, cookie: string | undefined): Attempt | Pending | undefined => {
  const [, payload, mark] = ATTEMPT.exec(cookie ?? '') ?? [];
  if (payload === undefined || mark === undefined) return undefined;
  if (!timingSafeEqual(Buffer.from(mark), Buffer.from(markOf(deps, payload)))) return undefined;
  const { expiresAtMs, ...attempt } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as (Attempt | Pending) &
    Readonly<{ expiresAtMs: number }>;
  return expiresAtMs > deps.clock.now() ? (attempt as Attempt | Pending) : undefined;
};

const pendingOf = (deps: TeamNeeds, cookie: string | undefined): Pending => {
  const attempt = readAttempt(deps, cookie);
  if (attempt?.stage !== 'code') throw refused();
  return attempt;
};
