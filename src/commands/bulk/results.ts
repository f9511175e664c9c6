/**
 * The result for each recipient of a bulk send, read from the streams of its emails, and written as JSON lines or CSV.
 */
import { resultColumns, type BatchResult, type ResultFormat, type BatchResultStatus } from '../../api/bulk.js';
import { type Caller, ownedBy } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import type { EmailNeeds } from '../email/needs.js';
import { batchDecider, batchNotFound, type Batch } from '../../domain/bulk/decider.js';
import { withLines } from './request.js';
import { emailDecider } from '../../domain/email/decider.js';
import type { Email, EmailState } from '../../domain/email/state.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  type BatchId,
  type EmailId,
} from '../../domain/core/ids.js';

/** Emails that are read concurrently; no more are held in memory. */
const AT_ONCE = 20;

/**
 * One result for each recipient of the call, in order. The next ones are read when the caller asks for them. `status`:
 * only results with that status. Rejects with BATCH_NOT_FOUND.
 */
export const batchResults = async (
  deps: Pick<EmailNeeds, 'eventLog'>,
  caller: Caller,
  id: BatchId,
  status?: BatchResultStatus,
): Promise<AsyncIterable<readonly BatchResult[]>> => {
  const loaded = await loadState(deps.eventLog, batchStream(id), batchDecider);
  ownedBy(caller.teamId, batchNotFound)(loaded);
  const places = placesOf(id, assertDefined(loaded.state, 'batch'));
  return readResults(deps, places, status);
};

/** A recipient of the call: its result if there is no email, and the id of its email. */
type Place = Readonly<{ unmade: BatchResult; emailId: EmailId | undefined }>;

const placesOf = (id: BatchId, { accepted, content, cancelled, status, erased }: Batch): readonly Place[] => {
  const invalid = new Set(accepted.invalid);
  const duplicates = new Set(accepted.duplicates);
  const { lines = [], reasons: told } = accepted;
  const reasons = new Map(
    [...accepted.invalid, ...accepted.duplicates].map((place, at) => [place, told && withLines(told[at]!, lines)]),
  );
  const waiting = cancelled !== null ? 'cancelled' : status === 'scheduled' ? 'scheduled' : 'queued';
  let index = 0;
  return Array.from({ length: accepted.total + invalid.size + duplicates.size }, (_, place): Place => {
    const line = lines[place] ?? null;
    if (invalid.has(place))
      return leftOut(place, 'skipped', {
        line,
        error: reasons.get(place) ?? 'its address is not a valid email address',
      });
    if (duplicates.has(place))
      return leftOut(place, 'duplicate', { line, error: reasons.get(place) ?? 'its address stands there before' });
    const emailId = emailIdInBatch(id, index);
    const email = erased?.includes(index) === true ? null : (content?.recipients[index]?.email ?? null);
    index += 1;
    return { unmade: resultOf(place, waiting, { email, line }), emailId };
  });
};

const leftOut = (
  place: number,
  status: 'skipped' | 'duplicate',
  known: Pick<BatchResult, 'line' | 'error'>,
): Place => ({
  unmade: resultOf(place, status, known),
  emailId: undefined,
});

const resultOf = (place: number, status: BatchResultStatus, known: Partial<BatchResult>): BatchResult => ({
  place,
  email: null,
  status,
  emailId: null,
  error: null,
  reply: null,
  sentAt: null,
  deliveredAt: null,
  line: null,
  ...known,
});

async function* readResults(
  deps: Pick<EmailNeeds, 'eventLog'>,
  places: readonly Place[],
  status: BatchResultStatus | undefined,
): AsyncGenerator<readonly BatchResult[]> {
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const results = await Promise.all(places.slice(from, from + AT_ONCE).map((place) => readResult(deps, place)));
    yield status === undefined ? results : results.filter((result) => result.status === status);
  }
}

const readResult = async (
  { eventLog }: Pick<EmailNeeds, 'eventLog'>,
  { unmade, emailId }: Place,
): Promise<BatchResult> => {
  if (emailId === undefined) return unmade;
  let state: EmailState;
  try {
    ({ state } = await loadState(eventLog, emailStream(emailId), emailDecider));
  } catch (fault) {
    // A damaged email gets a result of its own, so that the others are still listed.
    if (!(fault instanceof EventUnreadable || fault instanceof EventUnknown)) throw fault;
    return { ...unmade, status: 'unreadable', emailId, error: 'what is stored of this email is damaged' };
  }
  return state === undefined ? unmade : resultOfEmail(unmade, emailId, state);
};

/** A deleted email is listed without personal data, even while its key still exists. */
const resultOfEmail = ({ place, line }: BatchResult, emailId: EmailId, email: Email): BatchResult => {
  const { status, failureReason, sentAt, deliveredAt } = email;
  const isDeleted = email.deletedAt !== null;
  return resultOf(place, status, {
    ...(isDeleted
      ? {}
      : { email: email.content?.recipients[0]?.email ?? null, emailId, reply: email.replies[0]?.reply ?? null }),
    error: failureReason,
    sentAt,
    deliveredAt,
    line,
  });
};

/** Turns results into text. The first call also gives the header of the table. */
type WriteResults = (results: readonly BatchResult[]) => string;

/** JSON lines, or CSV (RFC 4180) with formulas escaped. */
export const resultWriter = async (format: ResultFormat): Promise<WriteResults> => {
  if (format === 'jsonl') return (results) => results.map((result) => `${JSON.stringify(result)}\n`).join('');
  const { stringify } = await import('csv-stringify/sync');
  const columns = [...resultColumns];
  let header = true;
  return (results) => {
    const text = stringify([...results], { columns, header, escape_formulas: true, record_delimiter: 'windows' });
    header = false;
    return text;
  };
};

/** The text of all results, piece by piece. */
export async function* resultLines(
  all: AsyncIterable<readonly BatchResult[]>,
  write: WriteResults,
): AsyncGenerator<string> {
  for await (const results of all) {
    const text = write(results);
    if (text !== '') yield text;
  }
}
