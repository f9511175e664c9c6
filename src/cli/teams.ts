/**
 * `sealpost team …`: shows and changes the settings of the first team, and the members of any. A running server knows
 * at once.
 */
import { loadState } from '../commands/core/handle.js';
import { systemCaller } from '../commands/core/caller.js';
import { addMember, listMembers, removeMember, changeTeam, type TeamChanges } from '../commands/teams/teams.js';
import { ownerOf, signInAddress, loadUser } from '../commands/access/users.js';
import { roles } from '../domain/access/permissions.js';
import { DomainError } from '../domain/core/errors.js';
import {
  assertDefined,
  parseTeamId,
  parseUserId,
  splitStream,
  teamStream,
  type TeamId,
  type UserId,
} from '../domain/core/ids.js';
import { isoTime } from '../domain/core/time.js';
import { evolveTeam, type TeamState } from '../domain/teams/state.js';
import type { Engine } from '../service/engine.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';
import { reactivate } from '../commands/billing/billing.js';
import { changeTracking } from '../commands/recipients/tracking.js';
import { splitMailbox, type Recipient } from '../domain/mime/address.js';
import type { Company } from '../domain/rendering/scope/constants.js';
import { NO_TRACKING } from '../domain/recipients/tracking.js';
import { counted, nameFault } from '../shared/text.js';

export type TeamOptions = Readonly<{ name?: string; from?: string; company?: readonly string[] }>;

export type TrackingOptions = Readonly<{ opens?: string; clicks?: string }>;

export type ListOptions = Readonly<{ json?: boolean }>;
export type OfTeamOptions = Readonly<{ team?: string; json?: boolean }>;
export type RemoveMemberOptions = Readonly<{ team?: string; revokeKeys?: boolean }>;
export type AddMemberOptions = Readonly<{ team?: string; role: string }>;

type Listed = Readonly<{ id: TeamId; name: string; members: number; createdAt: string; deletedAt: string | null }>;

const fold = { evolve: evolveTeam, initialState: undefined as TeamState };

const companyFields: readonly (keyof Company)[] = [
  'name',
  'legalName',
  'email',
  'phone',
  'website',
  'addressLine1',
  'city',
  'state',
  'postalCode',
  'country',
];

export const showTeam = (): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { state } = await engine.team(teamStream(teamId));
    print(JSON.stringify({ id: teamId, ...state, ...entriesOf(state) }, undefined, 2));
  });

/** Maps as objects, which JSON has. */
const entriesOf = (state: TeamState): object => ({
  ...(state?.members === undefined ? {} : { members: Object.fromEntries(state.members) }),
  ...(state?.invitations === undefined ? {} : { invitations: Object.fromEntries(state.invitations) }),
});

export const setTeam = (options: TeamOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    refuseNoName('--name', options.name);
    const changes: TeamChanges = {
      ...(options.name === undefined ? {} : { name: options.name }),
      ...(options.from === undefined ? {} : { defaultFrom: senderOf(options.from) }),
      ...(options.company === undefined ? {} : { company: Object.fromEntries(options.company.map(companyField)) }),
    };
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    print(JSON.stringify(await changeTeam(engine, teamId, changes, cause), undefined, 2));
  });

/** Throws where the text cannot be a name. */
const refuseNoName = (option: string, name: string | undefined): void => {
  const fault = name === '' ? 'must not be empty' : nameFault(name ?? 'absent');
  if (fault !== undefined) throw new Error(`${option} ${fault}`);
};

/** `Name <address>` or a bare address. */
const senderOf = (text: string): Recipient => {
  const sender = splitMailbox(text);
  if (sender.name !== undefined) refuseNoName('--from', sender.name);
  return sender;
};

const companyField = (text: string): [keyof Company, string] => {
  const at = text.indexOf('=');
  const field = companyFields.find((known) => known === text.slice(0, at));
  if (field === undefined)
    throw new Error(
      `--company ${text} is not of the form field=value with one of the fields ${companyFields.join(', ')}`,
    );
  return [field, text.slice(at + 1)];
};

/** Changes what is given, and prints what holds then. A running server knows at once. */
export const teamTracking = (options: TrackingOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const asked = { opens: isOn('--opens', options.opens), clicks: isOn('--clicks', options.clicks) };
    const now = (await engine.team(teamStream(teamId))).state?.tracking ?? NO_TRACKING;
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    const wanted = { opens: asked.opens ?? now.opens, clicks: asked.clicks ?? now.clicks };
    print(JSON.stringify(await changeTracking(engine, teamId, wanted, cause)));
  });

const isOn = (option: string, text: string | undefined): boolean | undefined => {
  if (text === undefined) return undefined;
  if (text !== 'on' && text !== 'off') throw new Error(`${option} ${text} is neither on nor off`);
  return text === 'on';
};

/** A running server knows at once. */
export const reactivateTeam = (): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    const were = await reactivate(engine, teamId, cause);
    print(were ? 'The API keys of the team work again.' : 'The API keys of the team are not disabled.');
  });

export const listTeams = ({ json = false }: ListOptions): Promise<void> =>
  withTeam(async (engine) => {
    const found: Listed[] = [];
    for await (const team of allTeams(engine)) {
      if (json) found.push(team);
      else
        print(
          `${team.id}  ${team.name}  ${counted(team.members, 'member')}${team.deletedAt === null ? '' : `  deleted ${team.deletedAt}`}`,
        );
    }
    if (json) print(JSON.stringify(found));
  });

/** Reads the teams from the log, which is never behind. Teams that were removed for good are left out. */
async function* allTeams({ eventLog }: Engine): AsyncGenerator<Listed> {
  for await (const { events } of eventLog.readAll(0, { kinds: ['team'], types: ['TeamCreated'], decrypt: [] }))
    for (const { stream } of events) {
      const id = assertDefined(parseTeamId(splitStream(stream).id), 'team id');
      const { state } = await loadState(eventLog, teamStream(id), fold);
      if (state === undefined || state.erasedAt !== undefined) continue;
      const { settings, members, createdAt, deletedAt = null } = state;
      yield { id, name: settings.name, members: members?.size ?? 0, createdAt, deletedAt };
    }
}

export const listMembersOf = ({ team, json = false }: OfTeamOptions): Promise<void> =>
  withTeam(async (engine, first) => {
    const { data } = await listMembers(engine, systemCaller(await teamIdOf(engine, team, first), 'cli', 'cli'));
    if (json) return print(JSON.stringify(data));
    for (const { userId, email, name, role, since } of data)
      print(`${userId}  ${role}  ${email ?? '-'}  ${name ?? '-'}  since ${since}`);
  });

export const addMemberTo = (user: string, { team, role: text }: AddMemberOptions): Promise<void> =>
  withTeam(async (engine, first) => {
    const role = roles.find((known) => known === text);
    if (role === undefined) throw new Error(`--role ${text} is not one of ${roles.join(', ')}`);
    const teamId = await teamIdOf(engine, team, first);
    const userId = await userIdOf(engine, user);
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    await addMember(engine, teamId, userId, role, cause);
    print(`${user} is ${role} of team ${teamId}.`);
  });

export const removeMemberFrom = (user: string, { team, revokeKeys = false }: RemoveMemberOptions): Promise<void> =>
  withTeam(async (engine, first) => {
    const teamId = await teamIdOf(engine, team, first);
    const { keys } = await removeMember(engine, systemCaller(teamId, 'cli', 'cli'), await userIdOf(engine, user), {
      revokeKeys,
    });
    print(`${user} is not in team ${teamId} any more.`);
    for (const { id, name } of keys)
      print(`${id}  ${name}  ${revokeKeys ? 'revoked' : 'goes on; sealpost key revoke ends it'}`);
  });

const teamIdOf = async (engine: Engine, text: string | undefined, first: TeamId): Promise<TeamId> => {
  if (text === undefined) return first;
  const id = parseTeamId(text);
  const { state } = id === undefined ? {} : await loadState(engine.eventLog, teamStream(id), fold);
  if (id === undefined || state === undefined || state.erasedAt !== undefined)
    throw new Error(`there is no team ${text}; sealpost team list shows them`);
  return id;
};

/** By address or id. */
const userIdOf = async (engine: Engine, text: string): Promise<UserId> => {
  const id =
    parseUserId(text) ??
    (text.includes('@') ? await ownerOf(engine, signInAddress(engine, text).addressId) : undefined);
  if (id === undefined) throw noUser(text);
  try {
    await loadUser(engine, id);
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'USER_NOT_FOUND') throw noUser(text);
    throw fault;
  }
  return id;
};

const noUser = (text: string): Error =>
  new Error(`there is no user ${text}; people register themselves, or by an invitation`);
