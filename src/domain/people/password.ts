/** What a password has to be, whoever chooses it. */
import { invalid } from '../core/errors.js';
import { defaultLimits } from '../core/limits.js';

const { passwordCharsMin, passwordCharsMax } = defaultLimits;

/** The form in which passwords are compared: the same text typed on another keyboard or system is the same password (RFC 8265, section 4.2). */
export const normalPassword = (password: string): string => password.normalize('NFC');

/** Throws VALIDATION_ERROR where the password may not be chosen. */
export const assertPassword = (field: string, password: string, isCommon: (password: string) => boolean): void => {
  const characters = [...password].length;
  if (characters < passwordCharsMin) throw invalid('request body', field, `must have at least ${passwordCharsMin} characters`);
  if (characters > passwordCharsMax) throw invalid('request body', field, `must have at most ${passwordCharsMax} characters`);
  if (isCommon(password))
    throw invalid(
      'request body',
      field,
      'is one of the passwords that are tried first, or made of one; choose another, such as a few words',
    );
};
