/** Finds the emails that are to be pushed on by hand, a page of the read model in each call. */
import { assertDefined, parseEmailId, type EmailId } from '../domain/ids.js';
import type { Query, ReadModels } from '../domain/ports/read-models.js';
import { EMAILS, type EmailDocument } from './emails.js';
import { readCursor, writeCursor } from './paging.js';
import type { ToRetry } from './query-types.js';

/** So many emails are looked at in one call: reading them takes some 10 ms. */
const LOOKED_AT_MAX = 1_000;

const ORDER = 'createdAt';

/** `where` has the team, the status and what else narrows it. */
export const emailsToRetry = async (
  { find }: Pick<ReadModels, 'find'>,
  where: Query['where'],
  cursor: string | undefined,
): Promise<ToRetry> => {
  const found = (await find(EMAILS, {
    where,
    sort: { field: ORDER, direction: 'asc' },
    ...(cursor === undefined ? {} : { after: readCursor(cursor, EMAILS, ORDER) }),
    limit: LOOKED_AT_MAX,
  })) as readonly EmailDocument[];
  const ids: EmailId[] = [];
  const held: EmailId[] = [];
  for (const { id, status, summary } of found) {
    const of = status === 'queued' && summary.heldUntil !== undefined ? held : ids;
    if (of === held || status === 'failed' || summary.nextAttemptAt !== null) of.push(assertDefined(parseEmailId(id), 'email id'));
  }
  const last = found.at(-1);
  return { ids, held, nextCursor: last === undefined || found.length < LOOKED_AT_MAX ? null : writeCursor(last, EMAILS, ORDER) };
};
