/** Seal keys of settings and of a program outside, and the file in which seals are kept. */
import { createHash, createHmac } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { keepSeal, keptSeals, openSealKeys } from '../../../src/adapters/keys/key-files.js';
import { temporaryDirectory } from '../../support/data-directory.js';

const fingerprint = (): string => '07'.repeat(32);
const KEY = '5e'.repeat(32);

void t.test(
  'keys of the settings come first, the derived one last; each has an id, tags and answers of its own',
  async (t) => {
    const keys = await openSealKeys(
      { texts: [KEY, Buffer.alloc(32, 9).toString('base64')], command: undefined },
      { fingerprint },
    )();
    t.equal(keys.length, 3);
    for (const values of [
      keys.map(({ id }) => id),
      keys.map(({ tag }) => tag('ab')),
      keys.map(({ sign }) => sign('text')),
    ])
      t.equal(new Set(values).size, 3);
    const [again] = await openSealKeys({ texts: [KEY], command: undefined }, { fingerprint })();
    t.same(
      [again!.id, again!.tag('ab'), again!.sign('text')],
      [keys[0]!.id, keys[0]!.tag('ab'), keys[0]!.sign('text')],
    );
    t.match(again!.tag('ab'), /^[0-9a-f]{32}$/);
    const hmac = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('hex');
    const secret = hmac(Buffer.from(KEY, 'hex'), 'sealpost tags of events');
    for (const text of ['', 'ab', 'ü', 'a'.repeat(64), 'a'.repeat(1_000)]) {
      t.equal(again!.sign(text), hmac(Buffer.from(KEY, 'hex'), text));
      t.equal(again!.tag(text), hmac(createHash('sha256').update(secret).digest(), text).slice(0, 32));
    }
    t.notMatch(KEY, again!.id);
    await t.rejects(openSealKeys({ texts: ['short'], command: undefined }, { fingerprint })(), {
      message: /^SEALPOST_SEAL_KEY does not hold 32 bytes/,
    });
  },
);

void t.test('a program outside signs; what it does wrong is said', async (t) => {
  const program = join(temporaryDirectory(t), 'sign.mjs');
  const opened = (body: string) => {
    writeFileSync(
      program,
      `import { createHmac, randomUUID } from 'node:crypto'; import { text } from 'node:stream/consumers'; const given = await text(process.stdin); ${body}`,
    );
    return openSealKeys({ texts: [], command: [process.execPath, program, 'argument'] }, { fingerprint });
  };
  const [key] = await opened(
    "console.log(createHmac('sha256', 'k').update(given).digest('base64') + process.argv[2] + (process.env.SEALPOST_SEAL_KEY ?? ''))",
  )();
  t.equal(key!.isOutside, true);
  t.match(await key!.sign('text'), /^[A-Za-z0-9+/=]{44}argument$/);
  for (const [body, message] of [
    ['console.log(randomUUID())', /two answers to the same bytes/],
    ["console.log('a'.repeat(5000)); setInterval(() => {}, 1000)", /more than 4096 bytes/],
    ["console.log('a'.repeat(2000))", /must answer with 1 to 1024/],
    ['', /must answer with/],
    ["console.log('two words')", /must answer with/],
    ['process.exit(3)', /ended with 3/],
  ] as const)
    await t.rejects(opened(body)(), { message });
  await t.rejects(openSealKeys({ texts: [], command: ['/nowhere/program'] }, { fingerprint })(), {
    message: /cannot be run \(ENOENT\)/,
  });
});

void t.test('seals are kept as lines and read again; lines that are none are passed over', async (t) => {
  const file = join(temporaryDirectory(t), 'seals.jsonl');
  t.equal((await keptSeals(file)).size, 0);
  const seal = { at: '2030-01-01T00:00:00.000Z', count: 2, key: 'id', mac: 'mac' };
  await keepSeal(file, { ...seal, position: 7, root: 'a'.repeat(64) });
  appendFileSync(file, `${'x'.repeat(10_000)}\n\n{"position":\n`);
  await keepSeal(file, { ...seal, position: 9, root: 'b'.repeat(64) });
  t.same(
    [...(await keptSeals(file))],
    [
      [7, 'a'.repeat(64)],
      [9, 'b'.repeat(64)],
    ],
  );
});
