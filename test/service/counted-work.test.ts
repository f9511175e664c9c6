/**
 * The work of an email, of one with its HTML in the call, of one of a call with several, of one of a bulk send, of a
 * webhook and of a rebuilt event is no more than bench/counts.json says. If a figure grows for a good reason, `node build/bench/counts.js --write` replaces the table,
 * and the commit says why.
 */
import t from 'tap';
import { countWork, readTable, type Counts, type CountTable } from '../../bench/counts.js';

/**
 * How far a count may be above the table, as a share: what depends on how many emails are under way at once varies with
 * the machine.
 */
const shareOf = (kind: keyof CountTable, what: string): number => {
  // A webhook's count is the difference of two runs.
  if (kind === 'webhook' && !/^(hashes|HMACs|bytes)/.test(what)) return 0.6;
  if (/^(SQL|SMTP|event loop)/.test(what)) return 0.6;
  if (/^bytes allocated/.test(what)) return 0.15;
  if (/^(JSON|bytes written)/.test(what)) return 0.1;
  return 0.05;
};

/** A little work is done by time, not by email. */
const asideOf = (what: string): number => (what.startsWith('bytes') ? 200 : 0.5);

void t.test('no work per email has grown', { timeout: 600_000 }, async (t) => {
  const [counted, table] = [await countWork(), readTable()];
  for (const [kind, counts] of Object.entries(counted) as [keyof CountTable, Counts][])
    for (const [what, per] of Object.entries(counts)) {
      const known = table[kind][what] ?? 0;
      t.ok(
        per <= known * (1 + shareOf(kind, what)) + asideOf(what),
        `${kind}: ${what} is ${per}, the table says ${known}`,
      );
    }
});
