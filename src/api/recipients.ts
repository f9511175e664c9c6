/** Addresses that a team does not write to, as callers see them. */
import { Type, type Static } from '@sinclair/typebox';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { suppressionReasons } from '../domain/recipients/suppression.js';
import { closed, enumOf, Time } from './core/common.js';
import { PagingQuerySchema } from './core/queries.js';

const address = (description: string) => Type.String({ minLength: 3, maxLength: 512, description });
const Reason = enumOf(suppressionReasons);

/** As templates name it. */
const LIST = '^[a-z0-9]+(?:-[a-z0-9]+)*$';
const LIST_CHARS_MAX = limits.templateSlugCharsMax;
const list = (description: string) => Type.String({ pattern: LIST, maxLength: LIST_CHARS_MAX, description });
const listPattern = new RegExp(LIST);

export const isListName = (text: string): boolean => text.length <= LIST_CHARS_MAX && listPattern.test(text);

export const SuppressionRecordSchema = Type.Object(
  {
    id: Type.String(),
    email: nullable(Type.String({ description: 'null where the address is erased' })),
    list: nullable(Type.String({ description: 'Mails of this list alone are kept from it; null: all' })),
    reason: Reason,
    emailId: nullable(Type.String({ description: 'The email that was refused or complained about, or whose link was followed' })),
    createdAt: Time,
  },
  closed,
);
export type SuppressionRecord = Static<typeof SuppressionRecordSchema>;

export const AddSuppressionRequestSchema = Type.Object(
  { email: address('Letter case does not count'), list: Type.Optional(list('Keeps mails of this unsubscribe list alone from it')) },
  closed,
);
export type AddSuppressionRequest = Static<typeof AddSuppressionRequestSchema>;

export const SuppressionListQuerySchema = Type.Composite(
  [PagingQuerySchema, Type.Object({ reason: Type.Optional(Reason), list: Type.Optional(list('Those of this list alone')) })],
  closed,
);

export const SuppressionCheckQuerySchema = Type.Object(
  { email: address('The address, whole'), list: Type.Optional(list('Whether mails of this list are sent to it')) },
  closed,
);
export const SuppressionCheckSchema = Type.Object(
  { email: Type.String(), suppressed: Type.Boolean(), suppression: nullable(SuppressionRecordSchema) },
  closed,
);
export type SuppressionCheck = Static<typeof SuppressionCheckSchema>;

const Count = Type.Integer({ minimum: 0 });

export const SuppressionsImportedSchema = Type.Object(
  {
    rows: Count,
    added: Count,
    existing: Type.Integer({ minimum: 0, description: 'Suppressed before, or earlier in the file; they stay as they are' }),
    invalid: Type.Integer({ minimum: 0, description: 'Rows without a valid address or list; they are passed over' }),
    errors: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }, closed), {
      description: 'What is wrong with the invalid rows, the first hundred',
    }),
  },
  closed,
);
export type SuppressionsImported = Static<typeof SuppressionsImportedSchema>;
