/**
 * The kill test: clients send without a pause, single emails and several in one call, while the server is killed at
 * random moments and started again. Afterwards every email that was answered as accepted must have been delivered
 * exactly once, but for those that were in an SMTP dialogue at a kill. As a program:
 * `node build/test/e2e/kill.js [--rounds N] [--seed N]`; the seed repeats every choice of the run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { copyFounded, createdKey, setSender } from '../support/founded.js';
import { seededRandom, type Random } from '../support/random.js';
import { runCommand, startServer, type ServerProcess, type Settings } from '../support/server-process.js';
import { late, openSmtpScript, reply, type SmtpScriptServer } from '../support/smtp-script.js';
import { eventually, pause } from '../support/wait.js';
import { startClients, type Clients } from './kill-clients.js';
import { readLog, type LogSnapshot } from './kill-log.js';

/**
 * `roundsMax`: so many rounds are played at most, until a kill has fallen into a dialogue. Those after `rounds` kill when
 * the relay has a mail and has not answered.
 */
export type KillOptions = Readonly<{
  rounds: number;
  roundsMax?: number;
  seed: number;
  print?: (line: string) => void;
}>;
export type KillReport = Readonly<{ counts: Readonly<Record<string, number>>; faults: readonly string[] }>;

const SENDERS = 6;
/**
 * Accepted and not yet delivered: enough for dialogues on every connection, little enough to be worked off at the end.
 */
const BACKLOG_MAX = 150;
const DRAIN_WITHIN_MS = 120_000;
/** An attempt is under way on each at most. */
const CONNECTIONS = 10;

type Run = {
  readonly dataDir: string;
  readonly settings: Settings;
  readonly random: Random;
  readonly faults: string[];
  /** How often each email was in a dialogue at a kill. */
  readonly caught: Map<string, number>;
  /** The attempt of each email that was under way when it was last caught. */
  readonly openSince: Map<string, number>;
  /** The most at one kill. */
  caughtAtOnce: number;
  base: string | undefined;
  log: LogSnapshot | undefined;
  killsWhileStarting: number;
};

/** Runs the whole test. Rejects only where it could not be run; what it found wrong stands in `faults`. */
export const killTest = async ({
  rounds,
  roundsMax = rounds,
  seed,
  print = () => undefined,
}: KillOptions): Promise<KillReport> => {
  const startedMs = performance.now();
  const random = seededRandom(seed);
  const sink = await openSink(seed);
  const dataDir = mkdtempSync(join(tmpdir(), 'sealpost-kill-'));
  const settings: Settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
    SEALPOST_SMTP_CONNECTIONS: String(CONNECTIONS),
    SEALPOST_RETRY_DELAYS: Array.from({ length: 20 }, () => '1').join(','),
    SEALPOST_LOG_LEVEL: 'error',
  };
  const run: Run = {
    ...{ dataDir, settings, random, faults: [], caught: new Map(), openSince: new Map(), caughtAtOnce: 0 },
    ...{ base: undefined, log: undefined, killsWhileStarting: 0 },
  };
  print(`kill test: ${rounds} rounds, seed ${seed}, data in ${dataDir}`);
  try {
    const clients = await begin(run, sink, seed);
    let round = 0;
    while (round < rounds || (run.caught.size === 0 && round < roundsMax)) {
      round += 1;
      await killOnce(run, round, round > rounds ? sink.nextDialogue : undefined);
      if (round % 10 === 0)
        print(
          `  round ${round}: ${clients.accepted.size} accepted, ${sink.accepted().length} delivered, ${run.caught.size} caught in a dialogue`,
        );
    }
    await finish(run, clients, sink);
    judge(run, clients, sink);
    const report = reportOf(run, clients, sink, round, performance.now() - startedMs);
    for (const [name, count] of Object.entries(report.counts)) print(`  ${name.padEnd(42)} ${count}`);
    for (const fault of report.faults.slice(0, 20)) print(`  FAULT ${fault}`);
    print(
      report.faults.length === 0 ? 'kill test: passed' : `kill test: ${report.faults.length} faults (seed ${seed})`,
    );
    return report;
  } finally {
    await sink.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
};

/** `nextDialogue`: resolves when the sink has the next mail, which it answers after HELD_MS. */
type Sink = SmtpScriptServer & Readonly<{ nextDialogue: () => Promise<void> }>;

const HELD_MS = 2_000;

/** A sink that takes its time, so that kills fall into dialogues, and refuses a few for now. */
const openSink = async (seed: number): Promise<Sink> => {
  const random = seededRandom(seed + 7);
  let hold: (() => void) | undefined;
  const sink = await openSmtpScript({
    script: ({ step }) => {
      if (step !== 'message') return undefined;
      if (hold !== undefined) {
        hold();
        hold = undefined;
        return late(HELD_MS);
      }
      return random.chance(0.03) ? reply('451 4.3.0 not now') : late(random.between(1, 60));
    },
  });
  return { ...sink, nextDialogue: () => new Promise((resolve) => (hold = resolve)) };
};

/** A key without limits; then the clients begin, and never pause for a kill. */
const begin = async (run: Run, sink: SmtpScriptServer, seed: number): Promise<Clients> => {
  await copyFounded(run.dataDir);
  const key = await createdKey(run.settings, 'kill test');
  await setSender(run.settings);
  const delivered = new Set<string>();
  let looked = 0;
  const clients: Clients = startClients({
    senders: SENDERS,
    seed,
    apiKey: key,
    base: () => run.base,
    tooFarAhead: () => {
      for (; looked < sink.received.length; looked += 1)
        if (sink.received[looked]!.accepted) delivered.add(sink.received[looked]!.messageId);
      return clients.accepted.size - delivered.size > BACKLOG_MAX;
    },
  });
  return clients;
};

/** Starts the server, kills it at that moment or at one of the seed's choice, and looks at what the log holds then. */
const killOnce = async (run: Run, round: number, moment?: () => Promise<void>): Promise<void> => {
  const server = startServer(run.settings);
  const whileStarting = run.random.chance(0.2);
  if (moment !== undefined) {
    run.base = await server.listening;
    await moment();
  } else if (whileStarting) {
    run.killsWhileStarting += 1;
    void server.listening.then(
      (base) => (run.base = base),
      () => undefined,
    );
    await pause(run.random.between(1, 900));
  } else {
    run.base = await server.listening;
    await pause(run.random.between(20, 900));
  }
  const { code } = await kill(run, server);
  if (code !== null) run.faults.push(`round ${round}: the server ended by itself with code ${code}`);
  run.log = await readLog(run.dataDir, run.log);
  if (run.log.changedAt !== undefined)
    run.faults.push(`round ${round}: the log is another from position ${run.log.changedAt} on`);
  noteCaught(run, round);
};

/**
 * Notes the emails that were in a dialogue at this kill and not already at an earlier one: no more than there are
 * connections.
 */
const noteCaught = (run: Run, round: number): void => {
  let caught = 0;
  for (const [id, { openAttempt }] of run.log?.emails ?? []) {
    if (openAttempt === undefined || run.openSince.get(id) === openAttempt) continue;
    run.openSince.set(id, openAttempt);
    run.caught.set(id, (run.caught.get(id) ?? 0) + 1);
    caught += 1;
  }
  run.caughtAtOnce = Math.max(run.caughtAtOnce, caught);
  if (caught > CONNECTIONS)
    run.faults.push(`round ${round}: ${caught} attempts were under way, on ${CONNECTIONS} connections`);
};

const kill = async (run: Run, server: ServerProcess): Promise<Readonly<{ code: number | null }>> => {
  const ended = server.end('SIGKILL');
  run.base = undefined;
  const result = await ended;
  // It may have begun to listen in the moment of the kill.
  run.base = undefined;
  return result;
};

/**
 * A last start: what is open is finished, the read models are compared with a rebuild, and the server stops in good
 * order.
 */
const finish = async (run: Run, clients: Clients, sink: SmtpScriptServer): Promise<void> => {
  const server = startServer(run.settings);
  run.base = await server.listening;
  clients.drain();
  await clients.ended;
  const delivered = (): Set<string> => new Set(sink.accepted().map(({ messageId }) => `<${messageId}>`));
  await eventually(
    'every accepted email has come to the sink',
    () => {
      const found = delivered();
      return [...clients.accepted.values()].every(({ messageId }) => found.has(messageId));
    },
    DRAIN_WITHIN_MS,
  );
  const beside = await runCommand(['verify'], run.settings);
  if (beside.code !== 0) run.faults.push(`verify beside the server: ${beside.stdout}${beside.stderr}`);
  run.base = undefined;
  const { code, signal } = await server.end('SIGTERM');
  if (code !== 0) run.faults.push(`the last stop ended with ${code ?? signal}`);
  await finishOpen(run);
  const after = await runCommand(['verify'], run.settings);
  if (after.code !== 0) run.faults.push(`verify after the stop: ${after.stdout}${after.stderr}`);
  if (!/emails: \d+ documents at position \d+ equal a rebuild/.test(after.stdout))
    run.faults.push(`verify said: ${after.stdout}`);
};

/** Emails whose 201 was lost, or whose schedule was not yet due, may still be open when all others have arrived. */
const finishOpen = async (run: Run): Promise<void> => {
  for (let looks = 0; looks < 30; looks += 1) {
    run.log = await readLog(run.dataDir, run.log);
    if (run.log.changedAt !== undefined)
      run.faults.push(`at the end: the log is another from position ${run.log.changedAt} on`);
    if ([...run.log.emails.values()].every(({ finished }) => finished)) return;
    const server = startServer(run.settings);
    await server.listening;
    await pause(1_000);
    await server.end('SIGTERM');
  }
  run.faults.push('some emails were never finished');
};

/**
 * The oracles: accepted = in the log = delivered, and doubles only of what was caught in a dialogue, with the same
 * bytes.
 */
const judge = (run: Run, clients: Clients, sink: SmtpScriptServer): void => {
  const { faults } = run;
  faults.push(...clients.faults);
  const emails = run.log?.emails ?? new Map();
  const byMessageId = new Map<string, string>();
  for (const [id, { messageId }] of emails) byMessageId.set(messageId, id);
  for (const { id } of clients.accepted.values())
    if (!emails.has(id)) faults.push(`email ${id} was answered 201 and is not in the log`);
  const unanswered = emails.size - clients.accepted.size;
  if (unanswered > clients.counts().lostWithoutKey)
    faults.push(
      `the log has ${unanswered} emails without a 201, but only ${clients.counts().lostWithoutKey} calls without a key were lost`,
    );

  const arrived = new Map<string, Buffer[]>();
  for (const { messageId, raw } of sink.accepted()) {
    const copies = arrived.get(`<${messageId}>`);
    if (copies === undefined) arrived.set(`<${messageId}>`, [raw]);
    else copies.push(raw);
  }
  for (const [id, { messageId }] of emails) if (!arrived.has(messageId)) faults.push(`email ${id} never arrived`);
  for (const [messageId, copies] of arrived) {
    const id = byMessageId.get(messageId);
    if (id === undefined) faults.push(`a mail arrived that is not in the log: ${messageId}`);
    const mayRepeat = (id === undefined ? undefined : run.caught.get(id)) ?? 0;
    if (copies.length > 1 + mayRepeat)
      faults.push(`email ${id} arrived ${copies.length} times, but was caught in a dialogue ${mayRepeat} times`);
    if (copies.some((copy) => !copy.equals(copies[0]!))) faults.push(`email ${id} arrived with different bytes`);
  }
};

const reportOf = (
  run: Run,
  clients: Clients,
  sink: SmtpScriptServer,
  rounds: number,
  durationMs: number,
): KillReport => {
  const accepted = sink.accepted();
  const distinct = new Set(accepted.map(({ messageId }) => messageId)).size;
  const { requests, repeated, lostWithoutKey } = clients.counts();
  return {
    counts: {
      kills: rounds,
      'of them while starting': run.killsWhileStarting,
      requests: requests,
      'of them repeated under their key': repeated,
      'emails answered 201': clients.accepted.size,
      'calls without a key that lost their answer': lostWithoutKey,
      'emails in the log': run.log?.emails.size ?? 0,
      'events in the log': run.log?.hashes.length ?? 0,
      'emails delivered': distinct,
      'in a dialogue at a kill': [...run.caught.values()].reduce((sum, count) => sum + count, 0),
      'most of them at one kill': run.caughtAtOnce,
      'delivered twice or more': accepted.length - distinct,
      'refused for now by the sink': sink.received.length - accepted.length,
      seconds: Math.round(durationMs / 1_000),
    },
    faults: run.faults,
  };
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '100' }, seed: { type: 'string' } } });
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  const { faults } = await killTest({ rounds: Number(values.rounds), seed, print: (line) => console.log(line) });
  process.exitCode = faults.length === 0 ? 0 : 1;
}
