/**
 * The commands that look into the log and change nothing: `replay`, `show`, `timeline`, `events unreadable` and
 * `retention`.
 */
import { emailTrace } from '../commands/email/emails.js';
import { systemCaller } from '../commands/core/caller.js';
import { timelinePage, type TimelinePage } from '../domain/email/timeline.js';
import { parseEmailId, type StreamName } from '../domain/core/ids.js';
import { placedAttempt } from '../domain/webhooks/delivery.js';
import { webhookTrail } from '../projections/webhooks/reads.js';
import { print, printFault, progressBar, unreadableLine, exitCodes } from './core/output.js';
import { assertFounded, withTeam, withEngine } from './core/engine.js';
import { unreadableEvents } from '../event-log/verification.js';
import { streamState } from '../commands/ops/stream-states.js';
import { parseAsOf, type AsOf } from '../domain/core/time.js';
import { readConfig } from '../service/settings/config.js';
import { readRetentionLines, retentionTable } from '../projections/retention/retention.js';
import { eventDefinitions, type Recorded } from '../domain/events.js';
import { isReadable, type Unreadable } from '../event-log/decode.js';

export type ReplayOptions = Readonly<{ all?: boolean; from?: string; json?: boolean }>;

export type ShowOptions = Readonly<{ asOf?: string }>;

export type TimelineOptions = Readonly<{ json?: boolean }>;

export type EventsOptions = Readonly<{ json?: boolean }>;

export type RetentionOptions = Readonly<{ dryRun?: boolean; json?: boolean }>;

type Cells = Readonly<Record<string, string | number | null>>;

const TIMELINE_TITLES = ['TIME', 'SINCE', 'KIND', 'TOOK', 'TO', 'WHAT', 'BY', 'CAUSE', 'ID'];

/** The details that a line of the timeline shows. */
const SHOWN = [
  'attempt',
  'relay',
  'passedRelays',
  'host',
  'event',
  'status',
  'statusCode',
  'error',
  'nextAttemptAt',
  'nextRetryAt',
  'reason',
  'scheduledAt',
  'url',
];

const DESTROYED = 'destroyed';

/** Stands in place of a secret, which is shown on no screen and written into no file of an auditor. */
export const NOT_SHOWN = '(not shown)';

const secretFields: ReadonlySet<string> = new Set([
  'secret',
  'earlierSecrets',
  'passwordHash',
  'recoveryHashes',
  'privateKey',
  'privateKeys',
]);

/** The title of each column by the field that it shows. */
const tableColumns = { what: 'what', period: 'kept', setting: 'setting' };
const dueColumns = { what: 'what', due: 'would go now', oldest: 'due since', next: 'next' };

export const replay = (stream: string | undefined, options: ReplayOptions): Promise<void> =>
  withEngine(async (engine) => {
    if ((stream === undefined) === (options.all !== true))
      throw new Error('name one stream (for example email-<id>), or --all');
    const from = options.from === undefined ? 1 : Number(options.from);
    if (!Number.isSafeInteger(from) || from < 1)
      throw new Error(`--from ${options.from} is not a position; positions count from 1`);
    const show = options.json === true ? showJson : showText;
    const showOne = (one: Recorded | Unreadable): void =>
      isReadable(one) ? show(one) : printFault(unreadableLine(one));
    if (stream === undefined) {
      for await (const { events, unreadable } of engine.eventLog.readAll(from - 1, { unknown: 'listed' })) {
        const all =
          unreadable.length === 0 ? events : [...events, ...unreadable].sort((a, b) => a.position - b.position);
        all.forEach(showOne);
      }
      return;
    }
    const name = streamNameOf(stream);
    const events = await engine.eventLog.inspect(name);
    if (events.length === 0)
      throw new Error(
        `there is no stream ${name}; streams are named email-<id>, template-<id>, apiKey-<id>, team-<id>, ledger`,
      );
    events.filter(({ position }) => position >= from).forEach(showOne);
  });

const showText = (recorded: Recorded): void => {
  const { position, stream, revision, metadata, event } = recorded;
  print(`${position}  ${metadata.occurredAt}  ${stream}@${revision}  ${event.type}  by ${metadata.actor}`);
  print(`    data   ${JSON.stringify(event.data)}`);
  const sealed = sealedPart(recorded);
  if (sealed !== undefined) print(`    sealed ${sealed === DESTROYED ? DESTROYED : JSON.stringify(sealed)}`);
};

const showJson = (recorded: Recorded): void => {
  const { position, stream, revision, hash, metadata, event } = recorded;
  const sealed = sealedPart(recorded);
  print(
    JSON.stringify({
      position,
      stream,
      revision,
      type: event.type,
      data: event.data,
      ...(sealed === undefined ? {} : { sealed }),
      metadata,
      hash,
    }),
  );
};

const sealedPart = ({ event }: Recorded): unknown => {
  if (!('sealed' in eventDefinitions[event.type])) return undefined;
  if (!('sealed' in event) || event.sealed === undefined) return DESTROYED;
  const sealed = withoutSecrets(event.sealed);
  // Mails of the service about an account: their links let somebody in.
  const isConfidential = 'confidential' in event.data && event.data.confidential === true;
  return isConfidential ? { ...sealed, variables: NOT_SHOWN, attachments: NOT_SHOWN } : sealed;
};

/**
 * In: the sealed fields of an event. Out: the same without its secrets. Values of callers are nested deeper, and stay
 * whatever their names.
 */
export const withoutSecrets = <Sealed extends object>(sealed: Sealed): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(sealed).map(([field, value]) => [field, isSecret(field) ? NOT_SHOWN : (value as unknown)]),
  );

export const isSecret = (field: string): boolean => secretFields.has(field);

export const show = (given: string, options: ShowOptions): Promise<void> =>
  withEngine(async (engine) => {
    const stream = streamNameOf(given);
    const shown = await streamState(engine.eventLog, stream, asOfOf(options.asOf));
    switch (shown) {
      case 'unknown':
        throw new Error(
          `there is no stream ${stream}; streams are named email-<id>, batch-<id>, template-<id>, apiKey-<id>, team-<id>, ledger`,
        );
      case 'not yet':
        throw new Error(`${stream} has no event up to ${options.asOf}; it began later`);
      case 'no such event':
        throw new Error(
          `${options.asOf} is the id of no event of ${stream}; \`sealpost replay ${stream} --json\` lists them`,
        );
      default:
        print(JSON.stringify(shown, forScreen, 2));
    }
  });

/** In: the name of a stream, or the id of an email; UUIDs in any letter case. */
export const streamNameOf = (text: string): StreamName => {
  const id = parseEmailId(text);
  if (id !== undefined) return `email-${id}` as StreamName;
  const [, kind = '', rest = ''] = /^([^-]*)-(.*)$/.exec(text) ?? [];
  const uuid = parseEmailId(rest);
  return (uuid === undefined ? text : `${kind}-${uuid}`) as StreamName;
};

const asOfOf = (text: string | undefined): AsOf | undefined => {
  if (text === undefined) return undefined;
  const asOf = parseAsOf(text);
  if (asOf === undefined)
    throw new Error(`--as-of ${text} is neither an ISO 8601 date, nor a time with a zone, nor the id of an event`);
  return asOf;
};

/** JSON has no maps. */
const forScreen = (name: string, value: unknown): unknown => {
  if (value instanceof Map) return Object.fromEntries(value as ReadonlyMap<string, unknown>);
  const isHidden =
    (name === 'hash' && typeof value === 'string') || (isSecret(name) && value !== undefined && value !== null);
  return isHidden ? NOT_SHOWN : value;
};

export const timeline = (given: string, { json = false }: TimelineOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const id = parseEmailId(given.replace(/^email-/, ''));
    if (id === undefined) throw new Error(`${given} is not the id of an email; GET /api/emails lists yours`);
    const { placed, told } = await emailTrace(engine, systemCaller(teamId, 'cli', 'cli'), id);
    const { attempts, isComplete } = await webhookTrail(engine.readModels, teamId, told);
    const { data } = timelinePage([...placed, ...attempts.map(placedAttempt)], {
      limit: Number.MAX_SAFE_INTEGER,
      cursor: undefined,
    });
    if (json) data.forEach((entry) => print(JSON.stringify(entry)));
    else for (const line of tableOf([TIMELINE_TITLES, ...data.map(cellsOf)])) print(line);
    if (!isComplete)
      printFault('some attempts of webhooks may be missing: more was sent to an endpoint since than is looked through');
  });

const cellsOf = ({
  at,
  sinceMs,
  kind,
  durationMs,
  recipients,
  actor,
  cause,
  id,
  details,
}: TimelinePage['data'][number]): string[] => [
  at,
  sinceMs === null ? '' : `+${duration(sinceMs)}`,
  kind,
  durationMs === null ? '' : duration(durationMs),
  recipients.map(({ place, email }) => email ?? `#${place}`).join(', '),
  [...recipients.flatMap(resultOf), ...SHOWN.flatMap((name) => shownOf(name, details[name]))].join(' '),
  actor,
  `${cause.kind} ${cause.id}`,
  id,
];

const shownOf = (name: string, value: unknown): string[] =>
  value === undefined || value === null ? [] : [`${name}=${JSON.stringify(value)}`];

const resultOf = ({ result, replyCode, enhancedCode }: TimelinePage['data'][number]['recipients'][number]): string[] =>
  [result, replyCode, enhancedCode].flatMap((part) => (part === undefined || part === null ? [] : [String(part)]));

const duration = (ms: number): string =>
  ms < 1_000
    ? `${Math.round(ms)} ms`
    : ms < 120_000
      ? `${(ms / 1_000).toFixed(1)} s`
      : `${Math.round(ms / 60_000)} min`;

export const listUnreadable = (options: EventsOptions): Promise<void> =>
  withEngine(async (engine) => {
    const bar = progressBar('log       ', await engine.eventLog.head());
    let count = 0;
    for await (const event of unreadableEvents(engine.eventLog, bar.update)) {
      count += 1;
      const { position, stream, revision, storedType, unreadable } = event;
      if (options.json === true)
        print(JSON.stringify({ position, stream, revision, type: storedType, cause: unreadable.message }));
      else print(unreadableLine(event));
    }
    bar.stop();
    if (count === 0) return options.json === true ? undefined : print('every event can be read');
    printFault(
      `${count} ${count === 1 ? 'event cannot' : 'events cannot'} be read; only their own streams are affected`,
    );
    process.exitCode = exitCodes.damaged;
  });

export const retention = async ({ dryRun = false, json = false }: RetentionOptions): Promise<void> => {
  if (dryRun)
    return withTeam(async (engine) =>
      printTable(await readRetentionLines(engine, engine.clock.now()), json, dueColumns),
    );
  const config = readConfig();
  assertFounded(config);
  return printTable(retentionTable(config.limits), json, tableColumns);
};

const printTable = (lines: readonly Cells[], json: boolean, columns: Readonly<Record<string, string>>): void => {
  if (json) return print(JSON.stringify(lines));
  const fields = Object.keys(columns);
  const rows = lines.map((line) => fields.map((field) => String(line[field] ?? '-')));
  for (const line of tableOf([Object.values(columns), ...rows])) print(line);
};

/** In: rows of cells, the first of them the titles. Out: lines whose columns are as wide as their widest cell. */
const tableOf = (rows: readonly (readonly string[])[]): readonly string[] => {
  const [titles = []] = rows;
  const widths = titles.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
};
