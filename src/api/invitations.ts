/** Invitations into a team as people see them. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, Time } from './core/common.js';
import { RoleSchema } from './teams.js';

export const InviteRequestSchema = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: 512, description: 'Whether it is that of a user makes no difference' }),
    role: RoleSchema,
  },
  closed,
);
export type InviteRequest = Static<typeof InviteRequestSchema>;

export const InvitationRecordSchema = Type.Object(
  {
    id: Type.String(),
    email: nullable(Type.String()),
    role: RoleSchema,
    invitedBy: nullable(Type.String({ description: 'Id of the user who invited; null: the operator' })),
    invitedAt: Time,
    expiresAt: Time,
  },
  closed,
);
export type InvitationRecord = Static<typeof InvitationRecordSchema>;
export const InvitationListSchema = Type.Object({ data: Type.Array(InvitationRecordSchema) }, closed);

export const AcceptInvitationRequestSchema = Type.Object({ token: Type.String({ minLength: 1, maxLength: 256 }) }, closed);
export const AcceptedInvitationSchema = Type.Object({ teamId: Type.String(), accepted: Type.Literal(true) }, closed);

export const invitationParams = Type.Object({
  teamId: Type.String({ description: 'Id of the team' }),
  id: Type.String({ description: 'Id of the invitation' }),
});

export const inviteExamples = {
  member: { summary: 'A new colleague', value: { email: 'bea@example.com', role: 'member' } satisfies InviteRequest },
};
export const acceptInvitationExamples = {
  token: { summary: 'The token of the link in the mail', value: { token: `sealpost_inv_${'A'.repeat(22)}${'B'.repeat(43)}` } },
};
