/** `sealpost team …`: shows and changes what the team's mails say of its company. */
import { reactivate } from '../commands/billing/activity.js';
import { changeTeam, type TeamChanges } from '../commands/teams/commands-teams.js';
import { changeTracking } from '../commands/recipients/commands-tracking.js';
import { teamStream } from '../domain/core/ids.js';
import { isoTime } from '../domain/core/iso-time.js';
import type { Company } from '../domain/rendering/scope/environment.js';
import type { TeamState } from '../domain/teams/state.js';
import { NO_TRACKING } from '../domain/recipients/settings.js';
import { nameFault } from '../shared/text.js';
import { print } from './core/output.js';
import { withTeam } from './core/engine.js';

export type TeamOptions = Readonly<{ name?: string; from?: string; company?: readonly string[] }>;

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

export type TrackingOptions = Readonly<{ opens?: string; clicks?: string }>;

/** Changes what is given, and prints what holds then. A running server knows at once. */
export const teamTracking = (options: TrackingOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const asked = { opens: isOn('--opens', options.opens), clicks: isOn('--clicks', options.clicks) };
    const now = (await engine.team(teamStream(teamId))).state?.tracking ?? NO_TRACKING;
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    const wanted = { opens: asked.opens ?? now.opens, clicks: asked.clicks ?? now.clicks };
    print(JSON.stringify(await changeTracking(engine, teamId, wanted, cause)));
  });

/** A running server knows at once. */
export const reactivateTeam = (): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const cause = { teamId, actor: 'cli', correlationId: 'cli', causationId: 'cli', at: isoTime(engine.clock.now()) };
    const were = await reactivate(engine, teamId, cause);
    print(were ? 'The API keys of the team work again.' : 'The API keys of the team are not disabled.');
  });

const isOn = (option: string, text: string | undefined): boolean | undefined => {
  if (text === undefined) return undefined;
  if (text !== 'on' && text !== 'off') throw new Error(`${option} ${text} is neither on nor off`);
  return text === 'on';
};

/** Throws where the text cannot be a name. */
const refuseNoName = (option: string, name: string | undefined): void => {
  const fault = name === '' ? 'must not be empty' : nameFault(name ?? 'absent');
  if (fault !== undefined) throw new Error(`${option} ${fault}`);
};

/** `Name <address>` or a bare address. */
const senderOf = (text: string) => {
  const named = /^\s*(.*?)\s*<([^<>]+)>\s*$/.exec(text);
  if (named !== null && named[1] !== '') refuseNoName('--from', named[1]);
  return named === null ? { email: text.trim() } : { email: named[2]!.trim(), ...(named[1] === '' ? {} : { name: named[1]! }) };
};

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

const companyField = (text: string): [keyof Company, string] => {
  const at = text.indexOf('=');
  const field = companyFields.find((known) => known === text.slice(0, at));
  if (field === undefined)
    throw new Error(`--company ${text} is not of the form field=value with one of the fields ${companyFields.join(', ')}`);
  return [field, text.slice(at + 1)];
};
