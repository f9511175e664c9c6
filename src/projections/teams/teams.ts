/** Teams and their members: one document for each team, and one for each membership. */
import type { Role } from '../../domain/access/permissions.js';
import { type TeamId, type UserId, assertDefined, parseTeamId, splitStream } from '../../domain/core/ids.js';
import { type Paging, type Page, counted, readPage } from '../core/pages.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import type { TeamEvent } from '../../domain/teams/events.js';
import { declareProjection, type Handler, type Step } from '../core/projection.js';

/** A team in the list of one of its members. `deletedAt` is absent unless it is deleted. */
type TeamListing = { id: string; name: string; role: Role; memberCount: number; createdAt: string; deletedAt?: string };

export type TeamQueries = Readonly<{
  /** The teams of a person that are not deleted, as far as the read model has them. */
  teamsOfUser: (userId: UserId) => Promise<readonly TeamId[]>;
  /** The team last joined first. `deleted`: those that can be restored, instead of the others. */
  listTeams: (userId: UserId, filter: Readonly<{ deleted?: true }>, paging: Paging) => Promise<Page<TeamListing>>;
}>;

/** `seq`: the position of the event by which the person joined. */
type Members = Readonly<Record<string, Readonly<{ role: Role; since: string; seq: number }>>>;

/** When each open invitation ends, by its id. */
type Invited = Readonly<Record<string, string>>;

/**
 * `deletedAt`: absent unless it is deleted. `lapsesAt`: when the first open invitation ends; absent if none is open.
 */
export type TeamDocument = Document &
  Readonly<{
    name: string;
    createdAt: string;
    members: Members;
    invited: Invited;
    deletedAt?: string;
    lapsesAt?: string;
  }>;

/**
 * `user` is absent if the team is deleted, `deletedFor` if it is not, so that each of the two lists is found by one
 * field.
 */
export type MembershipDocument = Document &
  Readonly<{ user?: string; deletedFor?: string; team: string; role: Role; since: string }>;

type Deps = Readonly<{ readModels: ReadModels; limits: Pick<Limits, 'listTotalMax'> }>;

export const TEAMS = 'teams';
export const MEMBERSHIPS = 'memberships';

const TEAMS_OF_USER_MAX = 1_000;

const membershipId = (team: string, user: string): string => `${user}@${team}`;

const withInvitations = (team: TeamDocument, invited: Invited): TeamDocument => {
  const { lapsesAt: _lapsesAt, ...others } = team;
  const [first] = Object.values(invited).toSorted();
  return { ...others, invited, ...(first === undefined ? {} : { lapsesAt: first }) };
};

const withoutInvitation = (team: TeamDocument, id: string | undefined): TeamDocument => {
  if (id === undefined || team.invited[id] === undefined) return team;
  const { [id]: _ended, ...invited } = team.invited;
  return withInvitations(team, invited);
};

/** The document of the team after the event; undefined if there is none any more. */
const teamAfter = (
  { event, stream, position }: Parameters<Handler<TeamEvent>>[0],
  before: TeamDocument | undefined,
): TeamDocument | undefined => {
  const { id } = splitStream(stream);
  if (event.type === 'TeamCreated') {
    const { at, settings } = event.data;
    return { id, seq: position, position, name: settings.name, createdAt: at, members: {}, invited: {} };
  }
  if (before === undefined) return undefined;
  const same = { ...before, position };
  switch (event.type) {
    case 'TeamSettingsChanged':
      return { ...same, name: event.data.settings.name };
    case 'MemberAdded': {
      const { userId, role, at, invitationId } = event.data;
      const members = { ...before.members, [userId]: { role, since: at, seq: position } };
      return withoutInvitation({ ...same, members }, invitationId);
    }
    case 'MemberRoleChanged': {
      const { userId, role } = event.data;
      const member = before.members[userId];
      return member === undefined ? same : { ...same, members: { ...before.members, [userId]: { ...member, role } } };
    }
    case 'MemberRemoved': {
      const { [event.data.userId]: _left, ...members } = before.members;
      return { ...same, members };
    }
    case 'TeamDeleted':
      return { ...same, deletedAt: event.data.at };
    case 'TeamRestored': {
      const { deletedAt: _deletedAt, ...others } = same;
      return others;
    }
    case 'TeamErased':
      return undefined;
    case 'MemberInvited':
    case 'InvitationRenewed':
      return withInvitations(same, { ...same.invited, [event.data.invitationId]: event.data.expiresAt });
    case 'InvitationWithdrawn':
      return withoutInvitation(same, event.data.invitationId);
    case 'TeamBillingChanged':
    case 'TeamTrackingChanged':
    case 'TeamSuppressionsBegan':
    case 'TeamSecurityChanged':
    case 'TeamBrandChanged':
    case 'TeamRemoved':
      return same;
  }
};

/** The changed memberships: that of one person, or all of them. */
const membershipSteps = (event: TeamEvent, before: TeamDocument | undefined, team: TeamDocument): readonly Step[] => {
  switch (event.type) {
    case 'MemberAdded':
    case 'MemberRoleChanged':
    case 'MemberRemoved':
      return [membershipStep(team, event.data.userId)];
    case 'TeamDeleted':
    case 'TeamRestored':
      return Object.keys(before?.members ?? {}).map((user) => membershipStep(team, user));
    case 'TeamErased':
    case 'TeamCreated':
    case 'TeamSettingsChanged':
    case 'TeamBillingChanged':
    case 'TeamTrackingChanged':
    case 'TeamSuppressionsBegan':
    case 'TeamSecurityChanged':
    case 'TeamBrandChanged':
    case 'TeamRemoved':
    case 'MemberInvited':
    case 'InvitationRenewed':
    case 'InvitationWithdrawn':
      return [];
  }
};

const membershipStep = (team: TeamDocument, user: string): Step => {
  const id = membershipId(team.id, user);
  const member = team.members[user];
  const who = team.deletedAt === undefined ? { user } : { deletedFor: user };
  const { position } = team;
  return {
    collection: MEMBERSHIPS,
    id,
    document:
      member === undefined ? undefined : ({ id, position, ...who, team: team.id, ...member } as MembershipDocument),
  };
};

const step: Handler<TeamEvent> = (recorded, document) => {
  const before = document as TeamDocument | undefined;
  const team = teamAfter(recorded, before);
  if (team === undefined) return before === undefined ? [] : removed(before);
  return [...membershipSteps(recorded.event, before, team), { collection: TEAMS, id: team.id, next: () => team }];
};

/** Removes the team and its memberships. */
const removed = ({ id, members }: TeamDocument): readonly Step[] => [
  ...Object.keys(members).map((user): Step => ({
    collection: MEMBERSHIPS,
    id: membershipId(id, user),
    document: undefined,
  })),
  { collection: TEAMS, id, next: () => undefined },
];

export const teamsProjection = declareProjection({
  name: 'teams',
  collections: [
    { name: MEMBERSHIPS, version: 1, fields: ['user', 'deletedFor'], indexes: [['user'], ['deletedFor']] },
    { name: TEAMS, version: 2, fields: ['deletedAt', 'lapsesAt'], indexes: [['deletedAt'], ['lapsesAt']] },
  ],
  main: TEAMS,
  kinds: ['team'],
  decrypts: [],
  on: {
    TeamCreated: step,
    TeamSettingsChanged: step,
    TeamBillingChanged: step,
    TeamTrackingChanged: step,
    TeamSuppressionsBegan: step,
    TeamSecurityChanged: step,
    TeamBrandChanged: step,
    TeamDeleted: step,
    TeamRestored: step,
    TeamRemoved: step,
    TeamErased: step,
    MemberAdded: step,
    MemberRoleChanged: step,
    MemberRemoved: step,
    MemberInvited: step,
    InvitationRenewed: step,
    InvitationWithdrawn: step,
  },
});

/** The teams of a person, the one last joined first. */
export const makeTeamQueries = (deps: Deps): TeamQueries => ({
  teamsOfUser: async (user) => {
    const found = await deps.readModels.find(MEMBERSHIPS, { where: { user: { eq: user } }, limit: TEAMS_OF_USER_MAX });
    return (found as readonly MembershipDocument[]).map(({ team }) => assertDefined(parseTeamId(team), 'team id'));
  },
  listTeams: async (user, { deleted }, paging) => {
    const where = deleted === true ? { deletedFor: { eq: user } } : { user: { eq: user } };
    const list = {
      collection: MEMBERSHIPS,
      where,
      searchTotalMax: deps.limits.listTotalMax,
      total: () => counted(deps, MEMBERSHIPS, where),
    };
    const { data, meta } = await readPage<MembershipDocument, MembershipDocument>(
      deps.readModels,
      list,
      paging,
      (document) => document,
    );
    const teams = await Promise.all(
      data.map(({ team }) => deps.readModels.get(TEAMS, team) as Promise<TeamDocument | undefined>),
    );
    return { data: data.flatMap((membership, at) => listingOf(membership, teams[at])), meta };
  },
});

const listingOf = ({ role }: MembershipDocument, team: TeamDocument | undefined): TeamListing[] => {
  if (team === undefined) return [];
  const { id, name, createdAt, members, deletedAt } = team;
  const listing = { id, name, role, createdAt, memberCount: Object.keys(members).length };
  return [deletedAt === undefined ? listing : { ...listing, deletedAt }];
};

/** The teams whose time in that field is up to a moment, the earliest first. */
const teamsBy =
  (field: 'deletedAt' | 'lapsesAt') =>
  async (readModels: Pick<ReadModels, 'find'>, upTo: string, limit: number): Promise<readonly TeamId[]> => {
    const found = await readModels.find(TEAMS, {
      where: { [field]: { lte: upTo } },
      sort: { field, direction: 'asc' },
      limit,
    });
    return found.map(({ id }) => assertDefined(parseTeamId(id), 'team id'));
  };

/** Teams that were deleted at that moment or before and are not erased yet. */
export const teamsToRemove = teamsBy('deletedAt');
/** Teams with open invitations that have ended by that moment. */
export const teamsToLapse = teamsBy('lapsesAt');
