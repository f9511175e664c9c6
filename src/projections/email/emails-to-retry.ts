/** Finds the emails that are to be pushed on by hand, a page of the read model in each call. */
import { assertDefined, parseEmailId, type EmailId } from '../../domain/core/ids.js';
import type { Query, ReadModels } from '../../domain/ports/read-models.js';
import { nextTurn } from '../../shared/next-turn.js';
import { EMAILS, type EmailDocument } from './emails.js';
import { readCursor, writeCursor } from '../core/paging.js';
import type { ToRetry } from './filters.js';

/** So many emails are looked at in one turn of the event loop, and so many turns are taken by one call. */
const PAGE = 100;
const PAGES_MAX = 10;

const ORDER = 'createdAt';

/** `where` has the team, the status and what else narrows it. */
export const emailsToRetry = async (
  readModels: Pick<ReadModels, 'find'>,
  where: Query['where'],
  cursor: string | undefined,
): Promise<ToRetry> => {
  const ids: EmailId[] = [];
  const held: EmailId[] = [];
  let after = cursor === undefined ? undefined : readCursor(cursor, EMAILS, ORDER);
  for (let pages = 1; ; pages += 1) {
    const query = { where, sort: { field: ORDER, direction: 'asc' as const }, ...(after === undefined ? {} : { after }), limit: PAGE };
    const page = (await readModels.find(EMAILS, query)) as readonly EmailDocument[];
    for (const email of page) {
      const id = assertDefined(parseEmailId(email.id), 'email id');
      if (isHeld(email)) held.push(id);
      else if (email.status === 'failed' || email.summary.nextAttemptAt !== null) ids.push(id);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return { ids, held, nextCursor: null };
    if (pages === PAGES_MAX) return { ids, held, nextCursor: writeCursor(last, EMAILS, ORDER) };
    after = { value: last.createdAt, seq: last.seq };
    await nextTurn();
  }
};

const isHeld = ({ status, summary }: EmailDocument): boolean => status === 'queued' && summary.heldUntil !== undefined;
