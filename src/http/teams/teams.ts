/** Teams: made, listed, read, changed, deleted and restored. */
import { DeletedSchema, pageOf } from '../../api/core/common.js';
import { PagingQuerySchema, TeamListQuerySchema } from '../../api/core/queries.js';
import { TeamActivitySchema } from '../../api/team-activity.js';
import {
  createTeamExamples,
  CreateTeamRequestSchema,
  TeamListItemSchema,
  teamParams,
  TeamRecordSchema,
  updateTeamExamples,
  UpdateTeamRequestSchema,
} from '../../api/teams.js';
import { teamNotFound } from '../../commands/core/team-access.js';
import { personOf } from '../../commands/people/users.js';
import { parseTeamId, type TeamId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { expectedRevisions, tagged } from '../server/headers.js';
import { coerceQuery } from '../server/validation.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';
import { pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['Teams'];
const withoutTeam = true;
const unknownId = 'TEAM_NOT_FOUND';

/** A malformed id is answered as an unknown one. */
export const teamIdOf = (text: string): TeamId => {
  const id = parseTeamId(text);
  if (id === undefined) throw teamNotFound();
  return id;
};

/** Registers the routes under /api/teams that are about teams themselves. */
export const teamRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  teamRoute(app, deps);
  endRoutes(app, deps);
};

const collectionRoutes = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/teams',
    {
      config: { access: 'profile:read', withoutTeam, codes: ['INVALID_CURSOR', 'USER_NOT_FOUND'] },
      preValidation: coerceQuery(TeamListQuerySchema),
      schema: {
        summary: 'List your teams',
        description: 'The team last joined first.',
        operationId: 'listTeams',
        tags,
        querystring: TeamListQuerySchema,
        response: { 200: pageOf(TeamListItemSchema) },
      },
    },
    (request) => {
      const { deleted, ...paging } = request.query;
      return queries.listTeams(personOf(callerOf(request)), deleted === true ? { deleted } : {}, pagingOf(paging));
    },
  );

  app.post(
    '/api/teams',
    {
      config: { access: 'profile:write', withoutTeam, command: 'createTeam', examples: createTeamExamples },
      schema: {
        summary: 'Make a team',
        description:
          'You own it. Who owns no team makes one only where everybody may register. It is unmetered where a team of yours is, else billed by credits.',
        operationId: 'createTeam',
        tags,
        body: CreateTeamRequestSchema,
        response: { 201: TeamRecordSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const teams = caller.user === undefined ? [] : await queries.teamsOfUser(caller.user.id);
      const team = await commands.createTeam(caller, request.body, teams);
      // Their list, and what is asked without a team, is read from there.
      await queries.awaitOwnWrites(teamIdOf(team.id), OWN_WRITES_WAIT_MS);
      reply.code(201);
      return team;
    },
  );
};

const teamRoute = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/teams/:teamId',
    {
      config: { access: 'team:read', command: 'getTeam', unknownId, etag: true },
      schema: { summary: 'Read a team', operationId: 'getTeam', tags, params: teamParams, response: { 200: TeamRecordSchema } },
    },
    async (request, reply) => tagged(reply, await commands.getTeam(callerOf(request))),
  );

  app.get(
    '/api/teams/:teamId/activity',
    {
      config: { access: 'team:read', command: 'describeActivity', unknownId, codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(PagingQuerySchema),
      schema: {
        summary: 'List what was changed in a team',
        description: 'The newest first: members, invitations, keys, templates, assets, sender domains, webhooks, apps and settings.',
        operationId: 'listTeamActivity',
        tags,
        params: teamParams,
        querystring: PagingQuerySchema,
        response: { 200: pageOf(TeamActivitySchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      const { data, meta } = await queries.listTeamActivity(teamId, pagingOf(request.query));
      return { data: await commands.describeActivity(data), meta };
    },
  );

  app.patch(
    '/api/teams/:teamId',
    {
      config: { access: 'team:manage', command: 'updateTeam', unknownId, etag: true, conditional: true, examples: updateTeamExamples },
      schema: {
        summary: 'Change a team',
        operationId: 'updateTeam',
        tags,
        params: teamParams,
        body: UpdateTeamRequestSchema,
        response: { 200: TeamRecordSchema },
      },
    },
    async (request, reply) => tagged(reply, await commands.updateTeam(callerOf(request), request.body, expectedRevisions(request))),
  );
};

const endRoutes = (app: App, { commands, queries }: Deps): void => {
  app.delete(
    '/api/teams/:teamId',
    {
      config: { access: 'team:delete', command: 'deleteTeam', unknownId },
      schema: {
        summary: 'Delete a team',
        description: 'Nobody is let in for it any more, and its mails that are due are cancelled. It can be restored for 30 days.',
        operationId: 'deleteTeam',
        tags,
        params: teamParams,
        response: { 200: DeletedSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      await commands.deleteTeam(caller);
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      return { id: caller.teamId, deleted: true as const };
    },
  );

  app.post(
    '/api/teams/:teamId/restore',
    {
      config: { access: 'profile:write', withoutTeam, command: 'restoreTeam', unknownId },
      schema: {
        summary: 'Restore a deleted team',
        description: 'For its owners, for 30 days after it was deleted.',
        operationId: 'restoreTeam',
        tags,
        params: teamParams,
        response: { 200: TeamRecordSchema },
      },
    },
    async (request) => {
      const id = teamIdOf(request.params.teamId);
      const caller = callerOf(request);
      const teams = caller.user === undefined ? [] : await queries.teamsOfUser(caller.user.id);
      const team = await commands.restoreTeam(caller, id, teams);
      await queries.awaitOwnWrites(id, OWN_WRITES_WAIT_MS);
      return team;
    },
  );
};
