/** The logger and its output. */
import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { openLogger, openOutput, type Descriptor } from '../../../src/adapters/logger/pino.js';

// Log lines: their shape, and that no message of an error slips through.

const opened = (level: 'debug' | 'warn') => {
  const lines: Record<string, unknown>[] = [];
  const logger = openLogger({
    level,
    destination: { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  return { logger, lines };
};

void t.test(
  'one JSON object a line, with the level by name, the time in ISO, and the fields of its parents',
  async (t) => {
    const { logger, lines } = opened('debug');
    logger.child({ worker: 'relay' }).info({ count: 3, none: undefined }, 'published');
    logger.debug({}, 'd');
    logger.warn({ a: null, b: true }, 'w');
    logger.error({}, 'e');
    t.match(lines[0], {
      level: 'info',
      worker: 'relay',
      count: 3,
      message: 'published',
      time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    });
    t.same(Object.keys(lines[0]!).sort(), ['count', 'level', 'message', 'time', 'worker']);
    t.same(
      lines.map((line) => line['level']),
      ['info', 'debug', 'warn', 'error'],
    );
  },
);

void t.test('below its level nothing is written', async (t) => {
  const { logger, lines } = opened('warn');
  logger.info({}, 'no');
  logger.child({ a: 1 }).debug({}, 'no');
  logger.warn({}, 'yes');
  t.equal(lines.length, 1);
});

void t.test('errors: name, code and frames; no message, not even one that looks like a frame', async (t) => {
  const { logger, lines } = opened('debug');
  const cause = new Error('550 <anna@example.org> unknown');
  const error = Object.assign(new TypeError('secret anna@example.org\n    at anna@example.org:1:1', { cause }), {
    code: 'EENVELOPE',
  });
  logger.error({ error }, 'failed');
  t.match(lines[0], { error: { name: 'TypeError', code: 'EENVELOPE', cause: { name: 'Error' } } });
  t.notMatch(JSON.stringify(lines[0]), /anna|secret|550/);
  const logged = lines[0]!['error'] as { stack: string[] };
  t.ok(logged.stack.length > 0 && logged.stack.every((frame) => frame.startsWith('at ')));
});

void t.test('errors of the operating system and those marked as safe keep their message', async (t) => {
  const { logger, lines } = opened('debug');
  logger.error(
    {
      error: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:25'), {
        syscall: 'connect',
        code: 'ECONNREFUSED',
      }),
    },
    'a',
  );
  logger.error({ error: Object.assign(new Error('stream x is at revision 3'), { safeToLog: true }) }, 'b');
  t.same(
    lines.map((line) => (line['error'] as { message?: string }).message),
    ['connect ECONNREFUSED 127.0.0.1:25', 'stream x is at revision 3'],
  );
});

// Log lines on their way to a file descriptor that is fast, slow, full or gone.

type Answer = number | 'all' | 'EAGAIN' | 'EPIPE' | 'ENOSPC';

/**
 * A descriptor that answers as told, then takes everything. `held`: a write that is not answered until `answer` is
 * called.
 */
const scripted = (script: readonly Answer[], { mayBlock = false, held = false } = {}) => {
  const answers = [...script];
  const taken: string[] = [];
  const calls = { write: 0, writeSync: 0, pause: 0 };
  const waiting: (() => void)[] = [];
  const next = (bytes: Buffer): number => {
    const answer = answers.shift() ?? 'all';
    if (typeof answer === 'string' && answer !== 'all') throw Object.assign(new Error(answer), { code: answer });
    const count = answer === 'all' ? bytes.length : Math.min(answer, bytes.length);
    taken.push(bytes.subarray(0, count).toString());
    return count;
  };
  const descriptor: Descriptor = {
    write: (bytes, done) => {
      calls.write += 1;
      const act = (): void => {
        try {
          done(null, next(bytes));
        } catch (fault) {
          done(fault as Error, 0);
        }
      };
      if (held) waiting.push(act);
      else act();
    },
    writeSync: (bytes) => {
      calls.writeSync += 1;
      return next(bytes);
    },
    pause: () => void (calls.pause += 1),
    mayBlock,
  };
  return { ...openOutput(descriptor), calls, text: () => taken.join(''), taken, answer: () => waiting.shift()?.() };
};

const always = (answer: Answer): readonly Answer[] => Array.from({ length: 1_000 }, () => answer);

const clock = (t: Pick<Test, 'teardown'>): void => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  t.teardown(() => mock.timers.reset());
};

void t.test('lines are written together, and where none came nothing is written', async (t) => {
  clock(t);
  const output = scripted([]);
  mock.timers.tick(10_000);
  t.equal(output.calls.write, 0);
  output.write('a\n');
  output.write('b\n');
  mock.timers.tick(10_000);
  output.write('c\n');
  mock.timers.tick(10_000);
  t.same(output.taken, ['a\nb\n', 'c\n']);
});

void t.test('many lines do not wait for their time', async (t) => {
  clock(t);
  const output = scripted([]);
  for (let line = 0; line < 100; line += 1) output.write(`${'x'.repeat(99)}\n`);
  t.equal(output.taken.length, 1);
  mock.timers.tick(200);
  t.equal(output.text().length, 10_000);
});

void t.test('a write that takes a part goes on with the rest, and a full pipe is tried again', async (t) => {
  clock(t);
  const output = scripted([1, 'EAGAIN', 'EAGAIN', 2]);
  output.write('abc\n');
  output.write('d\n');
  mock.timers.tick(200);
  t.equal(output.text(), 'a');
  mock.timers.tick(100);
  mock.timers.tick(100);
  t.equal(output.text(), 'abc\nd\n');
});

for (const code of ['EPIPE', 'ENOSPC'] as const)
  void t.test(`${code}: lines are lost, and the first that is written again comes after how many`, async (t) => {
    clock(t);
    const output = scripted([code, code, 2, code]);
    for (const line of ['a', 'b', 'c', 'dd', 'e']) {
      output.write(`${line}\n`);
      if (line !== 'a') mock.timers.tick(200);
    }
    const lines = output.text().split('\n');
    t.equal(lines[0], '{"', 'a write that failed in its middle');
    t.match(JSON.parse(lines[1]!), {
      level: 'warn',
      lines: 4,
      message: 'log lines were lost: they could not be written',
    });
    t.same(lines.slice(2), ['e', '']);
    output.write('f\n');
    output.end();
    t.match(output.text(), /\ne\nf\n$/, 'the loss is told once');
  });

void t.test('what waits for a reader that does not read is bounded, and told when it reads again', async (t) => {
  clock(t);
  const output = scripted(['EAGAIN']);
  const line = `${'x'.repeat(1_023)}\n`;
  output.write(line);
  mock.timers.tick(200);
  for (let count = 0; count < 3_000; count += 1) output.write(line);
  mock.timers.tick(100);
  output.write(line);
  mock.timers.tick(200);
  const seen = output.text().split('\n').slice(0, -1);
  const told = seen.flatMap((text) => (text.startsWith('{') ? [(JSON.parse(text) as { lines: number }).lines] : []));
  t.equal(told.length, 1);
  t.equal(seen.length - 1 + told[0]!, 3_002);
  t.ok(seen.length < 1_030, 'a megabyte waits');
});

void t.test('the end writes what waits, after the rest of the batch under way', async (t) => {
  clock(t);
  const output = scripted([1, 'EAGAIN']);
  output.write('abc\n');
  mock.timers.tick(200);
  output.write('d\n');
  output.end();
  t.equal(output.text(), 'abc\nd\n');
  mock.timers.tick(10_000);
  t.equal(output.text(), 'abc\nd\n', 'and nothing twice');
});

for (const code of ['EAGAIN', 'EPIPE', 'ENOSPC'] as const)
  void t.test(`the end gives up at ${code}`, async (t) => {
    clock(t);
    const output = scripted(always(code));
    output.write('a\n');
    output.end();
    t.same(
      output.calls,
      code === 'EAGAIN' ? { write: 0, writeSync: 51, pause: 50 } : { write: 0, writeSync: 1, pause: 0 },
    );
  });

void t.test('a reader that is slow, and reads, gets it all at the end', async (t) => {
  clock(t);
  const output = scripted(['EAGAIN', 2, 'EAGAIN', 'EAGAIN']);
  output.write('abcdef\n');
  output.end();
  t.equal(output.text(), 'abcdef\n');
});

void t.test(
  'a write in its thread is left to it; on a terminal that was stopped nothing is written beside it',
  async (t) => {
    clock(t);
    for (const mayBlock of [false, true]) {
      const output = scripted([], { mayBlock, held: true });
      output.write('a\n');
      mock.timers.tick(200);
      output.write('b\n');
      output.end();
      t.equal(output.text(), mayBlock ? '' : 'b\n');
      output.answer();
      t.equal(output.text(), mayBlock ? 'a\n' : 'b\na\n');
    }
  },
);
