/** Requests and answers of signing in, of users, and of what they do with their own account. */
import { Type, type Static } from '@sinclair/typebox';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { closed, Time, enumOf } from './core/common.js';
import { nullable } from '../domain/core/schema.js';
import { NAME } from '../shared/text.js';

const Email = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'Email address; letter case makes no difference',
});

const Name = Type.String({ pattern: NAME, minLength: 1, maxLength: limits.userNameCharsMax });

/** A password as somebody gives it. Whether a new one is good enough is decided by the command. */
const Password = Type.String({ minLength: 1, maxLength: limits.passwordCharsMax });

const NewPassword = Type.String({
  minLength: 1,
  maxLength: limits.passwordCharsMax,
  description: `At least ${limits.passwordCharsMin} characters, and none of the passwords that are tried first`,
});

const Code = Type.String({ minLength: 6, maxLength: 32, description: 'Six digits of the app, or a recovery code' });

const LinkToken = Type.String({ minLength: 1, maxLength: 256 });

export const RegisterRequestSchema = Type.Object(
  {
    email: Email,
    password: NewPassword,
    name: Name,
    token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          'Token from the link of an invitation; for the first user, the token that the terminal showed at the start',
      }),
    ),
  },
  closed,
);

export type RegisterRequest = Static<typeof RegisterRequestSchema>;

export const RegisteredSchema = Type.Object(
  {
    email: Type.String(),
    emailVerified: Type.Boolean({
      description: 'False: a mail with a link went to the address, and who follows it can sign in',
    }),
    message: Type.String(),
    teamId: Type.Optional(
      Type.String({ format: 'uuid', description: 'The team that the user is in by the invitation' }),
    ),
  },
  closed,
);

export type Registered = Static<typeof RegisteredSchema>;

export const LoginRequestSchema = Type.Object(
  {
    email: Email,
    password: Password,
    code: Type.Optional(Code),
    session: Type.Optional(
      enumOf(
        ['tokens', 'cookie'],
        '`cookie`: for a page in a browser, which gets no tokens to keep but cookies; default: tokens',
      ),
    ),
  },
  closed,
);

export const FollowSignInLinkRequestSchema = Type.Object(
  {
    token: Type.String({ minLength: 1, maxLength: 256, description: 'The text behind the # of the link' }),
    code: Type.Optional(Code),
  },
  closed,
);

export type FollowSignInLinkRequest = Static<typeof FollowSignInLinkRequestSchema>;

type LoginRequest = Static<typeof LoginRequestSchema>;

export const RefreshRequestSchema = Type.Object(
  {
    refreshToken: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Default: that of the cookie' }),
    ),
  },
  closed,
);

type RefreshRequest = Static<typeof RefreshRequestSchema>;

export const UserRecordSchema = Type.Object(
  {
    id: Type.String(),
    email: nullable(Type.String()),
    name: nullable(Type.String()),
    emailVerified: Type.Boolean(),
    secondFactor: Type.Boolean({ description: 'Whether a code is asked for at each sign-in' }),
    operator: Type.Boolean({ description: 'Whether the person is an operator of the instance: GET /api/system' }),
    createdAt: Time,
    mayChoosePassword: Type.Optional(
      Type.Literal(true, {
        description:
          'You came by a one-time link: POST /api/auth/password/change takes a new password without the current one',
      }),
    ),
  },
  closed,
);

export type UserRecord = Static<typeof UserRecordSchema>;

const tokens = {
  accessToken: Type.String({ description: 'A JWT; send it as `Authorization: Bearer …`' }),
  refreshToken: Type.String({ description: 'Good once: the answer of POST /api/auth/refresh holds the next one' }),
  expiresIn: Type.Integer({ description: 'Seconds until the access token expires' }),
  tokenType: Type.Literal('Bearer'),
  sessionId: Type.String(),
};

/** Given by a sign-in and by each refresh. */
export type Tokens = { accessToken: string; refreshToken: string; expiresIn: number; tokenType: 'Bearer' };

export type SignedIn = Tokens & { sessionId: string; user: UserRecord };

/** With `session: "cookie"` the tokens are absent: they are in cookies that no script can read. */
const given = {
  expiresIn: tokens.expiresIn,
  sessionId: tokens.sessionId,
  accessToken: Type.Optional(tokens.accessToken),
  refreshToken: Type.Optional(tokens.refreshToken),
  tokenType: Type.Optional(tokens.tokenType),
  csrfToken: Type.Optional(
    Type.String({
      description:
        'In place of the tokens where they are in cookies: goes in the header `X-CSRF-Token` of what changes something',
    }),
  ),
};

export const GivenTokensSchema = Type.Object(given, closed);

export const GivenSessionSchema = Type.Object({ ...given, user: UserRecordSchema }, closed);

export const PrepareSecondFactorRequestSchema = Type.Object({ password: Password }, closed);
export type PrepareSecondFactorRequest = Static<typeof PrepareSecondFactorRequestSchema>;

export const PreparedSecondFactorSchema = Type.Object(
  {
    secret: Type.String({ description: 'In base32, for an app that takes no picture' }),
    url: Type.String({ description: '`otpauth://…`, which opens an app on the same device' }),
    qrCode: Type.String({
      description: 'QR code of the address as a picture: the `src` of an `<img>` (`data:image/png;base64,…`)',
    }),
  },
  closed,
);
export type PreparedSecondFactor = Static<typeof PreparedSecondFactorSchema>;

export const ConfirmSecondFactorRequestSchema = Type.Object(
  { code: Type.String({ minLength: 6, maxLength: 32, description: 'Six digits that the app shows for the secret' }) },
  closed,
);
export type ConfirmSecondFactorRequest = Static<typeof ConfirmSecondFactorRequestSchema>;

export const RecoveryCodesSchema = Type.Object(
  {
    recoveryCodes: Type.Array(Type.String(), {
      description: 'Each is good once, in place of a code of the app. They are shown this once',
    }),
  },
  closed,
);
export type RecoveryCodes = Static<typeof RecoveryCodesSchema>;

/** Changing the second factor takes the password and a code. */
export const WithCodeRequestSchema = Type.Object({ password: Password, code: Code }, closed);
export type WithCodeRequest = Static<typeof WithCodeRequestSchema>;

export const ChangePasswordRequestSchema = Type.Object(
  {
    currentPassword: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.passwordCharsMax,
        description: 'Not needed once in a session that began by a one-time link',
      }),
    ),
    newPassword: NewPassword,
  },
  closed,
);
export type ChangePasswordRequest = Static<typeof ChangePasswordRequestSchema>;

export const SessionRecordSchema = Type.Object(
  {
    id: Type.String({ description: '`ses_…`' }),
    current: Type.Boolean({ description: 'Whether it is the session that calls' }),
    startedAt: Time,
    lastUsedAt: Type.String({ format: 'date-time', description: 'When it was refreshed last' }),
    expiresAt: Type.String({ format: 'date-time', description: 'When it ends where it is not refreshed before' }),
    secondFactor: Type.Boolean({ description: 'Whether a code was given in it' }),
    ipAddress: nullable(Type.String({ description: 'From where it was begun' })),
    userAgent: nullable(Type.String({ description: 'User agent of the program that began the session' })),
  },
  closed,
);
export type SessionRecord = Static<typeof SessionRecordSchema>;

export const EraseOwnUserRequestSchema = Type.Object({ password: Password, code: Type.Optional(Code) }, closed);
export type EraseOwnUserRequest = Static<typeof EraseOwnUserRequestSchema>;

/** A provider by which people sign in. */
const ProviderSchema = Type.Object(
  { id: Type.String({ description: 'Stands in the paths of its routes' }), label: Type.String() },
  closed,
);
export const SignInProvidersSchema = Type.Object({ data: Type.Array(ProviderSchema) }, closed);

export const BeginIdentityLinkRequestSchema = Type.Object(
  {
    password: Password,
    code: Type.Optional(Code),
    returnTo: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: 'Path of this service to which the browser comes back; default: /account',
      }),
    ),
  },
  closed,
);
export type BeginIdentityLinkRequest = Static<typeof BeginIdentityLinkRequestSchema>;

export const BegunIdentityLinkSchema = Type.Object(
  { url: Type.String({ description: 'Address at the provider, to be opened in the same browser within ten minutes' }) },
  closed,
);

export const LinkedIdentityRecordSchema = Type.Object(
  {
    id: Type.String(),
    provider: Type.String({ description: 'Id of the provider' }),
    label: Type.String({ description: 'Name of the provider; its id where it is set up no more' }),
    email: nullable(Type.String({ description: 'Address that the provider said when it was linked' })),
    linkedAt: Time,
  },
  closed,
);
export type LinkedIdentityRecord = Static<typeof LinkedIdentityRecordSchema>;
export const LinkedIdentitiesSchema = Type.Object({ data: Type.Array(LinkedIdentityRecordSchema) }, closed);

export const UpdateUserRequestSchema = Type.Object({ name: Type.Optional(Name) }, closed);
export type UpdateUserRequest = Static<typeof UpdateUserRequestSchema>;

/** A user as the members of the same team see them. */
export const ColleagueSchema = Type.Object(
  { id: Type.String(), email: nullable(Type.String()), name: nullable(Type.String()) },
  closed,
);
export type Colleague = Static<typeof ColleagueSchema>;

/** RFC 7517, with keys of RFC 8037. */
export const JsonWebKeysSchema = Type.Object(
  {
    keys: Type.Array(
      Type.Object(
        {
          kty: Type.Literal('OKP'),
          crv: Type.Literal('Ed25519'),
          alg: Type.Literal('EdDSA'),
          use: Type.Literal('sig'),
          kid: Type.String(),
          x: Type.String(),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type JsonWebKeys = Static<typeof JsonWebKeysSchema>;

export const ChangeAddressRequestSchema = Type.Object(
  { email: Email, password: Password, code: Type.Optional(Code) },
  closed,
);
export type ChangeAddressRequest = Static<typeof ChangeAddressRequestSchema>;
export const ConfirmRequestSchema = Type.Object({ token: LinkToken, password: Password }, closed);
export const AddressRequestSchema = Type.Object({ email: Email }, closed);
export const ResetRequestSchema = Type.Object({ token: LinkToken, password: NewPassword }, closed);

export const DoneSchema = Type.Object({ message: Type.String() }, closed);

const password = 'a pelican in the rain';

const email = 'ada@example.com';

export const ownAccountExamples = {
  beginLink: {
    password: { summary: 'With the password', value: { password } satisfies BeginIdentityLinkRequest },
  },
  prepare: { password: { summary: 'With the password', value: { password } satisfies PrepareSecondFactorRequest } },
  confirm: { code: { summary: 'A code of the app', value: { code: '482913' } satisfies ConfirmSecondFactorRequest } },
  withCode: {
    both: { summary: 'With the password and a code', value: { password, code: '482913' } satisfies WithCodeRequest },
  },
  erase: { password: { summary: 'With the password', value: { password } satisfies EraseOwnUserRequest } },
  changePassword: {
    another: {
      summary: 'Another password',
      value: { currentPassword: password, newPassword: 'two herons on a roof' } satisfies ChangePasswordRequest,
    },
  },
};

export const authExamples = {
  register: {
    invited: {
      summary: 'Somebody who needs no token',
      value: { email, password, name: 'Ada Example' } satisfies RegisterRequest,
    },
  },
  login: {
    password: { summary: 'With a password alone', value: { email, password } satisfies LoginRequest },
    browser: {
      summary: 'For a page in a browser',
      value: { email, password, session: 'cookie' } satisfies LoginRequest,
    },
  },
  followLink: {
    token: {
      summary: 'The token of a link',
      value: { token: 'A'.repeat(65) } satisfies FollowSignInLinkRequest,
    },
  },
  refresh: {
    token: {
      summary: 'The token of the last answer',
      value: { refreshToken: `sealpost_rt_${'A'.repeat(87)}` } satisfies RefreshRequest,
    },
  },
  confirm: {
    token: {
      summary: 'Token from the link of the mail, and the current password',
      value: { token: 'A'.repeat(65), password },
    },
  },
  address: { address: { summary: 'The address of the user', value: { email } } },
  reset: { token: { summary: 'Token from the link of the mail', value: { token: 'A'.repeat(65), password } } },
  changeAddress: { address: { summary: 'Another address', value: { email: 'ada@example.org', password } } },
  updateUser: { name: { summary: 'Another name', value: { name: 'Ada E.' } satisfies UpdateUserRequest } },
};
