/** Commands on a team's suppression list: add, remove, check, import from a file, export as CSV. */
import {
  type SuppressionRecord,
  type AddSuppressionRequest,
  type SuppressionCheck,
  type SuppressionsImported,
  isListName,
} from '../../api/recipients.js';
import {
  type SuppressionId,
  assertDefined,
  suppressionStream,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import { type Caller, ownedBy, causeOf } from '../core/caller.js';
import { handle, handleFrom, loadState } from '../core/handle.js';
import type { RecipientNeeds } from './needs.js';
import { requireAddress, parseAddress } from '../../domain/mime/address.js';
import { suppressionIdOf } from './suppression-check.js';
import type { Deleted } from '../../api/core/common.js';
import {
  suppressionDecider,
  suppressionNotFound,
  type Suppression,
  type SuppressionReason,
  type SuppressionState,
  suppressionReasons,
} from '../../domain/recipients/suppression.js';
import { hasBegunSuppressions, teamDecider } from '../../domain/teams/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import { lettersOf, readRecipientFile } from './file.js';
import { trimmed } from '../../shared/text.js';
import { nextTurn } from '../../shared/concurrency.js';

const columns: (keyof SuppressionRecord)[] = ['email', 'list', 'reason', 'createdAt', 'emailId', 'id'];

/** The suppression list as CSV (RFC 4180). Each page is read when the text of the page before it was consumed. */
export async function* suppressionLines(
  pages: AsyncIterable<readonly SuppressionId[]>,
  read: (ids: readonly SuppressionId[]) => Promise<readonly SuppressionRecord[]>,
): AsyncGenerator<string> {
  const { stringify } = await import('csv-stringify/sync');
  const text = (records: readonly SuppressionRecord[], header: boolean): string =>
    stringify([...records], { columns, header, escape_formulas: true, record_delimiter: 'windows' });
  yield text([], true);
  for await (const ids of pages) yield text(await read(ids), false);
}

type AddressToSuppress = Readonly<{
  teamId: TeamId;
  /** As emails have it, or as `parseAddress` gives it. */
  email: string;
  /** Suppress mail of this list only. */
  list?: string | undefined;
  reason: SuppressionReason;
  cause: Cause;
  /**
   * When the reason was learned, ISO 8601; default: now. A reason learned before the address was last removed is
   * ignored.
   */
  learnedAt?: string;
  /** The email that bounced or was complained about. */
  emailId?: string;
}>;

type Suppressed = Readonly<{ id: SuppressionId; suppression: SuppressionState; isNew: boolean; isFirst: boolean }>;

/**
 * Suppresses an address. If it is the team's first (`isFirst`), other processes know it only once their states are
 * fresh: a caller that answers a request then awaits `whenHeldEverywhere`. Safe to repeat. Rejects with
 * NOT_DURING_UPDATE.
 */
export const suppressAddress = async (
  deps: Pick<RecipientNeeds, 'eventLog' | 'keys' | 'team'>,
  address: AddressToSuppress,
): Promise<Suppressed> =>
  suppressUnder(deps, suppressionIdOf(deps, address.teamId, address.email, address.list), address);

/**
 * Notes that a host refused the address without a reason, and suppresses it if that happened in another email before.
 * Safe to repeat. Rejects with NOT_DURING_UPDATE.
 */
export const noteRefusal = async (
  deps: Pick<RecipientNeeds, 'eventLog' | 'keys' | 'team'>,
  address: AddressToSuppress & Readonly<{ learnedAt: string; emailId: string }>,
): Promise<void> => {
  const { teamId, email, cause, learnedAt, emailId } = address;
  const stream = suppressionStream(suppressionIdOf(deps, teamId, email));
  const command = { type: 'NoteRefusal' as const, at: cause.at, learnedAt, emailId };
  const { state } = await handle(deps.eventLog, stream, suppressionDecider, command, cause);
  if (state?.refusedIn !== undefined && state.refusedIn !== emailId) await suppressAddress(deps, address);
};

/** Suppresses by id: the address may be erased, and `email` absent. */
export const suppressUnder = async (
  deps: Pick<RecipientNeeds, 'eventLog' | 'team'>,
  id: SuppressionId,
  {
    teamId,
    email,
    list,
    reason,
    cause,
    learnedAt,
    emailId,
  }: Omit<AddressToSuppress, 'email'> & Readonly<{ email?: string }>,
): Promise<Suppressed> => {
  // Before the first address: if the program dies in between, the team checks a list that is still empty.
  const isFirst = await begin(deps, teamId, cause, list);
  const command = { type: 'Suppress' as const, at: cause.at, learnedAt, reason, emailId, list, address: email };
  const { state, events } = await handle(deps.eventLog, suppressionStream(id), suppressionDecider, command, cause);
  return { id, suppression: state, isNew: events.length > 0, isFirst };
};

/** Out: whether this is the team's first suppression. */
const begin = async (
  deps: Pick<RecipientNeeds, 'eventLog' | 'team'>,
  teamId: TeamId,
  cause: Cause,
  list: string | undefined,
): Promise<boolean> => {
  const stream = teamStream(teamId);
  const known = await deps.team(stream);
  if (hasBegunSuppressions(known.state, list)) return false;
  const { events } = await handleFrom(
    known,
    deps.eventLog,
    stream,
    teamDecider,
    { type: 'BeginSuppressions', at: cause.at, list },
    cause,
  );
  return events.length > 0 && known.state?.hasSuppressions !== true;
};

const recordOf = (id: SuppressionId, { address, list, reason, emailId, at }: Suppression): SuppressionRecord => ({
  id,
  email: address ?? null,
  list,
  reason,
  emailId,
  createdAt: at,
});

/** An address that is suppressed already stays as it is. Rejects with ERR_EMAIL_001. */
export const addSuppression = async (
  deps: RecipientNeeds,
  caller: Caller,
  { email, list }: AddSuppressionRequest,
): Promise<SuppressionRecord> => {
  const address = requireAddress(email, 'email');
  const cause = causeOf(deps, caller);
  const { id, suppression, isFirst } = await suppressAddress(deps, {
    teamId: caller.teamId,
    email: address,
    list,
    reason: 'manual',
    cause,
  });
  if (isFirst) await deps.whenHeldEverywhere();
  return recordOf(id, assertDefined(suppression, 'suppression'));
};

/** Rejects with SUPPRESSION_NOT_FOUND. */
export const removeSuppression = async (deps: RecipientNeeds, caller: Caller, id: SuppressionId): Promise<Deleted> => {
  const cause = causeOf(deps, caller);
  const command = { type: 'RemoveSuppression' as const, at: cause.at };
  const guard = ownedBy(caller.teamId, suppressionNotFound);
  await handle(deps.eventLog, suppressionStream(id), suppressionDecider, command, cause, guard);
  return { id, deleted: true };
};

/**
 * Whether the address is suppressed; with `list`, whether for mail of that list or for all mail. Rejects with
 * ERR_EMAIL_001.
 */
export const checkSuppression = async (
  deps: RecipientNeeds,
  { teamId }: Caller,
  email: string,
  list?: string,
): Promise<SuppressionCheck> => {
  const address = requireAddress(email, 'email');
  const ids = [
    suppressionIdOf(deps, teamId, address),
    ...(list === undefined ? [] : [suppressionIdOf(deps, teamId, address, list)]),
  ];
  const [suppression = null] = await readSuppressions(deps, { teamId }, ids);
  return { email: address, suppressed: suppression !== null, suppression };
};

type RecipientState = Readonly<{
  /** In the form in which emails have it. */
  email: string;
  /** Its id among the team's suppressions, whether it is suppressed or not. */
  id: SuppressionId;
  /** For all mail, and for single lists. */
  suppressions: readonly SuppressionRecord[];
}>;

/** How the team stands to an address. Rejects with ERR_EMAIL_001. */
export const readRecipient = async (
  deps: RecipientNeeds,
  caller: Pick<Caller, 'teamId'>,
  address: string,
): Promise<RecipientState> => {
  const email = requireAddress(address, 'address');
  const ids = await suppressionIdsOf(deps, caller.teamId, email);
  return {
    email,
    id: assertDefined(ids[0], 'suppression id'),
    suppressions: await readSuppressions(deps, caller, ids),
  };
};

/**
 * The ids under which the address may be suppressed: one for all mail, and one for each list that has ever had a
 * suppression.
 */
export const suppressionIdsOf = async (
  deps: Pick<RecipientNeeds, 'keys' | 'team'>,
  teamId: TeamId,
  address: string,
): Promise<readonly SuppressionId[]> => {
  const { state } = await deps.team(teamStream(teamId));
  return [undefined, ...(state?.suppressionLists ?? [])].map((list) => suppressionIdOf(deps, teamId, address, list));
};

/**
 * The records of those ids that are suppressed, in order. They are read from the streams, which alone have the
 * addresses.
 */
export const readSuppressions = async (
  deps: RecipientNeeds,
  { teamId: owner }: Pick<Caller, 'teamId'>,
  ids: readonly SuppressionId[],
): Promise<readonly SuppressionRecord[]> => {
  const loaded = await Promise.all(
    ids.map((id) => loadState(deps.eventLog, suppressionStream(id), suppressionDecider)),
  );
  return loaded.flatMap(({ state, teamId }, index) =>
    state?.isSuppressed === true && teamId === owner ? [recordOf(ids[index]!, state)] : [],
  );
};

type SuppressionFile = Readonly<{
  bytes: Buffer;
  /** Reads one JSON line. Throws DomainError. */
  parseLine: (bytes: Buffer) => unknown;
  /** Default: `SUPPRESSION_ROWS_MAX`. */
  rowsMax?: number;
}>;

/** Most rows of one file. */
export const SUPPRESSION_ROWS_MAX = 10_000;
/** Appends at a time: they share commits. */
const AT_ONCE = 64;
/** Most invalid lines that the answer names. */
const INVALID_MAX = 100;

/**
 * Suppresses the addresses of a file. An address that is suppressed already stays as it is, so an interrupted import
 * can be repeated. Resolves when all are suppressed in every process. Rejects with VALIDATION_ERROR before it writes
 * anything if the file cannot be read.
 */
export const importSuppressions = async (
  deps: RecipientNeeds,
  caller: Caller,
  file: SuppressionFile,
): Promise<SuppressionsImported> => {
  const { recipients, lines } = await readRecipientFile(file.bytes, {
    rowsMax: SUPPRESSION_ROWS_MAX,
    ...file,
    types: new Map(),
    addressNames: ADDRESS_NAMES,
    limits: deps.limits,
  });
  const counts = { rows: recipients.length, added: 0, existing: 0, invalid: 0 };
  const invalid: SuppressionsImported['errors'] = [];
  const cause = causeOf(deps, caller);
  let hasBegun = false;
  const suppress = async (row: unknown, line: number): Promise<void> => {
    const { email, reason, list } = entryOf(row);
    const parsed = parseAddress(withoutMark(trimmed(email)));
    const fault = parsed.ok ? listFault(list) : parsed.reason;
    if (!parsed.ok || fault !== undefined) {
      counts.invalid += 1;
      if (invalid.length < INVALID_MAX) invalid.push({ line, message: fault ?? '' });
      return;
    }
    const { isNew, isFirst } = await suppressAddress(deps, {
      teamId: caller.teamId,
      email: parsed.address,
      list,
      reason,
      cause,
    });
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

/** undefined: there is no list, or its name is valid. */
const listFault = (list: string | undefined): string | undefined =>
  list === undefined || isListName(list)
    ? undefined
    : 'the list is no name of one: lower-case letters, digits and single hyphens';

type Entry = Readonly<{ email: string; reason: SuppressionReason; list: string | undefined }>;

/**
 * Names of the column of addresses, by their letters: ours, and those of the exports of Postmark, Mailgun, Amazon SES,
 * SendGrid and Mailchimp.
 */
const ADDRESS_NAMES = ['email', 'emailaddress', 'address', 'recipient', 'recipientemail', 'mail'];

/** A reason of our own export is kept; one that another service wrote is mapped, and any other becomes `import`. */
const entryOf = (row: unknown): Entry => {
  const { variables, ...members } = row as Readonly<Record<string, unknown>>;
  const told = Object.fromEntries(
    Object.entries({ ...(variables ?? {}), ...members }).map(([name, value]) => [lettersOf(name), value]),
  );
  const email = ADDRESS_NAMES.map((name) => told[name]).find((value) => typeof value === 'string' && value !== '');
  const { list } = told;
  return {
    email: typeof email === 'string' ? email : '',
    reason: suppressionReasons.find((one) => one === told['reason']) ?? foreignReason(told),
    list: typeof list === 'string' && list !== '' ? list : undefined,
  };
};

/**
 * Columns in which exports tell why an address is suppressed, and those without a name of a file that has no header
 * row.
 */
const REASON_NAMES = ['suppressionreason', 'type', 'reason', 'event', 'error', 'column1', 'column2', 'column3'];

/**
 * `HardBounce` and `SpamComplaint` of Postmark, `BOUNCE` and `COMPLAINT` of Amazon SES, replies of SMTP in SendGrid's
 * and Mailgun's.
 */
const REASON_WORDS: readonly (readonly [RegExp, SuppressionReason])[] = [
  [/softbounce|transient/, 'import'],
  [/complain|spamreport|spamnotification/, 'complaint'],
  [/unsub|optout/, 'unsubscribe'],
  [/bounce|cleaned|invalid|^5\d\d/, 'hard-bounce'],
  [/manual/, 'manual'],
];

/**
 * Columns that only an export of one kind has: Mailchimp's of contacts, Mailgun's of unsubscribes, SendGrid's of
 * complaints.
 */
const REASON_COLUMNS: readonly (readonly [string, SuppressionReason])[] = [
  ['unsubtime', 'unsubscribe'],
  ['cleantime', 'hard-bounce'],
  ['tags', 'unsubscribe'],
  ['ip', 'complaint'],
];

const foreignReason = (told: Readonly<Record<string, unknown>>): SuppressionReason => {
  const textOf = (name: string): string => (['string', 'number'].includes(typeof told[name]) ? String(told[name]) : '');
  const replies = [textOf('status'), textOf('code')];
  if (replies.some((code) => /^5(?:\.|\d\d$)/.test(code))) return 'hard-bounce';
  const words = REASON_NAMES.map((name) => lettersOf(textOf(name)));
  const byWord = words
    .map((word) => REASON_WORDS.find(([pattern]) => pattern.test(word)))
    .find((found) => found !== undefined);
  const [, reason = 'import'] = byWord ?? REASON_COLUMNS.find(([name]) => textOf(name) !== '') ?? [];
  return reason;
};

/** Removes the apostrophe that an export puts before a cell that a spreadsheet would take for a formula. */
const withoutMark = (email: string): string => (/^'[=+\-@]/.test(email) ? email.slice(1) : email);
