/** The second factor of a person, and what it is changed with. */
import { Type, type Static } from '@sinclair/typebox';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { closed } from './core/common.js';

/** What is given as the password of now. */
export const Password = Type.String({ minLength: 1, maxLength: limits.passwordCharsMax });
export const Code = Type.String({ minLength: 6, maxLength: 32, description: 'Six digits of the app, or a recovery code' });

export const PrepareSecondFactorRequestSchema = Type.Object({ password: Password }, closed);
export type PrepareSecondFactorRequest = Static<typeof PrepareSecondFactorRequestSchema>;

export const PreparedSecondFactorSchema = Type.Object(
  {
    secret: Type.String({ description: 'In base32, for an app that takes no picture' }),
    url: Type.String({ description: '`otpauth://…`, which opens an app on the same device' }),
    qrCode: Type.String({ description: 'The same as a picture: the address of an `<img>` (`data:image/png;base64,…`)' }),
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
    recoveryCodes: Type.Array(Type.String(), { description: 'Each is good once, in place of a code of the app. They are shown this once' }),
  },
  closed,
);
export type RecoveryCodes = Static<typeof RecoveryCodesSchema>;

/** To change what protects the account one shows the password and a code. */
export const WithCodeRequestSchema = Type.Object({ password: Password, code: Code }, closed);
export type WithCodeRequest = Static<typeof WithCodeRequestSchema>;
