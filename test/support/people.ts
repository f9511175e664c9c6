/** People in tests: ports of their commands, and somebody who is signed in. */
import { argon2Passwords } from '../../src/adapters/passwords/argon2.js';
import { joseAccessTokens } from '../../src/adapters/access-tokens/jose.js';
import { otpauthSecondFactors } from '../../src/adapters/second-factor/otpauth.js';
import { handle } from '../../src/commands/command-handler.js';
import type { CommandDeps } from '../../src/commands/deps.js';
import type { PeoplePorts } from '../../src/commands/people.js';
import { makeUser } from '../../src/commands/registering.js';
import { login } from '../../src/commands/sessions.js';
import type { SignedIn } from '../../src/api/auth.js';
import type { Role } from '../../src/domain/access/roles.js';
import { teamStream, type TeamId, type UserId } from '../../src/domain/ids.js';
import { isoTime } from '../../src/domain/ports/clock.js';
import type { TeamEvent } from '../../src/domain/team/events.js';
import { evolveTeam } from '../../src/domain/team/state.js';

export const PASSWORD = 'a pelican in the rain';

export const peopleOfTest = (more: Partial<PeoplePorts> = {}): PeoplePorts => ({
  passwords: argon2Passwords(),
  accessTokens: joseAccessTokens(),
  secondFactors: otpauthSecondFactors(),
  publicUrl: 'https://mail.example.com',
  registration: 'open',
  isOnLoopback: false,
  ...more,
});

export const from = { requestId: 'request-1', ipAddress: '192.0.2.7', userAgent: 'Mozilla/5.0' };

export type Person = SignedIn & Readonly<{ userId: UserId; headers: Readonly<Record<string, string>> }>;

type Somebody = Readonly<{ email?: string; name?: string; password?: string; role?: Role; teamId?: TeamId }>;

/** A person whose address is verified, in the team where one is given, and signed in. */
export const signedIn = async (deps: CommandDeps, somebody: Somebody = {}): Promise<Person> => {
  const { email = 'ada@example.com', name = 'Ada', password = PASSWORD, role = 'owner', teamId } = somebody;
  const userId = await makeUser(deps, { email, password, name }, { isVerified: true, requestId: from.requestId });
  if (teamId !== undefined) await addMember(deps, teamId, userId, role);
  const session = await login(deps, { email, password }, from);
  const headers = { authorization: `Bearer ${session.accessToken}`, ...(teamId === undefined ? {} : { 'x-team-id': teamId }) };
  return { ...session, userId, headers };
};

/** As the operator adds somebody. */
export const addMember = async (deps: CommandDeps, teamId: TeamId, userId: UserId, role: Role): Promise<void> => {
  const at = isoTime(deps.clock.now());
  const events: readonly TeamEvent[] = [{ type: 'MemberAdded', data: { at, userId, role } }];
  const cause = { teamId, actor: 'cli', correlationId: 'test', causationId: 'test', at };
  await handle(deps.eventLog, teamStream(teamId), { decide: () => events, evolve: evolveTeam, initialState: undefined }, null, cause);
};
