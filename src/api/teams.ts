/** Requests and answers of teams, their members, invitations, and what was changed in them. */
import { Type, type Static } from '@sinclair/typebox';
import { accessPermissions, roles } from '../domain/access/permissions.js';
import { planNames } from '../domain/billing/plans.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { NAME } from '../shared/text.js';
import { closed, enumOf, RecipientSchema, Time } from './core/common.js';
import { ApiKeyRecordSchema } from './keys.js';
import { activityTargets } from '../domain/core/event.js';

const Name = Type.String({ pattern: NAME, minLength: 1, maxLength: limits.teamNameCharsMax });
const CompanyField = Type.String({ pattern: NAME, maxLength: limits.companyFieldCharsMax });

const CompanySchema = Type.Object(
  {
    name: CompanyField,
    legalName: CompanyField,
    email: CompanyField,
    phone: CompanyField,
    website: CompanyField,
    addressLine1: CompanyField,
    city: CompanyField,
    state: CompanyField,
    postalCode: CompanyField,
    country: CompanyField,
  },
  { ...closed, description: 'Values of the company constants in templates; empty if not set' },
);

const BrandColor = (description: string) =>
  Type.Optional(nullable(Type.String({ pattern: '^#[0-9a-fA-F]{6}$', description })));

/** `null` removes a part. */
const BrandChangesSchema = Type.Object(
  {
    logo: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: `Id of a picture of the gallery, of at most ${limits.brandLogoSizeBytesMax / 1024} KiB`,
        }),
      ),
    ),
    accent: BrandColor('Buttons and links'),
    background: BrandColor('The card on which texts stand'),
    text: BrandColor('Texts; its contrast to the background must be at least 4.5'),
  },
  {
    ...closed,
    description:
      'Logo and colours of the mails made from templates that name them, and of the pages that recipients see. `null` removes a part',
  },
);

const Contrast = (of: string) => Type.Number({ description: `Contrast of the ${of} to the background, 1 to 21` });

const BrandSchema = Type.Object(
  {
    logo: nullable(Type.String({ description: 'Id of the asset' })),
    accent: nullable(Type.String()),
    background: nullable(Type.String()),
    text: nullable(Type.String()),
    contrast: Type.Object({ text: Contrast('text'), accent: Contrast('accent') }, closed),
  },
  { ...closed, description: 'A part that is null has the default of the service' },
);

const RoleSchema = enumOf(
  roles,
  '`owner`: everything; `admin`: members, keys, templates; `member`: templates and sending; `viewer`: reading',
);

const DefaultFromSchema = Type.Composite([RecipientSchema], {
  ...closed,
  description: 'The sender where neither the call nor the template names one',
});

const actorTypes = ['user', 'api-key', 'app', 'operator', 'service'] as const;

const CurrentName = nullable(Type.String({ description: 'As it is now; null where it is gone' }));

export const CreateTeamRequestSchema = Type.Object({ name: Name, defaultFrom: DefaultFromSchema }, closed);
export type CreateTeamRequest = Static<typeof CreateTeamRequestSchema>;

export const UpdateTeamRequestSchema = Type.Object(
  {
    name: Type.Optional(Name),
    defaultFrom: Type.Optional(DefaultFromSchema),
    company: Type.Optional(Type.Partial(CompanySchema, closed)),
    brand: Type.Optional(BrandChangesSchema),
    requiresSecondFactor: Type.Optional(Type.Boolean({ description: 'Lets people in with a second factor alone' })),
  },
  { ...closed, minProperties: 1 },
);
export type UpdateTeamRequest = Static<typeof UpdateTeamRequestSchema>;

export const TeamRecordSchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    role: nullable(RoleSchema),
    defaultFrom: Type.Object({ email: Type.String(), name: Type.Optional(Type.String()) }, closed),
    company: Type.Object(
      Object.fromEntries(Object.keys(CompanySchema.properties).map((field) => [field, Type.String()])),
      closed,
    ),
    brand: BrandSchema,
    requiresSecondFactor: Type.Boolean(),
    billing: enumOf(['credits', 'plan', 'unmetered']),
    plan: nullable(enumOf(planNames)),
    memberCount: Type.Integer(),
    revision: Type.Integer({ description: 'Revision of the settings, for `If-Match`' }),
    createdAt: Time,
  },
  closed,
);
export type TeamRecord = Static<typeof TeamRecordSchema>;

const PreviewText = (description?: string) =>
  Type.Optional(
    Type.String({ maxLength: limits.companyFieldCharsMax, ...(description === undefined ? {} : { description }) }),
  );

const PreviewColor = Type.Optional(Type.String({ pattern: '^(?:#[0-9a-fA-F]{6})?$' }));

/** Values that are not saved; those of the company that are absent are those of the team. */
export const BrandPreviewQuerySchema = Type.Object(
  {
    show: Type.Optional(
      enumOf(
        ['mail', 'unsubscribe'],
        '`mail`: a mail as the samples are built; `unsubscribe`: the page behind its link',
      ),
    ),
    scheme: Type.Optional(enumOf(['light', 'dark'])),
    language: Type.Optional(
      Type.String({ maxLength: 35, description: 'The language of the page; default: as the browser asks' }),
    ),
    logo: Type.Optional(Type.String({ maxLength: 64, description: 'Id of a picture of the gallery; empty: none' })),
    accent: PreviewColor,
    background: PreviewColor,
    text: PreviewColor,
    name: PreviewText('Of the company, as the others'),
    email: PreviewText(),
    addressLine1: PreviewText(),
    postalCode: PreviewText(),
    city: PreviewText(),
    country: PreviewText(),
  },
  closed,
);
export type BrandPreviewQuery = Omit<Static<typeof BrandPreviewQuerySchema>, 'show' | 'scheme' | 'language'>;

export const TeamListItemSchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    role: RoleSchema,
    permissions: Type.Array(enumOf(accessPermissions), {
      description:
        'Permissions of your role in the team: a call that needs one of these is not answered 403 `FORBIDDEN`. Empty if the team is deleted',
    }),
    memberCount: Type.Integer(),
    createdAt: Time,
    deletedAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Time of deletion; set if the team is deleted. It can be restored for 30 days',
      }),
    ),
  },
  closed,
);

export const MemberRecordSchema = Type.Object(
  {
    userId: Type.String(),
    name: nullable(Type.String()),
    email: nullable(Type.String()),
    role: RoleSchema,
    since: Time,
    secondFactor: Type.Boolean({ description: 'Whether they sign in with a second factor' }),
  },
  closed,
);
export type MemberRecord = Static<typeof MemberRecordSchema>;
export const MemberListSchema = Type.Object({ data: Type.Array(MemberRecordSchema) }, closed);

export const RemoveMemberQuerySchema = Type.Object(
  {
    revokeKeys: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Revokes the API keys that the person made, and those that these keys made',
      }),
    ),
  },
  closed,
);
export type RemoveMemberQuery = Static<typeof RemoveMemberQuerySchema>;

export const RemovedMemberSchema = Type.Object(
  {
    userId: Type.String(),
    removed: Type.Literal(true),
    keys: Type.Array(ApiKeyRecordSchema, {
      description:
        'The API keys that the person made, and those that these keys made, the oldest first: those that go on working, or with `revokeKeys` those that were revoked',
    }),
  },
  closed,
);
export type RemovedMember = Static<typeof RemovedMemberSchema>;

export const ChangeMemberRequestSchema = Type.Object({ role: RoleSchema }, closed);
export const TransferOwnershipRequestSchema = Type.Object(
  { userId: Type.String({ minLength: 1, maxLength: 64 }) },
  closed,
);

export const teamParams = Type.Object({ teamId: Type.String({ description: 'Id of the team' }) });
export const memberParams = Type.Object({
  teamId: Type.String({ description: 'Id of the team' }),
  userId: Type.String({ description: 'Id of the member' }),
});

export const InviteRequestSchema = Type.Object(
  {
    email: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'Whether it is that of a user makes no difference',
    }),
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

export const AcceptInvitationRequestSchema = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 256 }) },
  closed,
);
export const AcceptedInvitationSchema = Type.Object({ teamId: Type.String(), accepted: Type.Literal(true) }, closed);

export const invitationParams = Type.Object({
  teamId: Type.String({ description: 'Id of the team' }),
  id: Type.String({ description: 'Id of the invitation' }),
});

export const TeamActivitySchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the event' }),
    at: Time,
    kind: Type.String({
      description: 'Kind of the change, such as `member.added` or `template.published`; more may come',
    }),
    actor: Type.Object(
      {
        type: enumOf(actorTypes, '`operator`: by the command line; `service`: the service by itself'),
        id: nullable(Type.String()),
        name: CurrentName,
      },
      closed,
    ),
    target: Type.Object({ type: enumOf(activityTargets), id: Type.String(), name: CurrentName }, closed),
    role: Type.Optional(RoleSchema),
  },
  closed,
);
export type TeamActivity = Static<typeof TeamActivitySchema>;

export const createTeamExamples = {
  team: {
    summary: 'A second shop',
    value: { name: 'Market', defaultFrom: { email: 'market@example.com', name: 'Market' } } satisfies CreateTeamRequest,
  },
};

export const updateTeamExamples = {
  company: {
    summary: 'Another name, and where the company is',
    value: { name: 'Bazaar', company: { city: 'Lisbon' } } satisfies UpdateTeamRequest,
  },
  brand: {
    summary: 'Colours of mails and pages',
    value: { brand: { accent: '#7c3aed', text: '#1e1b4b' } } satisfies UpdateTeamRequest,
  },
  secondFactor: {
    summary: 'Members need a second factor',
    value: { requiresSecondFactor: true } satisfies UpdateTeamRequest,
  },
};

export const changeMemberExamples = { role: { summary: 'From now on an admin', value: { role: 'admin' as const } } };

export const transferOwnershipExamples = {
  transfer: { summary: 'To another member', value: { userId: '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21' } },
};

export const inviteExamples = {
  member: { summary: 'A new colleague', value: { email: 'bea@example.com', role: 'member' } satisfies InviteRequest },
};

export const acceptInvitationExamples = {
  token: {
    summary: 'The token of the link in the mail',
    value: { token: `sealpost_inv_${'A'.repeat(22)}${'B'.repeat(43)}` },
  },
};
