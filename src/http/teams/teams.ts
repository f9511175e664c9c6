/** The routes of teams and of their members. */
import {
  BrandPreviewQuerySchema,
  changeMemberExamples,
  ChangeMemberRequestSchema,
  MemberListSchema,
  memberParams,
  MemberRecordSchema,
  RemovedMemberSchema,
  RemoveMemberQuerySchema,
  teamParams,
  transferOwnershipExamples,
  TransferOwnershipRequestSchema,
  TeamActivitySchema,
  createTeamExamples,
  CreateTeamRequestSchema,
  TeamListItemSchema,
  TeamRecordSchema,
  updateTeamExamples,
  UpdateTeamRequestSchema,
} from '../../api/teams.js';
import { coveredByRole } from '../../domain/access/permissions.js';
import { DeletedSchema, pageOf } from '../../api/core/common.js';
import { memberNotFound, teamNotFound } from '../../domain/teams/decider.js';
import { parseUserId, type UserId, parseTeamId, type TeamId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { PagingQuerySchema, TeamListQuerySchema } from '../../api/core/queries.js';
import { personOf } from '../../commands/access/users.js';
import { expectedRevisions, tagged } from '../server/headers.js';
import { untilClosed } from '../server/hooks.js';
import { framed } from '../server/mail-html.js';
import { quietHtml, quietPolicy } from '../server/quiet-html.js';
import { coerceQuery } from '../server/validation.js';
import { sendUnsubscribeExample } from '../recipients/unsubscribe.js';
import { pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['Teams'];

const unknownId = 'TEAM_NOT_FOUND';

const withoutTeam = true;

/** Registers the routes under /api/teams that are about teams themselves. */
export const teamRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  teamRoute(app, deps);
  brandRoute(app, deps);
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
    async (request) => {
      const { deleted, ...paging } = request.query;
      const filter = deleted === true ? ({ deleted } as const) : {};
      const { data, meta } = await queries.listTeams(personOf(callerOf(request)), filter, pagingOf(paging));
      const teams = data.map((team) => ({
        ...team,
        permissions: team.deletedAt === undefined ? [...coveredByRole(team.role)] : [],
      }));
      return { data: teams, meta };
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
      schema: {
        summary: 'Read a team',
        operationId: 'getTeam',
        tags,
        params: teamParams,
        response: { 200: TeamRecordSchema },
      },
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
        description:
          'The newest first: members, invitations, keys, templates, assets, sender domains, webhooks, apps and settings.',
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
      config: {
        access: 'team:manage',
        command: 'updateTeam',
        unknownId,
        etag: true,
        conditional: true,
        examples: updateTeamExamples,
      },
      schema: {
        summary: 'Change a team',
        operationId: 'updateTeam',
        tags,
        params: teamParams,
        body: UpdateTeamRequestSchema,
        response: { 200: TeamRecordSchema },
      },
    },
    async (request, reply) =>
      tagged(reply, await commands.updateTeam(callerOf(request), request.body, expectedRevisions(request))),
  );
};

const brandRoute = (app: App, { commands }: Deps): void => {
  app.get(
    '/api/teams/:teamId/brand/preview',
    {
      config: {
        ...{ access: 'team:manage', unknownId, media: 'text/html' },
        command: 'previewBrandMail',
      },
      preValidation: coerceQuery(BrandPreviewQuerySchema),
      schema: {
        summary: 'Show a brand that is not saved',
        description:
          'A page for a sandboxed frame: a mail, or the page behind unsubscribe links, with these values. Nothing of it acts.',
        operationId: 'previewBrand',
        tags,
        params: teamParams,
        querystring: BrandPreviewQuerySchema,
      },
    },
    async (request, reply) => {
      const { show = 'mail', scheme, language, ...values } = request.query;
      const caller = callerOf(request);
      if (show === 'unsubscribe') {
        const brand = await commands.previewBrandPage(caller, values);
        return sendUnsubscribeExample(request, reply, { brand, known: language, scheme });
      }
      const html = await commands.previewBrandMail(caller, values, untilClosed(reply));
      return reply
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', quietPolicy(false))
        .send(framed(quietHtml(html, { pictures: false, linkOf: () => '#' }), scheme === 'dark'));
    },
  );
};

const endRoutes = (app: App, { commands, queries }: Deps): void => {
  app.delete(
    '/api/teams/:teamId',
    {
      config: { access: 'team:delete', command: 'deleteTeam', unknownId },
      schema: {
        summary: 'Delete a team',
        description:
          'Requests for the team are refused, and its queued mails are cancelled. It can be restored for 30 days.',
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

/** Registers the routes under /api/teams/:teamId that are about its members. */
export const teamMemberRoutes = (app: App, deps: Deps): void => {
  memberRoutes(app, deps);
  ownRoutes(app, deps);
};

const memberRoutes = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/teams/:teamId/members',
    {
      config: { access: 'team:read', command: 'listMembers', unknownId: 'TEAM_NOT_FOUND' },
      schema: {
        summary: 'List the members of a team',
        description: 'In the order in which they came.',
        operationId: 'listMembers',
        tags,
        params: teamParams,
        response: { 200: MemberListSchema },
      },
    },
    (request) => commands.listMembers(callerOf(request)),
  );

  app.patch(
    '/api/teams/:teamId/members/:userId',
    {
      config: {
        access: 'members:manage',
        command: 'changeMember',
        unknownId: 'MEMBER_NOT_FOUND',
        examples: changeMemberExamples,
      },
      schema: {
        summary: 'Give a member another role',
        description:
          'Members give no role above their own, and change no member above them. The change holds for every request that begins after the answer.',
        operationId: 'changeMember',
        tags,
        params: memberParams,
        body: ChangeMemberRequestSchema,
        response: { 200: MemberRecordSchema },
      },
    },
    (request) => commands.changeMember(callerOf(request), memberIdOf(request.params.userId), request.body.role),
  );

  app.delete(
    '/api/teams/:teamId/members/:userId',
    {
      config: { access: 'members:manage', command: 'removeMember', unknownId: 'MEMBER_NOT_FOUND' },
      preValidation: coerceQuery(RemoveMemberQuerySchema),
      schema: {
        summary: 'Remove a member',
        description:
          'API keys that the person made belong to the team and go on working; the answer lists them. `revokeKeys=true` revokes them in the same call.',
        operationId: 'removeMember',
        tags,
        params: memberParams,
        querystring: RemoveMemberQuerySchema,
        response: { 200: RemovedMemberSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const userId = memberIdOf(request.params.userId);
      const removed = await commands.removeMember(caller, userId, request.query);
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      return removed;
    },
  );
};

const ownRoutes = (app: App, { commands, queries }: Deps): void => {
  app.post(
    '/api/teams/:teamId/leave',
    {
      config: { access: 'team:read', command: 'leaveTeam', unknownId: 'TEAM_NOT_FOUND' },
      schema: {
        summary: 'Leave a team',
        description: 'API keys that you made belong to the team and go on working; the answer lists them.',
        operationId: 'leaveTeam',
        tags,
        params: teamParams,
        response: { 200: RemovedMemberSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const left = await commands.leaveTeam(caller);
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      return left;
    },
  );

  app.post(
    '/api/teams/:teamId/transfer-ownership',
    {
      config: {
        access: 'ownership:manage',
        command: 'transferOwnership',
        unknownId: 'TEAM_NOT_FOUND',
        examples: transferOwnershipExamples,
      },
      schema: {
        summary: 'Hand a team on to another member',
        description: 'They become an owner, and you an admin.',
        operationId: 'transferOwnership',
        tags,
        params: teamParams,
        body: TransferOwnershipRequestSchema,
        response: { 200: MemberListSchema },
      },
    },
    (request) => commands.transferOwnership(callerOf(request), memberIdOf(request.body.userId)),
  );
};

/** A malformed id is answered as an unknown one. */
const teamIdOf = (text: string): TeamId => {
  const id = parseTeamId(text);
  if (id === undefined) throw teamNotFound();
  return id;
};

/** A malformed id is answered as an unknown one. */
const memberIdOf = (text: string): UserId => {
  const id = parseUserId(text);
  if (id === undefined) throw memberNotFound();
  return id;
};
