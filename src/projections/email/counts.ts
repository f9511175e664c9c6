/** How the counts of a day of a team change. */
import type { Draft } from '../../domain/email/status.js';
import type { Document } from '../../domain/ports/read-models.js';
import { countsId, type EmailCountsDocument } from './documents.js';

type CountsDraft = Draft<EmailCountsDocument> & { cells: Record<string, number> };

/** `at`: the `seq` of the email. `from`, `to`: the cell that it leaves, and that it comes to. */
export type CountsChange = Readonly<{
  team: string;
  day: string;
  seq: number;
  position: number;
  at: number;
  from: string | undefined;
  to: string | undefined;
  emails: number;
  documents: number;
}>;

/** In: the document before, which is changed in place. Out: the document after. */
export const countEmails = (document: Document | undefined, change: CountsChange): EmailCountsDocument => {
  const { at, from, to, emails, documents } = change;
  const counts = (document as CountsDraft | undefined) ?? emptyCounts(change);
  counts.first = Math.min(counts.first, at);
  counts.last = Math.max(counts.last, at);
  if (from !== undefined) add(counts.cells, from, -1);
  if (to !== undefined) add(counts.cells, to, 1);
  counts.emails += emails;
  counts.documents += documents;
  return counts;
};

const emptyCounts = ({ team, day, seq, position, at }: CountsChange): CountsDraft => ({
  id: countsId(team, day),
  seq,
  position,
  team,
  day,
  first: at,
  last: at,
  cells: {},
  emails: 0,
  documents: 0,
});

/** A cell that is down to nothing is left out. */
const add = (cells: Record<string, number>, cell: string, by: number): void => {
  const sum = (cells[cell] ?? 0) + by;
  if (sum === 0) delete cells[cell];
  else cells[cell] = sum;
};
