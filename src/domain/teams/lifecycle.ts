/** Decisions about a team itself: made, changed, deleted, restored, removed. */
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { UserId } from '../core/ids.js';
import type { Company } from '../rendering/scope/environment.js';
import type { Recipient } from '../mime/recipient.js';
import type { TeamEvent, TeamSettings } from './events.js';
import { livingTeam, roleOf, teamNotFound, type By } from './decider.js';
import { evolveTeam, type Billing, type Team, type TeamState } from './state.js';

export type TeamChanges = Readonly<{ name?: string; defaultFrom?: Recipient; company?: Partial<Company> }>;

export type TeamCommand =
  | Readonly<{ type: 'FoundTeam'; at: string; owner: UserId; billing: Billing; settings: TeamSettings }>
  | Readonly<{ type: 'ChangeTeam'; at: string; by: By; changes: TeamChanges; requiresSecondFactor?: boolean }>
  | Readonly<{ type: 'DeleteTeam'; at: string; by: By; firstTeam: boolean }>
  /** What was deleted before `deletedSince` is gone for good. */
  | Readonly<{ type: 'RestoreTeam'; at: string; by: By; deletedSince: string }>
  | Readonly<{ type: 'RemoveTeam'; at: string; deletedSince: string }>
  | Readonly<{ type: 'NoteErased'; at: string }>;

const changeTeam = (team: Team, command: Extract<TeamCommand, { type: 'ChangeTeam' }>): readonly TeamEvent[] => {
  const { at, by, changes, requiresSecondFactor } = command;
  roleOf(team, by, 'team:manage');
  const before = team.settings;
  const settings: TeamSettings = {
    name: changes.name ?? before.name,
    defaultFrom: changes.defaultFrom ?? before.defaultFrom,
    company: { ...before.company, ...changes.company },
  };
  const isSame = JSON.stringify(settings) === JSON.stringify(before);
  const isAsked = requiresSecondFactor !== undefined && requiresSecondFactor !== (team.requiresSecondFactor === true);
  return [
    ...(isSame ? [] : [{ type: 'TeamSettingsChanged' as const, data: { at, settings } }]),
    ...(isAsked ? [{ type: 'TeamSecurityChanged' as const, data: { at, requiresSecondFactor } }] : []),
  ];
};

const deleteTeam = (team: Team, { at, by, firstTeam }: Extract<TeamCommand, { type: 'DeleteTeam' }>): readonly TeamEvent[] => {
  roleOf(team, by, 'team:delete');
  if (firstTeam) {
    throw new DomainError('FIRST_TEAM', 'The first team of an instance sends the mails of all accounts, so it is never deleted.');
  }
  return [{ type: 'TeamDeleted', data: { at } }];
};

const restoreTeam = (team: TeamState, { at, by, deletedSince }: Extract<TeamCommand, { type: 'RestoreTeam' }>): readonly TeamEvent[] => {
  if (team === undefined) throw teamNotFound();
  roleOf(team, by, 'team:delete');
  if (team.deletedAt === undefined) return [];
  if (team.removedAt !== undefined || team.deletedAt < deletedSince) throw teamNotFound();
  return [{ type: 'TeamRestored', data: { at } }];
};

export const teamDecider: Decider<TeamCommand, TeamEvent, TeamState> = {
  decide: (command, team) => {
    const { at } = command;
    switch (command.type) {
      case 'FoundTeam': {
        const { owner, billing, settings } = command;
        if (team !== undefined) return [];
        return [
          { type: 'TeamCreated', data: { at, billing, settings } },
          { type: 'MemberAdded', data: { at, userId: owner, role: 'owner' } },
        ];
      }
      case 'ChangeTeam':
        return changeTeam(livingTeam(team), command);
      case 'DeleteTeam':
        return deleteTeam(livingTeam(team), command);
      case 'RestoreTeam':
        return restoreTeam(team, command);
      case 'RemoveTeam': {
        const isLong = team?.deletedAt !== undefined && team.deletedAt < command.deletedSince;
        return isLong && team.removedAt === undefined ? [{ type: 'TeamRemoved', data: { at } }] : [];
      }
      case 'NoteErased':
        return team?.removedAt === undefined || team.erasedAt !== undefined ? [] : [{ type: 'TeamErased', data: { at } }];
    }
  },
  evolve: evolveTeam,
  initialState: undefined,
};
