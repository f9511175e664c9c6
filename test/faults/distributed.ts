/**
 * The distributed engine under faults: two processes of each role on servers, a steady load of sends, and after each
 * fault everything that was answered 201 must arrive; at the end the log, the read models and the leases are judged.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../support/random.js';
import { runCommand, type Settings } from '../support/server-process.js';
import { late, openSmtpScript, reply, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import { allFaults, shuffled, type Fault, type FaultContext, type FaultTimes } from './distributed-faults.js';
import { judgeLog, readDistributedLog, type Taken } from './distributed-log.js';
import { makeMember, type Member, type Roles } from './distributed-processes.js';
import { startSenders, type Senders } from './distributed-senders.js';
import { missingServers, openServers, type Servers } from './distributed-servers.js';
import type { FaultReport, ProgramOptions } from './report.js';

/** `roles`: of each process. `verifiesEach`: after each fault, beside the running service, and not at the end alone. */
export type DistributedOptions = ProgramOptions &
  Readonly<{
    faults?: readonly Fault[];
    times?: FaultTimes;
    roles?: readonly Roles[];
    senders?: number;
    pauseMs?: number;
    verifiesEach?: boolean;
  }>;

const usualRoles: readonly Roles[] = ['http', 'http', 'process', 'process', 'project', 'project'];
const CONNECTIONS = 4;
const PAUSE_MS = 250;
/** Emails accepted between the end of one fault and the next: a quick recovery must not leave a fault without load. */
const LOAD_BEFORE_FAULT = 6;
/** Only what never comes: on a busy machine a process takes a minute to start again. */
const DELIVERED_WITHIN_MS = 400_000;
const VERIFY_WITHIN_MS = 300_000;
/** A lease ends 12 s after its holder has stopped. */
const usualTimes: FaultTimes = { serverFrozenMs: 20_000, processFrozenMs: 25_000, networkMs: 10_000, clockMs: 20_000 };

type Run = Readonly<{
  servers: Servers;
  sink: SmtpScriptServer;
  members: readonly Member[];
  senders: Senders;
  faults: string[];
  /** How many workers the faults so far may have cut off. */
  cuts: { max: number };
  counts: Map<string, number>;
  verify: () => Promise<void>;
}>;

/** `rounds`: how often each fault is done. A run that found something keeps the logs of its processes. */
export const distributedTest = async (options: DistributedOptions): Promise<FaultReport> => {
  const missing = missingServers();
  if (missing.length > 0) {
    const reason = `no ${missing.join(', ')}: set SEALPOST_TEST_SERVERS to a folder that test/support/servers/setup.sh filled`;
    options.print(`  left out: ${reason}`);
    return { counts: {}, faults: process.env['CI'] === '1' ? [`${reason}; in CI they must be there`] : [] };
  }
  const directory = mkdtempSync(join(tmpdir(), 'sealpost-distributed-'));
  const random = seededRandom(options.seed);
  const sink = await openSink(options.seed);
  const servers = await openServers();
  const faults: string[] = [];
  // Started programs end with this process, however it ends.
  process.once('SIGTERM', exit).once('SIGINT', exit);
  try {
    const report = await runAll(options, await begin(options, { servers, sink, directory, faults }), random);
    if (report.faults.length === 0) rmSync(directory, { recursive: true, force: true });
    else options.print(`  what the processes said is in ${directory}`);
    return report;
  } finally {
    await servers.close();
    await sink.close();
    process.removeListener('SIGTERM', exit).removeListener('SIGINT', exit);
  }
};

const exit = (): void => process.exit(1);

/** It takes its time, so that faults fall into dialogues, and refuses a few for now. */
const openSink = (seed: number): Promise<SmtpScriptServer> => {
  const random = seededRandom(seed + 7);
  return openSmtpScript({
    discardRaw: true,
    script: ({ step }) => {
      if (step !== 'message') return undefined;
      return random.chance(0.03) ? reply('451 4.3.0 not now') : late(random.between(1, 60));
    },
  });
};

const settingsOf = (sink: SmtpScriptServer): Settings => ({
  SEALPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
  SEALPOST_SMTP_CONNECTIONS: String(CONNECTIONS),
  SEALPOST_RETRY_DELAYS: Array.from({ length: 20 }, () => '1').join(','),
  SEALPOST_LOG_LEVEL: 'warn',
});

type Opened = Readonly<{ servers: Servers; sink: SmtpScriptServer; directory: string; faults: string[] }>;

/** The first process of each role makes the instance, the others join it; then the senders begin. */
const begin = async (
  { seed, roles = usualRoles, senders: count = 4, pauseMs = PAUSE_MS }: DistributedOptions,
  { servers, sink, directory, faults }: Opened,
): Promise<Run> => {
  const settings = { ...settingsOf(sink), ...servers.throughRelays };
  const fault = (text: string): void => void faults.push(text);
  const indexOf = (at: number): number => roles.slice(0, at + 1).filter((other) => other === roles[at]).length;
  const members = roles.map((ofOne, at) =>
    makeMember({ roles: ofOne, index: indexOf(at), directory, settings, fault }),
  );
  process.once('exit', () => {
    for (const member of members) void member.end('SIGKILL');
  });
  const apiKey = await startAll(members).catch(async (fault: unknown) => {
    // A program that runs on would keep this process waiting.
    for (const member of members) await member.end('SIGKILL');
    throw fault;
  });
  const bases = (): readonly string[] => members.flatMap((member) => member.base() ?? []);
  const senders = startSenders({ senders: count, pauseMs, seed, apiKey, bases });
  const verify = async (): Promise<void> => {
    const command = { ...settingsOf(sink), ...servers.direct, SEALPOST_DATA_DIR: join(directory, 'verify') };
    const { code, stdout, stderr } = await runCommand(['verify'], command, VERIFY_WITHIN_MS);
    if (code !== 0) fault(`verify ended with ${code}: ${stdout}${stderr}`);
    else if (!/emails: \d+ documents at position \d+ equal a rebuild/.test(stdout)) fault(`verify said: ${stdout}`);
  };
  return { servers, sink, members, senders, faults, cuts: { max: 0 }, counts: new Map(), verify };
};

/** Out: a key for the senders. */
const startAll = async ([first, ...others]: readonly Member[]): Promise<string> => {
  await first!.start();
  const apiKey = await makeKey(first!.base()!, await first!.firstKey());
  await Promise.all(others.map((member) => member.start()));
  return apiKey;
};

const makeKey = async (base: string, first: string): Promise<string> => {
  const response = await fetch(`${base}/api/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'faults', permissions: ['emails:send', 'emails:read'], rateLimit: 10_000_000 }),
  });
  const { key } = (await response.json()) as { key?: string };
  if (key === undefined) throw new Error(`no key could be made: ${response.status}`);
  return key;
};

const runAll = async (options: DistributedOptions, run: Run, random: FaultContext['random']): Promise<FaultReport> => {
  const startedMs = performance.now();
  const { faults, counts } = run;
  const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by);
  const context = { members: run.members, servers: run.servers, random, times: options.times ?? usualTimes, count };
  try {
    await eventually('mails are accepted', () => run.senders.accepted.size > 0);
    for (let round = 1; round <= options.rounds; round += 1)
      for (const fault of shuffled(options.faults ?? allFaults, random)) await doOne(options, run, context, fault);
    await run.senders.end();
    await whenDelivered(run, 'at the end', DELIVERED_WITHIN_MS);
    await whenRecorded(run);
    await Promise.all(run.members.map((member) => member.end('SIGTERM')));
    await run.verify();
  } finally {
    for (const member of run.members) await member.end('SIGKILL');
  }
  const judged = await judge(run);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  return { counts: { ...Object.fromEntries(counts), ...judged, seconds }, faults: [...faults, ...run.senders.faults] };
};

const doOne = async (
  { print, verifiesEach = true }: DistributedOptions,
  run: Run,
  context: FaultContext,
  fault: Fault,
): Promise<void> => {
  run.cuts.max += {
    none: 0,
    one: 1,
    all: run.members.filter(({ roles }) => roles !== 'http' && roles !== 'project').length,
  }[fault.cutsOff];
  const before = run.faults.length;
  const accepted = run.senders.accepted.size;
  await eventually('the load runs before the fault', () => run.senders.accepted.size >= accepted + LOAD_BEFORE_FAULT);
  await fault.run(context);
  const doneMs = performance.now();
  await whenDelivered(run, `after ${fault.name}`, DELIVERED_WITHIN_MS + (fault.lateMs ?? 0));
  const waitedMs = Math.round(performance.now() - doneMs);
  if (verifiesEach) await run.verify();
  const found = run.faults.length - before;
  print(`  ${fault.name}: ${run.senders.accepted.size} accepted, ${found} faults, all there ${waitedMs} ms after it`);
  for (const text of run.faults.slice(before)) print(`    ${text}`);
};

const takenBy = (sink: SmtpScriptServer): Taken => {
  const taken = new Map<string, number>();
  for (const { accepted, messageId } of sink.received)
    if (accepted) taken.set(`<${messageId}>`, (taken.get(`<${messageId}>`) ?? 0) + 1);
  return taken;
};

/** Everything that was accepted up to now has come. */
const whenDelivered = async ({ senders, sink, faults }: Run, when: string, withinMs: number): Promise<void> => {
  const due = new Map([...senders.accepted].map(([id, { messageId }]) => [messageId, id]));
  let looked = 0;
  const look = (): boolean => {
    for (; looked < sink.received.length; looked += 1) {
      const { accepted, messageId } = sink.received[looked]!;
      if (accepted) due.delete(`<${messageId}>`);
    }
    return due.size === 0;
  };
  try {
    await eventually('all have come', look, withinMs);
  } catch {
    faults.push(
      `${due.size} emails have not come ${Math.round(withinMs / 1_000)} s ${when}: ${[...due.values()].slice(0, 5).join(', ')}`,
    );
  }
};

/**
 * Waits until the log has recorded the messages that the relay has taken. This takes a moment, on a busy machine
 * longer; the judgement finds messages that are never recorded.
 */
const whenRecorded = async ({ servers }: Run): Promise<void> => {
  const url = servers.direct['SEALPOST_EVENT_STORE_URL']!;
  const isRecorded = async (): Promise<boolean> =>
    [...(await readDistributedLog(url)).emails.values()].every(({ isFinished }) => isFinished);
  await eventually('every outcome is in the log', isRecorded, DELIVERED_WITHIN_MS).catch(() => {});
};

const judge = async ({ servers, senders, sink, faults, cuts, counts }: Run): Promise<FaultReport['counts']> => {
  const log = await readDistributedLog(servers.direct['SEALPOST_EVENT_STORE_URL']!);
  const accepted = new Set(senders.accepted.keys());
  const taken = takenBy(sink);
  const verdict = judgeLog(log, { accepted, taken, cutsMax: cuts.max, connections: CONNECTIONS });
  faults.push(...verdict.faults);
  const { calls, repeated, refused, lost } = senders.counts();
  return {
    ...Object.fromEntries(counts),
    calls,
    'of them repeated under their key': repeated,
    'refused for now': refused,
    'without an answer': lost,
    'emails answered 201': accepted.size,
    'emails delivered': taken.size,
    'attempts cut off by a fault': verdict.cutOff,
    'workers whose attempts were cut off': verdict.workersCutOff,
    'delivered twice or more': verdict.doubles,
    'events in the log': log.events,
    'events under a lease': log.fenced,
  };
};
