/**
 * `sealpost bulk`: sends to the recipients of a file, and follows, cancels and tells bulk sends, beside a running
 * server too.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { Value } from '@sinclair/typebox/value';
import {
  SendBulkRequestSchema,
  type BulkRecipient,
  type SendBulkRequest,
  resultFormats,
  type ResultFormat,
} from '../api/bulk.js';
import { batchResults, resultLines, resultWriter } from '../commands/bulk/results.js';
import { getBatch } from '../commands/bulk/batches.js';
import { cancelBatch, sendBulk } from '../commands/bulk/send.js';
import { type Caller, systemCaller } from '../commands/core/caller.js';
import { dryRunBulk } from '../commands/bulk/dry-run.js';
import type { Columns } from '../commands/recipients/file.js';
import { faultWithLines, recipientsOfFile, withLines } from '../commands/bulk/request.js';
import { DomainError } from '../domain/core/errors.js';
import { parseBatchId, type BatchId } from '../domain/core/ids.js';
import { priorities } from '../domain/ports/bus.js';
import type { Engine } from '../service/engine.js';
import { parseJsonBody } from '../http/server/json/body.js';
import { counted } from '../shared/text.js';
import { makeQueries } from '../projections/queries.js';
import { print, printFault, progressBar } from './core/output.js';
import { withTeam } from './core/engine.js';

export type BulkSendOptions = Readonly<{
  template: string;
  map?: readonly string[];
  schedule?: string;
  priority?: string;
  name?: string;
  locale?: string;
  timeZone?: string;
  dryRun?: boolean;
  follow?: boolean;
}>;

const FILE_ROWS_MAX = 1_000_000;
const FILE_BYTES_MAX = 1024 ** 3;

/** One call to send, the line of each of its recipients, and its idempotency key. */
type Part = Readonly<{ request: SendBulkRequest; lines: readonly number[]; key: string }>;

export const sendFile = (file: string, options: BulkSendOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const caller = systemCaller(teamId, 'cli', 'cli');
    const parts = await partsOf(engine, caller, file, options);
    if (options.dryRun === true) return dryRun(engine, caller, parts);
    const ids: BatchId[] = [];
    for (const part of parts) {
      const { body, replayed } = await withLineNumbers(part, () =>
        sendBulk(engine, caller, part.request, { key: part.key, body: part.request }, part.lines),
      );
      ids.push(batchIdOf(body.batchId));
      print(`${body.batchId}  ${replayed ? 'was accepted before' : body.message}`);
      for (const warning of body.warnings) printFault(withLines(warning, part.lines));
    }
    if (options.follow === true) await follow(engine, caller, ids);
  });

/**
 * The key of each part is a hash of the options and the file, and its place in the file: the same command once more
 * sends nothing twice.
 */
const partsOf = async (
  engine: Engine,
  caller: Caller,
  file: string,
  options: BulkSendOptions,
): Promise<readonly Part[]> => {
  const bytes = bytesOf(file);
  const common = commonOf(options);
  const columns = columnsOf(options.map);
  const { limits } = engine;
  const parseLine = (line: Buffer): unknown => parseJsonBody(line, limits);
  const read = await recipientsOfFile(engine, caller, {
    bytes,
    columns,
    request: common,
    parseLine,
    rowsMax: FILE_ROWS_MAX,
  });
  for (const warning of read.warnings) printFault(warning);
  const asked = createHash('sha256')
    .update(JSON.stringify([common, columns ?? null]))
    .update(bytes)
    .digest('hex');
  const parts: Part[] = [];
  for (let from = 0; from < read.recipients.length; from += limits.bulkRecipientsMax) {
    const to = from + limits.bulkRecipientsMax;
    const request = { ...common, recipients: read.recipients.slice(from, to) as BulkRecipient[] };
    const lines = read.lines.slice(from, to);
    // The command checks the time.
    const { scheduledAt: _, ...checked } = request;
    if (!Value.Check(SendBulkRequestSchema, checked)) throw new Error(faultsOf(checked, lines));
    parts.push({ request, lines, key: `sealpost bulk send ${asked} ${from}` });
  }
  return parts;
};

const bytesOf = (file: string): Buffer => {
  const { size } = statSync(file);
  if (size > FILE_BYTES_MAX)
    throw new Error(`${file} has ${size} bytes; at most ${FILE_BYTES_MAX} (1 GB) are read: send it in parts`);
  return readFileSync(file);
};

const faultsOf = (request: unknown, lines: readonly number[]): string =>
  [...Value.Errors(SendBulkRequestSchema, request)]
    .slice(0, 20)
    .map(({ path, message }) =>
      withLines(`${path.replace(/^\/recipients\/(\d+)/, 'recipients[$1]')}: ${message}`, lines),
    )
    .join('\n  ');

const commonOf = ({
  template,
  schedule,
  priority,
  name,
  locale,
  timeZone,
}: BulkSendOptions): Omit<SendBulkRequest, 'recipients'> => {
  const wanted = priorities.find((known) => known === priority);
  if (priority !== undefined && wanted === undefined)
    throw new Error(`--priority ${priority} is not one of ${priorities.join(', ')}`);
  return {
    templateId: template,
    ...(schedule === undefined ? {} : { scheduledAt: schedule }),
    ...(wanted === undefined ? {} : { priority: wanted }),
    ...(name === undefined ? {} : { batchName: name }),
    ...(locale === undefined ? {} : { locale }),
    ...(timeZone === undefined ? {} : { timeZone }),
  };
};

/**
 * `email=E-Mail`, `name=Name`, `locale=Language`, `timeZone=Zone`, and `variable=Column` or `variables.variable=Column`
 * for each other.
 */
const columnsOf = (map: readonly string[] | undefined): Columns | undefined => {
  if (map === undefined) return undefined;
  const pairs = map.map((pair): readonly [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1 || at === pair.length - 1)
      throw new Error(`--map ${pair} is not written field=column, such as email=E-Mail`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const own = new Set(['email', 'name', 'locale', 'timeZone']);
  const variables = Object.fromEntries(
    pairs.flatMap(([field, column]) => (own.has(field) ? [] : [[field.replace(/^variables\./, ''), column]])),
  );
  return { ...Object.fromEntries(pairs.filter(([field]) => own.has(field))), variables };
};

/** Does the work; a fault of a recipient names its line of the file. */
const withLineNumbers = async <T>({ lines }: Part, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (fault) {
    throw fault instanceof DomainError ? faultWithLines(fault, lines) : fault;
  }
};

const dryRun = async (engine: Engine, caller: Caller, parts: readonly Part[]): Promise<void> => {
  const bar = progressBar('Checking', parts.length, 'parts');
  const sums = { emails: 0, cost: 0, failing: 0, leftOut: 0, valid: true };
  const warnings: string[] = [];
  for (const [at, part] of parts.entries()) {
    const report = await withLineNumbers(part, () => dryRunBulk(engine, caller, { ...part.request, dryRun: true }));
    sums.emails += report.totalEmails;
    sums.cost += report.totalQuotaCost;
    sums.failing += report.recipientValidation.failing.length;
    sums.leftOut += report.recipientValidation.invalidEmails + report.recipientValidation.duplicateEmails;
    sums.valid &&= report.valid;
    warnings.push(...report.warnings.map((warning) => withLines(warning, part.lines)));
    bar.update(at + 1);
  }
  bar.stop();
  for (const warning of warnings) printFault(warning);
  const leftOut = sums.leftOut === 0 ? '' : ` ${counted(sums.leftOut, 'row is', 'rows are')} left out.`;
  print(`${summaryOf(sums)}.${leftOut} Nothing was sent.`);
  if (!sums.valid || sums.leftOut > 0) process.exitCode = 1;
};

const summaryOf = ({ emails, failing, cost }: Readonly<{ emails: number; failing: number; cost: number }>): string =>
  emails === 1
    ? `1 email would be made, ${failing === 1 ? 'and would fail' : 'and would not fail'}; it costs ${cost}`
    : `${emails} emails would be made, ${failing} of them would fail; they cost ${cost}`;

const FOLLOW_EVERY_MS = 500;

/** Shows progress until every email has come to an end. */
const follow = async (engine: Engine, caller: Caller, ids: readonly BatchId[]): Promise<void> => {
  const { signal } = new AbortController();
  for (const id of ids) {
    let batch = await getBatch(engine, caller, id);
    const bar = progressBar('Sending', batch.totalEmails, 'emails');
    while (batch.status !== 'completed' && batch.status !== 'cancelled') {
      bar.update(batch.totalEmails - batch.queued - batch.processing);
      await engine.clock.sleep(FOLLOW_EVERY_MS, signal);
      batch = await getBatch(engine, caller, id);
    }
    bar.update(batch.totalEmails);
    bar.stop();
    print(lineOf(batch));
  }
};

const batchIdOf = (text: string): BatchId => {
  const id = parseBatchId(text);
  if (id === undefined) throw new Error(`${text} is not the id of a bulk send; sealpost bulk list shows yours`);
  return id;
};

type Listing = Awaited<ReturnType<typeof getBatch>>;

const lineOf = ({
  batchId,
  status,
  totalEmails,
  queued,
  processing,
  sent,
  failed,
  cancelled,
  batchName,
}: Listing): string =>
  `${batchId}  ${status}  ${sent} sent, ${failed} failed, ${cancelled} cancelled, ${queued + processing} open of ${totalEmails}${batchName === null ? '' : `  ${batchName}`}`;

export const showStatus = (
  id: string,
  { json, follow: isFollowed }: Readonly<{ json?: boolean; follow?: boolean }>,
): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const caller = systemCaller(teamId, 'cli', 'cli');
    if (isFollowed === true) return follow(engine, caller, [batchIdOf(id)]);
    const batch = await getBatch(engine, caller, batchIdOf(id));
    print(json === true ? JSON.stringify(batch) : lineOf(batch));
  });

export const cancel = (id: string): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { body } = await cancelBatch(engine, systemCaller(teamId, 'cli', 'cli'), batchIdOf(id));
    print(body.message);
  });

export const printResults = (id: string, { format = 'csv' }: Readonly<{ format?: string }>): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const wanted = resultFormats.find((known): known is ResultFormat => known === format);
    if (wanted === undefined) throw new Error(`--format ${format} is not one of ${resultFormats.join(', ')}`);
    const results = await batchResults(engine, systemCaller(teamId, 'cli', 'cli'), batchIdOf(id));
    for await (const lines of resultLines(results, await resultWriter(wanted))) process.stdout.write(lines);
  });

export const list = ({ json }: Readonly<{ json?: boolean }>): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const queries = makeQueries({ ...engine, awaitOwnWrites: async () => {} });
    let cursor: string | undefined;
    do {
      const { data, meta } = await queries.listBatches(teamId, {
        page: 1,
        limit: 100,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const batch of data) print(json === true ? JSON.stringify(batch) : lineOf(batch));
      cursor = meta.nextCursor ?? undefined;
    } while (cursor !== undefined);
  });
