/** People in tests: ports of their commands, and somebody who is signed in. */
import { Secret, TOTP } from 'otpauth';
import { argon2Passwords } from '../../src/adapters/passwords/argon2.js';
import { joseAccessTokens } from '../../src/adapters/access-tokens/jose.js';
import { otpauthSecondFactors } from '../../src/adapters/second-factor/otpauth.js';
import { qrCodePng } from '../../src/adapters/render/qr-code.js';
import { handle } from '../../src/commands/core/handle.js';
import type { Caller } from '../../src/commands/core/caller.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import type { PeoplePorts } from '../../src/commands/access/needs.js';
import { confirmSecondFactor, prepareSecondFactor } from '../../src/commands/people/credentials.js';
import { makeUser } from '../../src/commands/people/registration.js';
import { login } from '../../src/commands/people/sessions.js';
import { personPermissions, type Role } from '../../src/domain/access/permissions.js';
import type { SignedIn } from '../../src/api/people.js';
import {
  assertDefined,
  NO_TEAM,
  parseSessionId,
  teamStream,
  type TeamId,
  type UserId,
} from '../../src/domain/core/ids.js';
import type { Passwords } from '../../src/domain/ports/passwords.js';
import { isoTime } from '../../src/domain/core/time.js';
import type { TeamEvent } from '../../src/domain/teams/events.js';
import { evolveTeam } from '../../src/domain/teams/state.js';

export const PASSWORD = 'a pelican in the rain';

/** They cost nothing where many are tried at once. */
export const quickPasswords: Passwords = {
  hash: async (password) => `quick:${password}`,
  verify: async (hash, password) => hash === `quick:${password}`,
  isOutdated: () => false,
  isCommon: () => false,
};

const noProviders: PeoplePorts['providers'] = {
  all: [],
  begin: () => Promise.reject(new Error('there is no provider')),
  finish: () => Promise.reject(new Error('there is no provider')),
  close: async () => undefined,
};

export const peopleOfTest = (more: Partial<PeoplePorts> = {}): PeoplePorts => ({
  passwords: argon2Passwords(),
  accessTokens: joseAccessTokens(),
  secondFactors: otpauthSecondFactors(),
  drawCode: qrCodePng,
  publicUrl: 'https://mail.example.com',
  registration: 'open',
  appsRegister: true,
  providers: noProviders,
  isOnLoopback: false,
  ...more,
});

export const from = { requestId: 'request-1', ipAddress: '192.0.2.7', userAgent: 'Mozilla/5.0' };

export type Person = SignedIn & Readonly<{ userId: UserId; headers: Readonly<Record<string, string>> }>;

type Somebody = Readonly<{ email?: string; name?: string; password?: string; role?: Role; teamId?: TeamId }>;

/** A person whose address is verified, in the team where one is given, and signed in. */
export const signedIn = async (deps: CommandNeeds, somebody: Somebody = {}): Promise<Person> => {
  const { email = 'ada@example.com', name = 'Ada', password = PASSWORD, role = 'owner', teamId } = somebody;
  const userId = await makeUser(deps, { email, password, name }, { isVerified: true, from: from.requestId });
  if (teamId !== undefined) await addMember(deps, teamId, userId, role);
  const session = await login(deps, { email, password }, from);
  const headers = {
    authorization: `Bearer ${session.accessToken}`,
    ...(teamId === undefined ? {} : { 'x-team-id': teamId }),
  };
  return { ...session, userId, headers };
};

/** As the operator adds somebody. */
export const addMember = async (deps: CommandNeeds, teamId: TeamId, userId: UserId, role: Role): Promise<void> => {
  const at = isoTime(deps.clock.now());
  const events: readonly TeamEvent[] = [{ type: 'MemberAdded', data: { at, userId, role } }];
  const cause = { teamId, actor: 'cli', correlationId: 'test', causationId: 'test', at };
  await handle(
    deps.eventLog,
    teamStream(teamId),
    { decide: () => events, evolve: evolveTeam, initialState: undefined },
    null,
    cause,
  );
};

/** A caller with the session of that person and without a team. */
export const callerOf = ({ userId, sessionId }: Pick<Person, 'userId' | 'sessionId'>): Caller => ({
  teamId: NO_TEAM,
  actor: `user:${userId}`,
  permissions: personPermissions,
  correlationId: 'request-2',
  user: { id: userId, sessionId: assertDefined(parseSessionId(sessionId), 'session id') },
});

/** The code that an authenticator app shows for that secret at that moment. */
export const codeAt = (secret: string, atMs: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });

/** Sets up a second factor; the code of this moment is used up by it. */
export const withSecondFactor = async (
  deps: CommandNeeds,
  person: Pick<Person, 'userId' | 'sessionId'>,
): Promise<Readonly<{ secret: string; recoveryCodes: readonly string[] }>> => {
  const { secret } = await prepareSecondFactor(deps, callerOf(person), { password: PASSWORD });
  const { recoveryCodes } = await confirmSecondFactor(deps, callerOf(person), {
    code: codeAt(secret, deps.clock.now()),
  });
  return { secret, recoveryCodes };
};
