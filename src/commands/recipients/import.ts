/** Puts the addresses of a file on the suppression list. */
import type { Caller } from '../core/caller.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { fileFault } from './columns.js';
import { readRecipientFile } from './file.js';
import { suppressAddress } from './suppressions.js';
import type { SuppressionsImported } from '../../api/recipients.js';
import { isListName } from '../../api/recipients.js';
import { parseAddress } from '../../domain/mime/address.js';
import { suppressionReasons, type SuppressionReason } from '../../domain/recipients/suppression.js';
import { nextTurn } from '../../shared/next-turn.js';

export type SuppressionFile = Readonly<{
  bytes: Buffer;
  /** Reads one JSON line. Throws DomainError. */
  parseLine: (bytes: Buffer) => unknown;
  /** Default: `SUPPRESSION_ROWS_MAX`. */
  rowsMax?: number;
}>;

/** Rows of one file. */
export const SUPPRESSION_ROWS_MAX = 10_000;
/** So many are appended side by side: they share commits. */
const AT_ONCE = 64;
/** So many lines that hold no address are named. */
const INVALID_MAX = 100;

/**
 * What is suppressed already stays as it is, so a file that was cut off is given again. Resolves when all hold in every process. Rejects
 * with VALIDATION_ERROR where it is no such file, having written nothing.
 */
export const importSuppressions = async (deps: CommandDeps, caller: Caller, file: SuppressionFile): Promise<SuppressionsImported> => {
  const { recipients, lines } = await readRecipientFile(file.bytes, {
    rowsMax: SUPPRESSION_ROWS_MAX,
    ...file,
    types: new Map(),
    limits: deps.limits,
  });
  const counts = { rows: recipients.length, added: 0, existing: 0, invalid: 0 };
  const invalid: SuppressionsImported['errors'] = [];
  const cause = causeOf(deps, caller);
  let hasBegun = false;
  const suppress = async (row: unknown, line: number): Promise<void> => {
    const { email, reason, list } = entryOf(row);
    const parsed = parseAddress(withoutMark(email));
    const fault = parsed.ok ? listFault(list) : parsed.reason;
    if (!parsed.ok || fault !== undefined) {
      counts.invalid += 1;
      if (invalid.length < INVALID_MAX) invalid.push({ line, message: fault ?? '' });
      return;
    }
    const { isNew, isFirst } = await suppressAddress(deps, { teamId: caller.teamId, email: parsed.address, list, reason, cause });
    hasBegun ||= isFirst;
    counts[isNew ? 'added' : 'existing'] += 1;
  };
  for (let from = 0; from < recipients.length; from += AT_ONCE) {
    await Promise.all(recipients.slice(from, from + AT_ONCE).map((row, at) => suppress(row, lines[from + at]!)));
    await nextTurn();
  }
  if (hasBegun) await deps.whenHeldEverywhere();
  return { ...counts, errors: invalid };
};

/** undefined where it is none at all, or the name of one. */
const listFault = (list: string | undefined): string | undefined =>
  list === undefined || isListName(list) ? undefined : 'the list is no name of one: lower-case letters, digits and single hyphens';

type Entry = Readonly<{ email: string; reason: SuppressionReason; list: string | undefined }>;

/** An export names the reasons, which are kept; what else stands in the column is somebody else's word for one. */
const entryOf = (row: unknown): Entry => {
  const { email, variables, ...members } = row as Readonly<Record<'email' | 'reason' | 'list' | 'variables', unknown>>;
  if (typeof email !== 'string') throw fileFault('has a line whose `email` is no text');
  const { reason, list } = { ...(variables as Readonly<Record<string, unknown>> | undefined), ...members };
  return {
    email,
    reason: suppressionReasons.find((one) => one === reason) ?? 'import',
    list: typeof list === 'string' && list !== '' ? list : undefined,
  };
};

/** An export has an apostrophe before what a spreadsheet would take for a formula. */
const withoutMark = (email: string): string => (/^'[=+\-@]/.test(email) ? email.slice(1) : email);
