/** Document processes: each kind of fault ends one document and no more, and everything is bounded. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { openGenerator, type GeneratorOptions } from '../../../../src/adapters/render/workers/generator.js';
import { openPool, type JobOutcome } from '../../../../src/adapters/render/workers/pool.js';
import { DomainError } from '../../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { DocumentInput, Generator, LoadedImage } from '../../../../src/domain/ports/generator.js';
import { temporaryDirectory } from '../../../support/data-directory.js';
import { fakeClock } from '../../../support/fake-clock.js';
import { memoryLog } from '../../../support/memory-ports.js';
import { teamA, teamB } from '../../../support/teams.js';
import { eventually } from '../../../support/wait.js';
import { hostileWorker } from './hostile-worker.js';

t.setTimeout(900_000);

const never = new AbortController().signal;
const metadata = { title: 'Test', author: 'sealpost', createdAt: '2026-11-21T10:00:00.000Z' };
const company = {
  name: 'Example',
  legalName: '',
  email: '',
  phone: '',
  website: '',
  addressLine1: '',
  city: '',
  state: '',
  postalCode: '',
  country: '',
};
const noImages: ReadonlyMap<string, LoadedImage> = new Map();

/** The act is for the hostile worker; the real one shows it. */
const inputOf = (act: string, more: JsonObject = {}, teamId = teamA): DocumentInput => ({
  teamId,
  cacheKey: 'test',
  content: {
    variables: [],
    schema: { outputFormats: ['pdf', 'excel'], pages: [{ pageId: 'p', pageName: 'Page', sections: [] }] },
  },
  variables: { act, ...more },
  environment: { at: '2026-11-21T10:00:00.000Z', company },
});

const open = (
  t: Test,
  {
    limits = {},
    ...more
  }: Omit<Partial<GeneratorOptions>, 'limits'> & { limits?: Partial<GeneratorOptions['limits']> } = {},
) => {
  const logger = memoryLog();
  const generator = openGenerator({
    clock: systemClock(),
    logger,
    workerFile: hostileWorker,
    cores: 2,
    ...more,
    limits: { ...defaultLimits, ...limits },
  });
  t.teardown(() => generator.close());
  const ask = (act: string, signal: AbortSignal = never): Promise<readonly string[]> =>
    generator.imageSources(inputOf(act), 'pdf', signal);
  return { generator, logger, ask };
};

type PoolSettings = Readonly<{ processesMax: number; idleMs?: number; readyMs?: number }>;

const openedPool = (t: Test, { processesMax, idleMs = 60_000, readyMs }: PoolSettings) => {
  const pool = openPool({
    file: hostileWorker,
    settings: undefined,
    processesMax,
    queueMax: 9,
    queueWaitMs: 60_000,
    memoryMbMax: 64,
    idleMs,
    ...(readyMs === undefined ? {} : { ready: { job: { kind: 'prepare' }, forMs: readyMs } }),
    clock: systemClock(),
    onStrayFault: () => undefined,
  });
  t.teardown(() => pool.close());
  const ask = (act: string, team = 'a'): Promise<JobOutcome> =>
    pool.run({ kind: 'make', input: inputOf(act), images: noImages }, { team, timeoutMs: 100_000, signal: never });
  return { pool, ask };
};

/** A service that has given one job to a document process. */
const serviceFile = new URL('./service-to-kill.js', import.meta.url);
const closingFile = new URL('./service-to-close.js', import.meta.url);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** A promise that is looked at later, and may have been rejected by then. */
const awaited = <Value>(promise: Promise<Value>): Promise<Value> => {
  promise.catch(() => undefined);
  return promise;
};

/** The error of a refused document. Checks that another process makes the next document. */
const refusalOf = async (t: Test, generator: Generator, refused: Promise<unknown>): Promise<DomainError> => {
  const fault = await refused.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(fault instanceof DomainError)) throw new Error('no DomainError', { cause: fault });
  const file = (await generator.make(inputOf('answer'), 'pdf', noImages, metadata, never)).bytes;
  t.equal(file.length, 0, `after ${fault.code} the next document is made`);
  return fault;
};

await t.test('a refusal crosses to the service whole', async (t) => {
  const { generator, ask } = open(t);
  const fault = await refusalOf(t, generator, ask('refuse'));
  t.match(fault, {
    code: 'ERR_LIMIT_001',
    message: 'the PDF has 31 pages, the maximum is 30',
    details: { relatedInfo: { actualPages: 31, maxPages: 30 } },
  });
});

await t.test('a process that ends, and an error in a callback that nobody awaits, fail one document', async (t) => {
  const { generator, ask, logger } = open(t);
  const acts = ['exit', 'abort', 'leave', 'throw-later', 'unknown act', 'no-answer-to-clone'];
  for (const act of acts) {
    t.match(
      await refusalOf(t, generator, ask(act)),
      { code: 'GENERATION_FAILED', message: /^the PDF could not be made/ },
      act,
    );
  }
  t.equal(logger.lines.filter(({ message }) => message === 'a document ended its process').length, acts.length);
  t.match(logger.lines.map(({ fields }) => fields['exitCode']).join(), /7/, 'how the process ended is in the log');
  t.match(logger.lines.map(({ fields }) => fields['signal']).join(), /SIGABRT/);
  t.notMatch(JSON.stringify(logger.lines), /secret|no such act/, 'the log has no word of the document');
  t.match(logger.lines.map(({ fields }) => fields['at']).join(), /hostile-worker/, 'and says where it was');
});

await t.test('a callback that fails after its document is done harms no other', async (t) => {
  const { generator, ask, logger } = open(t);
  t.same(await ask('throw-when-done'), []);
  t.same(await ask('slow'), ['slow'], 'not even the one that was in the same process by then');
  await eventually('the process ends', () =>
    logger.lines.some(({ message }) => message === 'a document process ended'),
  );
  t.equal((await generator.make(inputOf('answer'), 'pdf', noImages, metadata, never)).bytes.length, 0);
});

await t.test('a layout that does not end is ended at its deadline, with both numbers', async (t) => {
  const clock = fakeClock();
  const { generator, ask } = open(t, { clock });
  const pdf = awaited(ask('spin'));
  await clock.whenWaiting(1);
  await clock.advance(59_999);
  t.equal(clock.waiting(), 1, 'not before it');
  await clock.advance(2);
  t.match(await refusalOf(t, generator, pdf), {
    code: 'GENERATION_TIMEOUT',
    message: 'the PDF was not finished after 60,000 ms, the maximum is 60,000 ms; put less into it',
    details: { relatedInfo: { actualMs: 60_000, maxMs: 60_000 } },
  });
  const workbook = awaited(generator.imageSources(inputOf('spin'), 'excel', never));
  await clock.whenWaiting(1);
  await clock.advance(120_000);
  t.match(await refusalOf(t, generator, workbook), {
    code: 'GENERATION_TIMEOUT',
    message: /^the workbook .* 120,000 ms, /,
  });
  t.equal(clock.waiting(), 0, 'no timer is left');
});

await t.test(
  'a document that takes all memory fails, in the heap and outside of it, and the service lives',
  async (t) => {
    const { generator, ask } = open(t, { limits: { generatorMemoryMbMax: 64 } });
    for (const act of ['bomb', 'buffers', 'bomb'])
      t.match(await refusalOf(t, generator, ask(act)), {
        code: 'GENERATION_FAILED',
        message: /more than 64 MB of memory/,
        details: { relatedInfo: { maxMemoryMb: 64 } },
      });
  },
);

await t.test(
  'a process that is killed from outside in the middle of a job is replaced once, then its document fails',
  async (t) => {
    const { pool, ask } = openedPool(t, { processesMax: 1 });
    t.match(await ask('answer'), { kind: 'done' });
    for (const act of ['wait-for-ever', 'spin']) {
      const outcome = ask(act);
      for (const killed of [1, 2]) {
        const pid = await eventually(`process ${killed} runs`, () => pool.pids()[0]);
        process.kill(pid, 'SIGKILL');
        await eventually(`process ${killed} is gone`, () => !pool.pids().includes(pid));
      }
      t.match(await outcome, { kind: 'died', trace: { signal: 'SIGKILL' } }, act);
      t.match(await ask('answer'), { kind: 'done' });
    }
    const idle = pool.pids()[0]!;
    process.kill(idle, 'SIGKILL');
    t.match(await ask('answer'), { kind: 'done' }, 'nor does the death of an idle process harm a job');
    t.not(pool.pids()[0], idle);
  },
);

await t.test('signals to the whole group end no document', async (t) => {
  const { pool, ask } = openedPool(t, { processesMax: 1 });
  t.match(await ask('answer'), { kind: 'done' });
  const [pid] = pool.pids();
  const slow = ask('slow');
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid!, signal);
  t.match(await slow, { kind: 'done' });
  t.same(pool.pids(), [pid]);
});

await t.test('the processes end with the service, even one that spins', async (t) => {
  for (const act of ['spin', 'wait-for-ever']) {
    const service = fork(serviceFile, [act], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const [pid] = (await once(service, 'message')) as [number];
    t.ok(isAlive(pid));
    service.kill('SIGKILL');
    await eventually(`${act}: the process ends`, () => !isAlive(pid));
  }
});

await t.test(
  'a service that closes runs until its processes are gone, also where an answer of one has just come',
  async (t) => {
    const marker = join(temporaryDirectory(t), 'answered');
    // Without a channel of its own, which would keep it alive.
    const service = spawn(process.execPath, [fileURLToPath(closingFile), marker], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = await text(service.stdout);
    t.ok(existsSync(marker));
    t.equal(said, 'closed\n');
  },
);

await t.test('the queue is bounded in length and in time, and served in order', async (t) => {
  const clock = fakeClock();
  const { ask } = open(t, { clock, limits: { generatorQueueMax: 2 } });
  const hold = new AbortController();
  const held = awaited(ask('spin', hold.signal));
  await clock.whenWaiting(1);
  const order: string[] = [];
  const gone = new AbortController();
  const second = ask('answer', gone.signal).catch((reason: unknown) => reason);
  const third = ask('sources').then(() => order.push('third'));
  await clock.whenWaiting(3);
  await t.rejects(ask('answer'), {
    code: 'GENERATOR_BUSY',
    message: 'Too many documents are being made: 2 wait before this one, the maximum is 2. Try again in 5 seconds.',
    details: { retryAfterS: 5, relatedInfo: { actualWaiting: 2, maxWaiting: 2 } },
  });
  gone.abort(new Error('the caller left'));
  t.match(await second, { message: 'the caller left' });
  const fourth = ask('sources').then(() => order.push('fourth'));
  hold.abort(new Error('enough'));
  await t.rejects(held, { message: 'enough' }, 'a spinning process ends when its caller leaves');
  await Promise.all([third, fourth]);
  t.same(order, ['third', 'fourth'], 'what waited is made by a new process');

  const again = new AbortController();
  const spinning = ask('spin', again.signal).catch(() => undefined);
  await clock.whenWaiting(1);
  const waits = awaited(ask('answer'));
  await clock.whenWaiting(2);
  await clock.advance(30_000);
  await t.rejects(waits, {
    code: 'GENERATOR_BUSY',
    details: { relatedInfo: { actualWaitMs: 30_000, maxWaitMs: 30_000 } },
  });
  again.abort();
  await spinning;
});

await t.test(
  'twelve heavy documents of one team hold one of two processes, and the document of another is made at once',
  async (t) => {
    const clock = fakeClock();
    const { generator } = open(t, { clock });
    const left = new AbortController();
    const heavy = Array.from({ length: 12 }, () =>
      awaited(generator.imageSources(inputOf('spin'), 'pdf', left.signal)),
    );
    await clock.whenWaiting(12);
    const light = inputOf('answer', {}, teamB);
    t.equal(
      (await generator.make(light, 'pdf', noImages, metadata, never)).bytes.length,
      0,
      'while none of the twelve has ended',
    );
    t.equal(
      (await generator.make(light, 'pdf', noImages, metadata, never)).bytes.length,
      0,
      'nor has one of them taken its place',
    );
    t.equal(clock.waiting(), 12, 'one at work, eleven waiting');
    left.abort(new Error('left'));
    for (const one of await Promise.allSettled(heavy))
      t.match(one, { status: 'rejected', reason: { message: 'left' } });
  },
);

await t.test('closing ends what is under way and what waits', async (t) => {
  const clock = fakeClock();
  const { generator, ask } = open(t, { clock });
  const both = [awaited(ask('spin')), awaited(ask('answer'))];
  await clock.whenWaiting(2);
  await generator.close();
  for (const one of await Promise.allSettled(both))
    t.match(one, { status: 'rejected', reason: { code: 'GENERATOR_BUSY', message: /stopping/ } });
  await t.rejects(ask('answer'), { code: 'GENERATOR_BUSY' });
  t.equal(clock.waiting(), 0);
  await generator.close();
});

await t.test('a caller that has left already starts nothing', async (t) => {
  const { ask } = open(t, { clock: fakeClock() });
  await t.rejects(ask('spin', AbortSignal.abort(new Error('left'))), { message: 'left' });
});

await t.test('images stay readable for the caller, and a process sees no setting of the service', async (t) => {
  const { generator, ask } = open(t);
  const whole = Buffer.alloc(64, 1);
  const images = new Map<string, LoadedImage>([
    ['asset:a', { bytes: whole.subarray(8, 18), contentType: 'image/png' }],
    ['asset:b', { bytes: whole, contentType: 'image/png' }],
  ]);
  const file = (await generator.make(inputOf('answer'), 'pdf', images, metadata, never)).bytes;
  t.equal(Buffer.from(file).toString(), '10,64', 'no more than the image itself is sent');
  t.equal(whole.length, 64);
  const names = (await ask('environment')) as readonly string[];
  t.same(
    names.filter((name) => !name.startsWith('_TAPJS_') && name !== 'NODE_OPTIONS'),
    [],
    'but for what the test runner itself puts into every process',
  );
});

await t.test(
  'processes are few, start with the first job, give way to the service, and end when none has come for a while',
  async (t) => {
    const { pool, ask } = openedPool(t, { processesMax: 2, idleMs: 200 });
    t.same(pool.pids(), []);
    const jobs = Array.from({ length: 6 }, (_, index) => ask('slow', index < 3 ? 'a' : 'b'));
    await eventually('both run', () => pool.pids().length === 2);
    const seen = new Set<number>();
    const see = (): void => pool.pids().forEach((pid) => seen.add(pid));
    see();
    for (const pid of seen) t.equal(getPriority(pid), 5);
    const done = await Promise.all(jobs.map((job) => job.finally(see)));
    t.same([...new Set(done.map(({ kind }) => kind))], ['done']);
    t.equal(seen.size, 2, 'the same two did them all');
    await eventually('idle processes end', () => pool.pids().length === 0);
  },
);

await t.test('a process that has grown large does no second document', async (t) => {
  const { pool, ask } = openedPool(t, { processesMax: 1 });
  t.match(await ask('answer'), { kind: 'done' });
  const [small] = pool.pids();
  t.match(await ask('grow'), { kind: 'done' });
  await eventually('it ends', () => !pool.pids().includes(small!));
  t.match(await ask('answer'), { kind: 'done' });
});

await t.test('a process that cannot start fails its document at once', async (t) => {
  const { generator, logger } = open(t, {
    workerFile: new URL('./no-such-worker.js', import.meta.url),
    clock: fakeClock(),
  });
  await t.rejects(generator.imageSources(inputOf('answer'), 'pdf', never), { code: 'GENERATION_FAILED' });
  t.ok(logger.lines.some(({ message }) => message === 'a document process ended'));
});

await t.test(
  'a process stands ready for the next job, and never for long with what a job has left in it',
  async (t) => {
    const { pool, ask } = openedPool(t, { processesMax: 2, idleMs: 200, readyMs: 60_000 });
    pool.prepare();
    pool.prepare();
    const [ready] = pool.pids();
    t.same(pool.pids(), [ready], 'one process, before any job');
    t.match(await Promise.all([ask('pid'), ask('pid', 'b')]).then((outcomes) => outcomes.map(({ kind }) => kind)), [
      'done',
      'done',
    ]);
    await eventually('another stands in its place', () => pool.pids().length === 1 && pool.pids()[0] !== ready);
    const [next] = pool.pids();
    await eventually(
      'and it takes the next job',
      async () => pool.pids()[0] === next && (await ask('pid')).kind === 'done',
    );
    await pool.close();
    pool.prepare();
    t.same(pool.pids(), [], 'none begins when all is closed');
  },
);

await t.test('who asks while a process gets ready waits for that one', async (t) => {
  const { pool, ask } = openedPool(t, { processesMax: 2, readyMs: 60_000 });
  pool.prepare();
  const [ready] = pool.pids();
  t.match(await ask('pid'), { kind: 'done', result: { sources: [String(ready)] } });
  t.same(pool.pids(), [ready]);
});

await t.test('no process stands ready after its time, nor where none is to', async (t) => {
  const { pool } = openedPool(t, { processesMax: 2, readyMs: 50 });
  pool.prepare();
  t.equal(pool.pids().length, 1);
  await eventually('it ends', () => pool.pids().length === 0);
  const { generator } = open(t);
  generator.prepare();
  t.match(await generator.imageSources(inputOf('sources'), 'pdf', never), []);
});
