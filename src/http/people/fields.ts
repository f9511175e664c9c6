/** What the pages about accounts ask for, and what their links carry. */
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { fieldsOf } from '../server/form.js';
import type { Field } from './page-layout.js';

const { passwordCharsMin, passwordCharsMax, userNameCharsMax } = defaultLimits;

/** Two passwords and a name whose every character is written as %XX of four bytes. */
export const ACCOUNT_FORM_BYTES_MAX = 32_768;
const TOKEN_CHARS_MAX = 256;

/** What the link carries; undefined where it carries nothing that could be good. Mail programs may have added more to the query. */
export const tokenInLink = ({ query }: Pick<FastifyRequest, 'query'>): string | undefined =>
  wellFormed((query as Readonly<Record<string, unknown>>)['token']);

/** Out: the fields of the form, and what its link carried; undefined where the form is not one of these pages. */
export const sentForm = ({ body }: Pick<FastifyRequest, 'body'>): Readonly<{ token: string; fields: Fields }> | undefined => {
  const fields = fieldsOf(body);
  const token = wellFormed(fields?.['token']);
  return fields === undefined || token === undefined ? undefined : { token, fields };
};

export type Fields = Readonly<Record<string, string>>;

const wellFormed = (token: unknown): string | undefined =>
  typeof token === 'string' && token.length <= TOKEN_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(token) ? token : undefined;

export const emailField = (value: string, isReadonly = false): Field => ({
  label: 'Email address',
  name: 'email',
  type: 'email',
  autocomplete: 'username',
  value,
  isReadonly,
  maxLength: 512,
});

export const nameField = (value: string): Field => ({
  label: 'Your name',
  name: 'name',
  type: 'text',
  autocomplete: 'name',
  value,
  maxLength: userNameCharsMax,
});

const passwordBounds = { type: 'password', minLength: passwordCharsMin, maxLength: passwordCharsMax } as const;

/** Asked for twice: with a password that was mistyped nobody could sign in. */
export const passwordFieldsNamed = (name: string): readonly Field[] => [
  { label: `${name}, at least ${passwordCharsMin} characters`, name: 'password', autocomplete: 'new-password', ...passwordBounds },
  { label: 'The same once more', name: 'again', autocomplete: 'new-password', ...passwordBounds },
];

export const newPasswordFields = passwordFieldsNamed('New password');

export const passwordField: Field = {
  label: 'Password',
  name: 'password',
  type: 'password',
  autocomplete: 'current-password',
  maxLength: passwordCharsMax,
};

export const codeField: Field = {
  label: 'Code of your second factor',
  name: 'code',
  type: 'text',
  autocomplete: 'one-time-code',
  maxLength: 32,
};

/** Throws VALIDATION_ERROR where the two differ. */
export const chosenPassword = ({ password = '', again = '' }: Fields): string => {
  if (password !== again) throw new DomainError('VALIDATION_ERROR', 'The two passwords are not the same.');
  return password;
};

/** What a person is told of a fault. */
export const inWords = ({ message, details }: DomainError): string => {
  const [first] = details.errors ?? [];
  return first === undefined ? message : `The ${first.field} ${first.message}.`;
};
