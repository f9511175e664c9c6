/** `sealpost timeline`: what happened to one email, a line for each event. */
import { emailTrace } from '../commands/email/timeline.js';
import { systemCaller } from '../commands/core/instance.js';
import { timelinePage, type TimelinePage } from '../domain/email/timeline.js';
import { parseEmailId } from '../domain/core/ids.js';
import { placedAttempt } from '../domain/webhooks/trail.js';
import { webhookTrail } from '../projections/webhooks/trail.js';
import { print, printFault } from './core/output.js';
import { withTeam } from './core/engine.js';

export type TimelineOptions = Readonly<{ json?: boolean }>;

export const timeline = (given: string, { json = false }: TimelineOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const id = parseEmailId(given.replace(/^email-/, ''));
    if (id === undefined) throw new Error(`${given} is not the id of an email; GET /api/emails lists yours`);
    const { placed, told } = await emailTrace(engine, systemCaller(teamId, 'cli', 'cli'), id);
    const { attempts, isComplete } = await webhookTrail(engine.readModels, teamId, told);
    const { data } = timelinePage([...placed, ...attempts.map(placedAttempt)], { limit: Number.MAX_SAFE_INTEGER, cursor: undefined });
    if (json) data.forEach((entry) => print(JSON.stringify(entry)));
    else for (const line of tableOf(data.map(cellsOf))) print(line);
    if (!isComplete) printFault('some attempts of webhooks may be missing: more was sent to an endpoint since than is looked through');
  });

const HEAD = ['TIME', 'SINCE', 'KIND', 'TOOK', 'TO', 'WHAT', 'BY', 'CAUSE', 'ID'];

const cellsOf = ({ at, sinceMs, kind, durationMs, recipients, actor, cause, id, details }: TimelinePage['data'][number]): string[] => [
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

const SHOWN = ['attempt', 'host', 'event', 'status', 'statusCode', 'error', 'nextAttemptAt', 'nextRetryAt', 'reason', 'scheduledAt', 'url'];

const shownOf = (name: string, value: unknown): string[] =>
  value === undefined || value === null ? [] : [`${name}=${JSON.stringify(value)}`];

const resultOf = ({ result, replyCode, enhancedCode }: TimelinePage['data'][number]['recipients'][number]): string[] =>
  [result, replyCode, enhancedCode].flatMap((part) => (part === undefined || part === null ? [] : [String(part)]));

const duration = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;

/** Columns as wide as their widest cell. */
const tableOf = (rows: readonly (readonly string[])[]): readonly string[] => {
  const all = [HEAD, ...rows];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
};
