/** Log lines: their shape, and that no message of an error slips through. */
import t from 'tap';
import { openLogger } from '../../../src/adapters/logger/pino.js';

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
