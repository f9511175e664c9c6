/** A process that takes old streams out of the log is killed at any moment: the log verifies each time, and in the end all has left it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import t from 'tap';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { systemIds } from '../../src/adapters/ids/system.js';
import { auditStream, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { openEventLog, startOf } from '../../src/event-log/event-log.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { SUMMARIES } from '../../src/projections/email/summaries.js';
import { emailsProjection } from '../../src/projections/email/emails.js';
import { rebuildProjection } from '../../src/projections/core/rebuild.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { accepted, at, content, DAY_MS, PERIODS, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryFiles, memoryKeys } from '../support/memory-ports.js';
import { documentsOf, openDocuments } from '../support/projected.js';
import { seededRandom } from '../support/random.js';
import { traces } from '../support/traces.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const EMAILS = 450;
const READS = 5_000;
/** As a program, `node build/test/e2e/kill-retirement.test.js --kills N`, with as many as one likes. */
const { values } = parseArgs({ options: { kills: { type: 'string', default: '5' } } });
const KILLS = Number(values.kills);
const WORD = 'Zanzibarian';
const never = new AbortController().signal;
const NOW = new Date(Date.parse(T0) + 2_000 * DAY_MS).toISOString();
const program = fileURLToPath(new URL('./kill-retirement-program.js', import.meta.url));

/** Emails whose record is gone, and a month of the audit log so long that several events tell of it. */
const write = async (file: string): Promise<void> => {
  const store = openSqliteEventStore({ file });
  const clock = fakeClock(Date.parse(T0));
  const eventLog = openEventLog({ store, keys: memoryKeys(), files: memoryFiles(), ids: systemIds(), clock, limits: defaultLimits });
  const cause = { teamId: TEAM_ID, actor: 'test', correlationId: 'c', causationId: 'c', at: T0 };
  for (let index = 0; index < EMAILS; index += 1) {
    const stream = `email-0198f000-0000-7000-8000-${String(index).padStart(12, '0')}` as StreamName;
    await eventLog.append(
      stream,
      startOf(stream),
      [
        { type: 'EmailQueued', data: { ...accepted, templateName: WORD }, sealed: content },
        { type: 'EmailArchived', data: { at: at(40 * 86_400) } },
        { type: 'EmailRemoved', data: { at: at(1_900 * 86_400) } },
      ],
      cause,
    );
  }
  const reads = auditStream(TEAM_ID, T0.slice(0, 7));
  let version = startOf(reads);
  for (let n = 0; n < READS; n += 500) {
    const data = { at: T0, minute: T0, what: 'read' as const, action: WORD, code: null, count: 1 };
    version = await eventLog.append(
      reads,
      version,
      Array.from({ length: 500 }, () => ({ type: 'CallsCounted' as const, data })),
      cause,
    );
  }
  await sealOnce({ eventLog, store, limits: defaultLimits, clock }, never);
  await store.close();
};

/** It is killed when it has told of so many writes. Out: whether it came to its end. */
const run = async (file: string, killAfter: number | undefined): Promise<boolean> => {
  const child = spawn(process.execPath, [program, file, NOW], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise((resolve) => child.on('close', resolve));
  if (killAfter !== undefined) {
    const writes = (): number => said.split('+').length - 1;
    await eventually('it is in the midst', () => writes() >= killAfter || said.includes('done'), 60_000);
    child.kill('SIGKILL');
  }
  await ended;
  return said.includes('done');
};

await t.test(`${KILLS} kills lose nothing that is counted, and leave nothing that is to go`, async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'events.db');
  await write(file);
  const { next: random } = seededRandom(20_260_101);
  const look = async () => {
    const store = openSqliteEventStore({ file });
    const eventLog = openEventLog({
      store,
      keys: memoryKeys(),
      files: memoryFiles(),
      ids: systemIds(),
      clock: fakeClock(),
      limits: defaultLimits,
    });
    const { finding, retired } = await verifyLog(store, undefined, { keys: memoryKeys() });
    const readModels = openDocuments(t);
    await rebuildProjection(emailsProjection(PERIODS), { eventLog, readModels });
    const { [SUMMARIES]: summaries = [] } = await documentsOf(readModels, emailsProjection(PERIODS));
    await store.close();
    return { finding, retired, counts: summaries.map(({ counts }) => counts as unknown) };
  };
  const before = await look();
  t.match(before, { finding: undefined, retired: 0, counts: [{ accepted: EMAILS }] });
  const reached = new Set<number>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await run(file, 1 + Math.floor(random() * 120));
    const { finding, retired, counts } = await look();
    t.equal(finding, undefined, `after kill ${kill + 1}: ${retired} have left`);
    t.same(counts, before.counts, 'what is counted stays');
    reached.add(retired);
  }
  t.ok(reached.size > KILLS / 4, `kills fell into the work: ${[...reached].join(', ')} had left`);
  t.equal(await run(file, undefined), true);
  const { finding, retired, counts } = await look();
  t.match({ finding, counts }, { finding: undefined, counts: before.counts });
  t.equal(retired, 3 * EMAILS + READS);
  t.same(traces(directory, WORD), [], 'nothing of it is in any file');
});
