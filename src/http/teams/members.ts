/** The members of a team: listed, given another role, removed; leaving, and handing the team on. */
import { Type } from '@sinclair/typebox';
import {
  changeMemberExamples,
  ChangeMemberRequestSchema,
  MemberListSchema,
  memberParams,
  MemberRecordSchema,
  teamParams,
  transferOwnershipExamples,
  TransferOwnershipRequestSchema,
} from '../../api/teams.js';
import { closed } from '../../api/core/common.js';
import { memberNotFound } from '../../domain/teams/decider.js';
import { parseUserId, type UserId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const tags = ['Teams'];

const RemovedSchema = Type.Object({ userId: Type.String(), removed: Type.Literal(true) }, closed);

/** A malformed id is answered as an unknown one. */
const memberIdOf = (text: string): UserId => {
  const id = parseUserId(text);
  if (id === undefined) throw memberNotFound();
  return id;
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
      config: { access: 'members:manage', command: 'changeMember', unknownId: 'MEMBER_NOT_FOUND', examples: changeMemberExamples },
      schema: {
        summary: 'Give a member another role',
        description:
          'Nobody gives a role above their own, or changes a member above them. It holds for every request that begins after the answer.',
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
      schema: { summary: 'Remove a member', operationId: 'removeMember', tags, params: memberParams, response: { 200: RemovedSchema } },
    },
    async (request) => {
      const caller = callerOf(request);
      const userId = memberIdOf(request.params.userId);
      await commands.removeMember(caller, userId);
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      return { userId, removed: true as const };
    },
  );
};

const ownRoutes = (app: App, { commands, queries }: Deps): void => {
  app.post(
    '/api/teams/:teamId/leave',
    {
      config: { access: 'team:read', command: 'leaveTeam', unknownId: 'TEAM_NOT_FOUND' },
      schema: { summary: 'Leave a team', operationId: 'leaveTeam', tags, params: teamParams, response: { 200: RemovedSchema } },
    },
    async (request) => {
      const caller = callerOf(request);
      await commands.leaveTeam(caller);
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      return { userId: caller.user?.id ?? '', removed: true as const };
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
