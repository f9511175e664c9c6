/** The routes by which people are invited into a team and accept. */
import {
  acceptInvitationExamples,
  AcceptedInvitationSchema,
  AcceptInvitationRequestSchema,
  InvitationListSchema,
  invitationParams,
  InvitationRecordSchema,
  inviteExamples,
  InviteRequestSchema,
  teamParams,
} from '../../api/teams.js';
import { DeletedSchema } from '../../api/core/common.js';
import { invitationNotFound } from '../../domain/teams/invitation.js';
import { parseInvitationId, type InvitationId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const PATH = '/api/teams/:teamId/invitations';
const tags = ['Teams'];
const access = 'members:manage';
const unknownId = 'INVITATION_NOT_FOUND';

/** Registers the routes about invitations. */
export const invitationRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  invitationRoute(app, deps);
  acceptRoute(app, deps);
};

const collectionRoutes = (app: App, { commands }: Deps): void => {
  app.get(
    PATH,
    {
      config: { access, command: 'listInvitations', unknownId: 'TEAM_NOT_FOUND' },
      schema: {
        summary: 'List the open invitations of a team',
        operationId: 'listInvitations',
        tags,
        params: teamParams,
        response: { 200: InvitationListSchema },
      },
    },
    (request) => commands.listInvitations(callerOf(request)),
  );

  app.post(
    PATH,
    {
      config: { access, command: 'inviteMember', unknownId: 'TEAM_NOT_FOUND', examples: inviteExamples },
      schema: {
        summary: 'Invite somebody into a team',
        description:
          'By mail, for 7 days, with at most your own role. An open invitation to the same address is replaced.',
        operationId: 'inviteMember',
        tags,
        params: teamParams,
        body: InviteRequestSchema,
        response: { 201: InvitationRecordSchema },
      },
    },
    async (request, reply) => {
      const invitation = await commands.inviteMember(callerOf(request), request.body);
      reply.code(201);
      return invitation;
    },
  );
};

const invitationRoute = (app: App, { commands }: Deps): void => {
  app.delete(
    `${PATH}/:id`,
    {
      config: { access, command: 'revokeInvitation', unknownId },
      schema: {
        summary: 'Revoke an invitation',
        operationId: 'revokeInvitation',
        tags,
        params: invitationParams,
        response: { 200: DeletedSchema },
      },
    },
    async (request) => {
      const id = invitationIdOf(request.params.id);
      await commands.revokeInvitation(callerOf(request), id);
      return { id, deleted: true as const };
    },
  );

  app.post(
    `${PATH}/:id/resend`,
    {
      config: { access, command: 'resendInvitation', unknownId },
      schema: {
        summary: 'Send an invitation again',
        description: 'With a new link, for 7 days from now; the link before leads nowhere.',
        operationId: 'resendInvitation',
        tags,
        params: invitationParams,
        response: { 200: InvitationRecordSchema },
      },
    },
    (request) => commands.resendInvitation(callerOf(request), invitationIdOf(request.params.id)),
  );
};

const acceptRoute = (app: App, { commands, queries }: Deps): void => {
  app.post(
    '/api/invitations/accept',
    {
      config: {
        access: 'profile:write',
        withoutTeam: true,
        command: 'acceptInvitation',
        examples: acceptInvitationExamples,
      },
      schema: {
        summary: 'Accept an invitation',
        description: 'As the user whose verified address it was sent to.',
        operationId: 'acceptInvitation',
        tags,
        body: AcceptInvitationRequestSchema,
        response: { 200: AcceptedInvitationSchema },
      },
    },
    async (request) => {
      const teamId = await commands.acceptInvitation(callerOf(request), request.body.token);
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return { teamId, accepted: true as const };
    },
  );
};

/** A malformed id is answered as an unknown one. */
const invitationIdOf = (text: string): InvitationId => {
  const id = parseInvitationId(text);
  if (id === undefined) throw invitationNotFound();
  return id;
};
