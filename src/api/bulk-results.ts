/** What `GET /api/emails/batch/:batchId/results` takes and gives: one line a recipient. */
import { Type, type Static } from '@sinclair/typebox';
import { closed, enumOf } from './core/common.js';
import { emailStatuses } from '../domain/email/email-status.js';

/** Beside the states of emails: a recipient that was left out, and an email of which nothing can be read. */
export const batchResultStatuses = [...emailStatuses, 'skipped', 'duplicate', 'unreadable'] as const;
export type BatchResultStatus = (typeof batchResultStatuses)[number];

export const resultFormats = ['jsonl', 'csv'] as const;
export type ResultFormat = (typeof resultFormats)[number];

export const BatchResultsQuerySchema = Type.Object(
  {
    format: Type.Optional(enumOf(resultFormats, 'Default: CSV where `Accept` names `text/csv` alone, else JSON lines')),
    status: Type.Optional(enumOf(batchResultStatuses, 'Only recipients that stand there')),
  },
  closed,
);
export type BatchResultsQuery = Static<typeof BatchResultsQuerySchema>;

/** One recipient of the call. */
export type BatchResult = Readonly<{
  /** Its place in the call, from 0. */
  place: number;
  /** null where it was left out, and once what is personal is erased. */
  email: string | null;
  status: BatchResultStatus;
  /** null where no email is there. */
  emailId: string | null;
  /** Why it has failed, or is left out. */
  error: string | null;
  /** The last reply of the host. */
  reply: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
}>;

/** The columns of the CSV, which are the members of each JSON line. */
export const resultColumns = [
  'place',
  'email',
  'status',
  'emailId',
  'error',
  'reply',
  'sentAt',
  'deliveredAt',
] as const satisfies readonly (keyof BatchResult)[];
