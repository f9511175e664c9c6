/** `sealpost emails …`: the emails of a service elsewhere, why one did not arrive, and new ones as they come. */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { SealpostError, type Client } from '../../../packages/sdk/src/index.js';
import type { EmailListItem, EmailRecord, EmailTimeline } from '../../../packages/sdk/src/index.js';
import { entryInWords, reasonInWords, ruleInWords } from '../../domain/email/words.js';
import { emailStatuses } from '../../domain/email/status.js';
import { momentOf, print, printFault } from '../core/output.js';
import { connect } from './connection.js';
import {
  chosenOf,
  CliFault,
  fitted,
  numberOf,
  paintOf,
  printJson,
  printJsonLine,
  safe,
  shortened,
  terminalColumns,
  type Paint,
  type RemoteOptions,
} from './output.js';

export type EmailsOptions = RemoteOptions &
  Readonly<{
    status?: string;
    recipient?: string;
    template?: string;
    tag?: string;
    since?: string;
    limit?: string;
    follow?: boolean;
  }>;

const LIST_DEFAULT = 50;
const LIST_MAX = 100_000;
const PAGE = 100;

const filtersOf = ({ status, recipient, template, tag, since }: EmailsOptions) => ({
  ...(status === undefined
    ? {}
    : { status: status.split(',').map((one) => chosenOf('--status', one.trim(), emailStatuses)) }),
  ...(recipient === undefined ? {} : { recipient }),
  ...(template === undefined ? {} : { templateId: template }),
  ...(tag === undefined ? {} : { tag }),
  ...(since === undefined ? {} : { startDate: momentOf('--since', since, 'start') }),
});

const toneOf = (status: EmailListItem['status']): Parameters<Paint>[0] => {
  switch (status) {
    case 'sent':
    case 'delivered':
      return 'green';
    case 'failed':
    case 'bounced':
      return 'red';
    case 'complained':
      return 'yellow';
    case 'queued':
    case 'scheduled':
    case 'processing':
    case 'cancelled':
      return 'dim';
  }
};

const WIDTHS = { at: 16, status: 10, to: 30, id: 36 };
/** A subject that gets fewer columns says nothing: the id then has a line of its own. */
const SUBJECT_COLUMNS_MIN = 24;
const NARROW_SUBJECT_COLUMNS = 18;

/** Columns of the subject beside the id; undefined: the terminal has no room for both. */
const subjectColumns = (): number | undefined => {
  const { at, status, to, id } = WIDTHS;
  const rest = terminalColumns() - (at + status + to + id + 4 * 2);
  return rest < SUBJECT_COLUMNS_MIN ? undefined : rest;
};

const titleLine = (): string => {
  const columns = subjectColumns();
  return [
    ...['CREATED (UTC)'.padEnd(WIDTHS.at), 'STATUS'.padEnd(WIDTHS.status), 'TO'.padEnd(WIDTHS.to)],
    ...(columns === undefined ? ['SUBJECT, ID'] : ['SUBJECT'.padEnd(columns), 'ID']),
  ].join('  ');
};

/** One line of a wide terminal, two of a narrow one. */
const linesOf = ({ id, createdAt, status, to, recipientCount, subject }: EmailListItem, paint: Paint): string => {
  const more = recipientCount > 1 ? ` +${recipientCount - 1}` : '';
  const address = `${shortened(safe(to?.email ?? '–'), WIDTHS.to - more.length)}${more}`;
  const columns = subjectColumns();
  const told = [
    createdAt.slice(0, WIDTHS.at).replace('T', ' '),
    paint(toneOf(status), status.padEnd(WIDTHS.status)),
    fitted(address, WIDTHS.to),
    fitted(safe(subject ?? '–'), columns ?? NARROW_SUBJECT_COLUMNS),
  ].join('  ');
  return columns === undefined ? `${told.trimEnd()}\n  ${paint('dim', id)}` : `${told}  ${id}`;
};

export const listEmails = async (options: EmailsOptions): Promise<void> => {
  const { client, hasColor } = connect(options);
  const limit = options.limit === undefined ? LIST_DEFAULT : numberOf('--limit', options.limit, LIST_MAX);
  const found = await client.emails.list({ ...filtersOf(options), limit: Math.min(limit, PAGE) }).all(limit);
  if (options.json === true) return printJson(found);
  if (found.length === 0) return print('There is no such email.');
  const paint = paintOf(hasColor);
  print(paint('dim', titleLine()));
  for (const email of found) print(linesOf(email, paint));
};

type Entry = EmailTimeline['data'][number];

const ENTRIES_MAX = 1_000;

const timelineOf = async (client: Client, id: string): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.emails.timeline(id, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    entries.push(...page.data);
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined && entries.length < ENTRIES_MAX);
  return entries;
};

/** The state of an email in a sentence: why it is not there, or that it is. */
const standingOf = ({ status, archived, failureReason, scheduledAt, nextAttemptAt }: EmailRecord): string => {
  if (archived) return 'It is archived: its addresses and its content are destroyed.';
  switch (status) {
    case 'scheduled':
      return `It has not left yet: it leaves at ${scheduledAt ?? 'a later time'}.`;
    case 'queued':
      return nextAttemptAt === null
        ? 'It has not left yet: it waits for its first attempt.'
        : `It was put off: the next attempt is at ${nextAttemptAt}.`;
    case 'processing':
      return 'It is being handed over.';
    case 'sent':
      return 'The host of the recipient took it. No report has come since: look in the spam folder.';
    case 'delivered':
      return 'It was delivered.';
    case 'failed':
    case 'bounced':
      return failureReason === null ? 'It did not arrive.' : `It did not arrive. ${safe(reasonInWords(failureReason))}`;
    case 'complained':
      return 'It arrived, and its reader marked it as spam.';
    case 'cancelled':
      return 'It was cancelled before it left.';
  }
};

/** A reply of a host mostly begins with its code. */
const withCode = (reply: string, code: number | null | undefined): string =>
  typeof code !== 'number' || reply.startsWith(String(code)) ? reply : `${code} ${reply}`;

const recipientLine = ({ role, email, status, rule, replyCode, reply }: EmailRecord['recipients'][number]): string => {
  const why = ruleInWords(rule);
  const said = reply === null ? '' : `. Its host said: ${shortened(safe(withCode(reply, replyCode)), 300)}`;
  return `  ${role.padEnd(3)} ${safe(email ?? 'erased')}: ${status}${why === undefined ? '' : `. ${why.replace(/\.$/, '')}`}${said}`;
};

const entryLines = (entry: Entry): readonly string[] => {
  const { title, text, at } = entryInWords(entry);
  const more = [text, at].filter((part) => part !== undefined).join(' ');
  const answers = entry.recipients.flatMap(({ email, result, replyCode, reply }) =>
    result === undefined ? [] : [`${email ?? 'erased'}: ${`${result} ${withCode(reply ?? '', replyCode)}`.trimEnd()}`],
  );
  return [
    `  ${entry.at}  ${title}${more === '' ? '' : `. ${more}`}`,
    ...answers.map((answer) => `${' '.repeat(28)}${answer}`),
  ].map((line) => line.replace(/\S.*/, (told) => shortened(safe(told), 400)));
};

/** In: an id, or an address. Out: the id; for an address that of the newest email to it. Throws NOT_FOUND. */
const idOf = async (client: Client, reference: string): Promise<string> => {
  if (!reference.includes('@')) return reference;
  const [newest] = await client.emails.list({ recipient: reference, limit: 1 }).all(1);
  if (newest === undefined) throw new CliFault('NOT_FOUND', `there is no email to ${reference}`);
  return newest.id;
};

export const showEmail = async (reference: string, options: RemoteOptions): Promise<void> => {
  const { client, hasColor } = connect(options);
  const id = await idOf(client, reference);
  const [email, timeline] = await Promise.all([client.emails.get(id), timelineOf(client, id)]);
  if (options.json === true) return printJson({ ...email, timeline });
  const paint = paintOf(hasColor);
  print(`${paint('bold', safe(email.subject ?? '–'))}  ${paint(toneOf(email.status), email.status)}`);
  print(standingOf(email));
  print('');
  for (const recipient of email.recipients) print(recipientLine(recipient));
  print('');
  for (const entry of timeline) for (const line of entryLines(entry)) print(line);
  if (timeline.length >= ENTRIES_MAX) print(`  and more; \`--json\` shows as many`);
};

const TAIL_DEFAULT = 10;
const TAIL_MAX = 1_000;
const LOOK_MS = 1_000;
/** A service that is away is asked more seldom. */
const AWAY_MS = 3_000;

/** The signal of Ctrl-C, or of whoever ends the command. The command then ends with 0. */
export const stopSignal = (): AbortSignal => {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    void once(process, name, { signal: stop.signal }).then(
      () => stop.abort(),
      () => undefined,
    );
  return stop.signal;
};

/** Whether the service may answer later. */
const isPassing = (fault: unknown): fault is SealpostError =>
  fault instanceof SealpostError && (fault.status === 0 || fault.status === 429 || fault.status >= 500);

/** Looks again and again until the signal. A service that restarts is waited for. */
export const follow = async (look: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> => {
  let isAway = false;
  while (!signal.aborted) {
    try {
      await look(signal);
      if (isAway) printFault('sealpost: the service is back');
      isAway = false;
    } catch (fault) {
      if (signal.aborted) return;
      if (!isPassing(fault)) throw fault;
      if (!isAway) printFault(`sealpost: ${safe(fault.message)} It is asked again.`);
      isAway = true;
    }
    await wait(isAway ? AWAY_MS : LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
};

/** Emails whose status is remembered, so that a change is told. */
const REMEMBERED_MAX = 5_000;
/** Pages that one look reads at most: after a long absence the rest is left out, and that is told. */
const PAGES_MAX = 50;

/** Prints the last emails, then new ones and new states of the newest hundred as they come, until Ctrl-C. */
export const tailEmails = async (options: EmailsOptions): Promise<void> => {
  const { client, hasColor } = connect(options);
  const paint = paintOf(hasColor);
  const limit = options.limit === undefined ? TAIL_DEFAULT : numberOf('--limit', options.limit, TAIL_MAX);
  const filters = filtersOf(options);
  const show = (email: EmailListItem): void => {
    if (options.json === true) return printJsonLine(email);
    print(linesOf(email, paint));
  };
  const known = new Map<string, EmailListItem['status']>();
  const remember = ({ id, status }: EmailListItem): void => {
    known.delete(id);
    known.set(id, status);
    for (const oldest of known.keys()) {
      if (known.size <= REMEMBERED_MAX) break;
      known.delete(oldest);
    }
  };
  const first = await client.emails.list({ ...filters, limit: PAGE }).all(Math.max(limit, PAGE));
  for (const email of first.toReversed()) remember(email);
  if (options.json !== true) print(paint('dim', titleLine()));
  for (const email of first.slice(0, limit).reverse()) show(email);
  if (options.follow === false) return;
  await follow(async (signal) => {
    const news: EmailListItem[] = [];
    let cursor: string | undefined;
    let pages = 0;
    for (;;) {
      const page = await client.emails.list({ ...filters, limit: PAGE }, { signal, retries: 0 }).page(cursor);
      news.push(...page.data.filter(({ id, status }) => known.get(id) !== status));
      pages += 1;
      cursor = page.meta.nextCursor ?? undefined;
      // Emails are listed by the time of their creation: one that is known ends what is new.
      if (cursor === undefined || page.data.some(({ id }) => known.has(id))) break;
      if (pages >= PAGES_MAX) {
        printFault('sealpost: more came meanwhile than is shown');
        break;
      }
    }
    for (const email of news.reverse()) {
      remember(email);
      show(email);
    }
  }, stopSignal());
};
