/** Addresses that a team does not write to, as callers see them. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/schema.js';
import { suppressionReasons } from '../domain/suppression/state.js';
import { closed, enumOf, Time } from './common.js';
import { PagingQuerySchema } from './queries.js';

const address = (description: string) => Type.String({ minLength: 3, maxLength: 512, description });
const Reason = enumOf(suppressionReasons);

export const SuppressionRecordSchema = Type.Object(
  {
    id: Type.String(),
    email: nullable(Type.String({ description: 'null where the address is erased' })),
    reason: Reason,
    emailId: nullable(Type.String({ description: 'The email that was refused or complained about' })),
    createdAt: Time,
  },
  closed,
);
export type SuppressionRecord = Static<typeof SuppressionRecordSchema>;

export const AddSuppressionRequestSchema = Type.Object({ email: address('Letter case does not count') }, closed);
export type AddSuppressionRequest = Static<typeof AddSuppressionRequestSchema>;

export const SuppressionListQuerySchema = Type.Composite([PagingQuerySchema, Type.Object({ reason: Type.Optional(Reason) })], closed);

export const SuppressionCheckQuerySchema = Type.Object({ email: address('The address, whole') }, closed);
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
    invalid: Type.Integer({ minimum: 0, description: 'Rows without a valid address; they are passed over' }),
    errors: Type.Array(Type.Object({ line: Type.Integer(), message: Type.String() }, closed), {
      description: 'What is wrong with the invalid rows, the first hundred',
    }),
  },
  closed,
);
export type SuppressionsImported = Static<typeof SuppressionsImportedSchema>;
