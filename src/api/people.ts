/** Signing in, and people as they are shown. */
import { Type, type Static } from '@sinclair/typebox';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { NAME } from '../shared/text.js';
import { closed, enumOf, Time } from './core/common.js';

const Email = Type.String({ minLength: 1, maxLength: 512, description: 'Email address; letter case makes no difference' });
const Name = Type.String({ pattern: NAME, minLength: 1, maxLength: limits.userNameCharsMax });
/** What is given as a password; whether it may be chosen is checked apart. */
const Password = Type.String({ minLength: 1, maxLength: limits.passwordCharsMax });
const NewPassword = Type.String({
  minLength: 1,
  maxLength: limits.passwordCharsMax,
  description: `At least ${limits.passwordCharsMin} characters, and none of the passwords that are tried first`,
});
const Code = Type.String({ minLength: 6, maxLength: 32, description: 'Six digits of the app, or a recovery code' });

export const RegisterRequestSchema = Type.Object(
  {
    email: Email,
    password: NewPassword,
    name: Name,
    token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Of an invitation: what its link carries. For the first user: what the terminal showed at the start',
      }),
    ),
  },
  closed,
);
export type RegisterRequest = Static<typeof RegisterRequestSchema>;

export const RegisteredSchema = Type.Object(
  {
    email: Type.String(),
    emailVerified: Type.Boolean({ description: 'False: a mail with a link went to the address, and who follows it can sign in' }),
    message: Type.String(),
    teamId: Type.Optional(Type.String({ format: 'uuid', description: 'The team that the user is in by the invitation' })),
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
      enumOf(['tokens', 'cookie'], '`cookie`: for a page in a browser, which gets no tokens to keep but cookies; default: tokens'),
    ),
  },
  closed,
);
export type LoginRequest = Static<typeof LoginRequestSchema>;

export const RefreshRequestSchema = Type.Object(
  { refreshToken: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Default: that of the cookie' })) },
  closed,
);
export type RefreshRequest = Static<typeof RefreshRequestSchema>;

export const UserRecordSchema = Type.Object(
  {
    id: Type.String(),
    email: nullable(Type.String()),
    name: nullable(Type.String()),
    emailVerified: Type.Boolean(),
    secondFactor: Type.Boolean({ description: 'Whether a code is asked for at each sign-in' }),
    createdAt: Time,
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

/** A page in a browser gets no tokens in the answer: they are in cookies that it cannot read. */
const given = {
  expiresIn: tokens.expiresIn,
  sessionId: tokens.sessionId,
  accessToken: Type.Optional(tokens.accessToken),
  refreshToken: Type.Optional(tokens.refreshToken),
  tokenType: Type.Optional(tokens.tokenType),
  csrfToken: Type.Optional(
    Type.String({
      description: 'In place of the tokens where they are in cookies: goes in the header `X-CSRF-Token` of what changes something',
    }),
  ),
};
export const GivenTokensSchema = Type.Object(given, closed);
export const GivenSessionSchema = Type.Object({ ...given, user: UserRecordSchema }, closed);

export const UpdateUserRequestSchema = Type.Object({ name: Type.Optional(Name) }, closed);
export type UpdateUserRequest = Static<typeof UpdateUserRequestSchema>;

/** What people of the same team see of each other. */
export const ColleagueSchema = Type.Object({ id: Type.String(), email: nullable(Type.String()), name: nullable(Type.String()) }, closed);
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

export const ChangeAddressRequestSchema = Type.Object({ email: Email, password: Password, code: Type.Optional(Code) }, closed);
export type ChangeAddressRequest = Static<typeof ChangeAddressRequestSchema>;

const LinkToken = Type.String({ minLength: 1, maxLength: 256 });
export const ConfirmRequestSchema = Type.Object({ token: LinkToken, password: Password }, closed);
export const AddressRequestSchema = Type.Object({ email: Email }, closed);
export const ResetRequestSchema = Type.Object({ token: LinkToken, password: NewPassword }, closed);

export const DoneSchema = Type.Object({ message: Type.String() }, closed);
export type Done = Static<typeof DoneSchema>;
