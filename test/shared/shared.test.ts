/** The modules of src/shared. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { boundedCache } from '../../src/shared/cache.js';
import {
  openFairSlots,
  type FairSlotsOptions,
  type SlotRequest,
  gathered,
  nextTurn,
  openShares,
} from '../../src/shared/concurrency.js';
import { replaceDurably } from '../../src/shared/files.js';
import { tellingFaults } from '../../src/shared/port-faults.js';
import { canonicalJson, NAME, nameFault, TEXT, editDistance } from '../../src/shared/text.js';
import { temporaryDirectory } from '../support/data-directory.js';

// The bounds of a cache, in entries and in size.

await t.test('the entry that was not used for longest goes first', async (t) => {
  const cache = boundedCache<string, number>({ entriesMax: 2 });
  cache.set('a', 1);
  cache.set('b', 2);
  t.equal(cache.get('a'), 1);
  cache.set('c', 3);
  t.same([cache.get('a'), cache.get('b'), cache.get('c')], [1, undefined, 3]);
  t.equal(cache.entries(), 2);
  cache.delete('a');
  t.equal(cache.get('a'), undefined);
  cache.clear();
  t.equal(cache.entries(), 0);
});

await t.test('all values together stay within the size, and one that alone is larger is not kept', async (t) => {
  const cache = boundedCache<string, string>({
    entriesMax: 10,
    size: { max: 10, of: (text, key) => text.length + key.length },
  });
  cache.set('a', '1234');
  cache.set('b', '1234');
  t.equal(cache.entries(), 2);
  cache.set('c', '1');
  t.equal(cache.get('a'), undefined);
  cache.set('d', 'longer than ten');
  t.same([cache.get('b'), cache.get('c'), cache.get('d')], ['1234', '1', undefined]);
});

await t.test('a value is made once for its key', async (t) => {
  const cache = boundedCache<object, object>({ entriesMax: 10 });
  const key = {};
  let made = 0;
  const make = () => ({ made: (made += 1) });
  t.equal(cache.getOrMake(key, make), cache.getOrMake(key, make));
  t.equal(made, 1);
});

// The canonical form of JSON: the vectors of RFC 8785, and the law that it is a form of the same value.

void t.test('the vectors of RFC 8785', async (t) => {
  const numbers =
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"literals":[null,true,false]}';
  t.equal(
    canonicalJson(JSON.parse(numbers)),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
    'section 3.2.2',
  );
  const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
  t.same(
    Object.keys(Object.fromEntries(names.map((name) => [`_${name}`, 0]))).sort(),
    ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'].map((name) => `_${name}`),
  );
  t.equal(
    canonicalJson(Object.fromEntries(names.map((name) => [name, 0]))),
    `{${['\\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'].map((name) => `"${name}":0`).join(',')}}`,
    'section 3.2.3',
  );
  t.equal(canonicalJson({ 10: 1, 9: 2 }), '{"10":1,"9":2}', 'names made of digits are ordered as texts');
});

void t.test('it is the same value, and the same text for any order of members', async () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, shuffled(member)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = canonicalJson(value);
      return (
        JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(canonicalJson(shuffled(value)))) &&
        text === canonicalJson(shuffled(value))
      );
    }),
  );
});

// The one rule of names: what a name may not be, and that it is told in time that grows with its length alone.

const CONTROLS = 'must not hold control characters or line breaks';
const TURNS = 'must not hold characters that turn the direction of text (U+202A to U+202E, U+2066 to U+2069)';
const UNSEEN = 'must have a visible character';

/** As in a pattern. */
const FIRST_PLANE =
  '\\s\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufffb';

const oneOf = (characters: string): RegExp => new RegExp(`^[${characters}]$`);

/** The reports of tests are lines of text. */
const escape = (text: string): string =>
  text.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

void t.test('control characters, turned text and invisible names are refused, each by its own sentence', async (t) => {
  for (const [name, fault] of [
    ['Ada', undefined],
    ['', undefined],
    ['Größe 😀 محمد \u200f(שלום)', undefined],
    ['👩\u200d👩\u200d👧', undefined],
    ['\u200bAda\u2060', undefined],
    ['a\u0000', CONTROLS],
    ['a\u007fb', CONTROLS],
    ['a\nb', CONTROLS],
    ['a\u0085b', CONTROLS],
    ['a\u2028b', CONTROLS],
    ['invoice\u202efdp.exe', TURNS],
    ['\u2066a\u2069', TURNS],
    ['\u202e', TURNS],
    [' ', UNSEEN],
    ['\u00a0\u3000', UNSEEN],
    ['\u200b', UNSEEN],
    ['\u2060\ufeff\u00ad', UNSEEN],
    ['\u3164', UNSEEN],
    ['\u2800\ufe0f', UNSEEN],
    ['\u{e0001}\u{e0041}\u{e007f}', UNSEEN],
    ['\u{e0100}\u{e01ef} ', UNSEEN],
    ['\u{1d173}\u{1d17a}', UNSEEN],
    ['\u{1bca0}\u{1bca3}', UNSEEN],
    ['a\u{e0100}', undefined],
    ['\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', undefined],
    ['\u2764\ufe0f', undefined],
    ['1\ufe0f\u20e3', undefined],
    ['葛\u{e0100}城', undefined],
  ] as const) {
    t.equal(nameFault(name), fault, escape(name));
    // A check of JSON Schema reads patterns by characters.
    t.equal(new RegExp(NAME, 'u').test(name), fault === undefined, `as a pattern: ${escape(name)}`);
  }
});

void t.test(
  'of each character of its own: what was invisible in the first plane is, and so is all that Unicode does not show',
  async (t) => {
    const before = oneOf(FIRST_PLANE);
    const taken: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      const isUnseen = before.test(character) || /^\p{Default_Ignorable_Code_Point}$/u.test(character);
      if (isUnseen && nameFault(character) === undefined) taken.push(code.toString(16));
    }
    t.same(taken, []);
  },
);

void t.test('text of several lines holds tabs and line breaks, and no other control characters', async (t) => {
  const text = new RegExp(TEXT, 'u');
  for (const fine of ['', 'one\ntwo\r\n\tthree', '\u202e']) t.ok(text.test(fine), escape(fine));
  for (const wrong of ['a\u0000', '\u001b[31m', '\u0085']) t.notOk(text.test(wrong), escape(wrong));
});

void t.test('a name of megabytes is refused at once, whatever it is of', async (t) => {
  for (const part of ['a', ' ', '\u200b', 'a ']) t.equal(nameFault(`${part.repeat(3_000_000)}\u0000`), CONTROLS);
  t.equal(nameFault(' '.repeat(3_000_000)), UNSEEN);
});

// A durable replacement is on the disk before its name is, and its name is before the call returns.

type Calls = 'openSync' | 'writeSync' | 'fsyncSync' | 'renameSync';

/** Every call of these, in order, with the file that it is of. */
const recorded = (t: Test): readonly string[] => {
  const calls: string[] = [];
  const files = new Map<number, string>();
  const { openSync, writeSync, fsyncSync, renameSync } = fs;
  const restore = { openSync, writeSync, fsyncSync, renameSync } satisfies Pick<typeof fs, Calls>;
  const patched = {
    openSync: (...given: Parameters<typeof openSync>) => {
      const handle = openSync(...given);
      files.set(handle, String(given[0]));
      return handle;
    },
    writeSync: (handle: number, text: string) => {
      calls.push(`write ${files.get(handle)}`);
      return writeSync(handle, text);
    },
    fsyncSync: (handle: number) => {
      calls.push(`sync ${files.get(handle)}`);
      fsyncSync(handle);
    },
    renameSync: (from: string, to: string) => {
      calls.push(`rename to ${to}`);
      renameSync(from, to);
    },
  };
  Object.assign(fs, patched);
  syncBuiltinESMExports();
  t.teardown(() => {
    Object.assign(fs, restore);
    syncBuiltinESMExports();
  });
  return calls;
};

void t.test('the text is synced, then renamed, then the directory is synced', async (t) => {
  const file = join(temporaryDirectory(t), 'state.json');
  fs.writeFileSync(`${file}.partial`, 'what a crash has left');
  const calls = recorded(t);
  replaceDurably(file, 'one');
  replaceDurably(file, 'two');
  const once = [`write ${file}.partial`, `sync ${file}.partial`, `rename to ${file}`, `sync ${dirname(file)}`];
  t.same(calls, [...once, ...once]);
  t.equal(fs.readFileSync(file, 'utf8'), 'two');
  t.equal(fs.statSync(file).mode & 0o777, 0o600);
  t.notOk(fs.existsSync(`${file}.partial`));
});

void t.test('the edit distance counts letters, and two that change places once', async (t) => {
  t.equal(editDistance('', ''), 0);
  t.equal(editDistance('same', 'same'), 0);
  t.equal(editDistance('', 'abc'), 3);
  t.equal(editDistance('abc', ''), 3);
  t.equal(editDistance('kitten', 'sitting'), 3);
  t.equal(editDistance('subject', 'sujbect'), 2, 'two letters changed places');
});

// Slots that tenants share: none has them all, those that wait take turns, and a full queue takes from the longest.

const never = new AbortController().signal;

/** Notes in which order requests are served; a request is named by its tenant and a number. */
const opened = (options: FairSlotsOptions) => {
  const slots = openFairSlots(options);
  const served: string[] = [];
  const full: string[] = [];
  const note = (name: string, how: SlotRequest): void => {
    if (how === 'acquired') served.push(name);
    if (how === 'full') full.push(name);
  };
  const ask = (name: string, signal = never): void => {
    const how = slots.acquire(name.slice(0, 1), signal);
    if (typeof how === 'string') note(name, how);
    else void how.then((settled) => note(name, settled));
  };
  /** Gives one slot of the tenant back, and lets those who waited hear of it. */
  const release = async (tenant: string): Promise<void> => {
    slots.release(tenant);
    await Promise.resolve();
    await Promise.resolve();
  };
  return { slots, served, full, ask, release };
};

const numbered = (tenant: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${tenant}${index}`);

void t.test('twelve requests of one tenant leave a slot to another, which waits for none of them', async (t) => {
  const { served, ask, release, slots } = opened({ slotsMax: 2, shareMax: 1, queueMax: 32 });
  for (const name of numbered('a', 12)) ask(name);
  t.same(served, ['a0']);
  t.equal(slots.waiting(), 11);
  ask('b0');
  t.same(served, ['a0', 'b0'], 'served before the second of the twelve');
  await release('b');
  t.same(served, ['a0', 'b0'], 'and its slot goes to none of them');
  ask('b1');
  t.same(served, ['a0', 'b0', 'b1']);
});

void t.test('those that wait take turns, in each tenant in the order in which they came', async (t) => {
  const { served, ask, release } = opened({ slotsMax: 1, shareMax: 1, queueMax: 32 });
  for (const name of [...numbered('a', 4), ...numbered('b', 2), ...numbered('c', 1)]) ask(name);
  for (const holder of ['a', 'a', 'b', 'c', 'a', 'b']) await release(holder);
  t.same(
    served,
    ['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3'],
    'a tenant that came late waits for one turn of each other',
  );
});

void t.test('who holds fewest comes first, and no slot stays free while somebody may have it', async (t) => {
  const { served, ask, release } = opened({ slotsMax: 3, shareMax: 2, queueMax: 32 });
  for (const name of [...numbered('a', 4), ...numbered('b', 3), ...numbered('c', 1)]) ask(name);
  t.same(served, ['a0', 'a1', 'b0']);
  await release('b');
  t.same(served.slice(3), ['b1'], 'b holds none and asked before c');
  await release('b');
  t.same(served.slice(4), ['c0'], 'then it is the turn of c');
  ask('a4');
  await release('a');
  t.same(served.slice(5), ['b2'], 'b holds none, a still one');
  await release('c');
  t.same(served.slice(6), ['a2'], 'nobody else waits');
  await release('b');
  t.same(served.slice(7), [], 'a has its share: the last slot stays free for the others');
  await release('a');
  t.same(served.slice(7), ['a3']);
});

void t.test('a full queue takes from the tenant with the most in it, and from nobody else', async (t) => {
  const { served, full, ask, slots, release } = opened({ slotsMax: 1, shareMax: 1, queueMax: 4 });
  for (const name of numbered('a', 6)) ask(name);
  t.same(full, ['a5'], 'one tenant may fill it, but not more');
  ask('b0');
  ask('b1');
  await Promise.resolve();
  t.same(full, ['a5', 'a4', 'a3'], 'the last of the longest goes');
  ask('b2');
  t.same(full, ['a5', 'a4', 'a3', 'b2'], 'nothing is gained by filling it from the other side');
  t.equal(slots.waiting(), 4);
  for (const holder of ['a', 'a', 'b', 'a']) await release(holder);
  t.same(served, ['a0', 'a1', 'b0', 'a2', 'b1']);
});

void t.test('who gives up leaves the queue; a slot that is not held cannot be given back', async (t) => {
  const { served, ask, release, slots } = opened({ slotsMax: 1, shareMax: 1, queueMax: 4 });
  const left = new AbortController();
  ask('a0');
  ask('b0', left.signal);
  ask('a1');
  left.abort();
  t.equal(slots.waiting(), 1);
  t.equal(slots.acquire('b', left.signal), 'aborted');
  await release('a');
  await release('a');
  t.same(served, ['a0', 'a1']);
  t.throws(() => slots.release('a'), /not held/);
});

// Calls that share the next run of a work: how many runs there are, and whom a failure reaches.

void t.test('calls of one turn share a run, and those that come while it is under way share the next', async (t) => {
  const runs: { items: string[]; end: () => void }[] = [];
  const call = gathered<string, number>(
    (items) => new Promise((resolve) => void runs.push({ items: [...items], end: () => resolve(runs.length) })),
  );
  const first = [call(['a']), call(['b', 'a'])];
  await Promise.resolve();
  await Promise.resolve();
  t.same(
    runs.map(({ items }) => items),
    [['a', 'b']],
  );
  const later = [call(['c']), call(['d'])];
  runs[0]!.end();
  t.same(await Promise.all(first), [1, 1]);
  await Promise.resolve();
  t.same(runs[1]?.items, ['c', 'd']);
  runs[1]!.end();
  t.same(await Promise.all(later), [2, 2]);
});

void t.test('a failure reaches those who shared the run, and the next run begins', async (t) => {
  let runs = 0;
  const call = gathered<string, number>(async () => {
    runs += 1;
    if (runs === 1) throw new Error('away');
    return runs;
  });
  const [one, two] = [call(['a']), call(['b'])];
  await t.rejects(one, { message: 'away' });
  await t.rejects(two, { message: 'away' });
  t.equal(await call(['a']), 2);
});

// Turns of the event loop: heavy parts of many callers never share one.

void t.test('of those that wait one goes on in each turn of the loop, in the order in which they came', async (t) => {
  const seen: string[] = [];
  const count = (): void => {
    seen.push('turn');
    if (seen.length < 12) setImmediate(count);
  };
  const part = async (name: string): Promise<void> => {
    await nextTurn();
    seen.push(name);
  };
  const parts = Promise.all(['a', 'b', 'c'].map(part)).then(() => part('d'));
  setImmediate(count);
  await parts;
  t.same(seen.filter((what, at) => what !== 'turn' || seen[at - 1] !== 'turn').slice(0, 7), [
    'a',
    'turn',
    'b',
    'turn',
    'c',
    'turn',
    'd',
  ]);
});

void t.test('what waits after nobody has waited for a while goes on as well', async () => {
  await nextTurn();
  await new Promise((resolve) => void setImmediate(resolve));
  await nextTurn();
});

// Faults of a port, of the ports that it answers, and of its iterations pass through one function.

class Away extends Error {
  override readonly name = 'Away';
}

const fails = (): never => {
  throw new Error('no route');
};

const tell = (fault: unknown): unknown => (fault instanceof Error && fault.message === 'no route' ? new Away() : fault);

void t.test('what is thrown, rejected, and what comes out of iterations and answered ports', async (t) => {
  const port = tellingFaults(
    {
      name: 'a port',
      sync: () => fails(),
      late: async () => fails(),
      other: async () => Promise.reject(new RangeError('not ours')),
      all: async function* () {
        yield 1;
        fails();
      },
      inner: async () => ({ read: async () => fails(), deeper: { scan: () => fails() } }),
    },
    tell,
  );
  t.equal(port.name, 'a port');
  t.throws(() => port.sync(), Away);
  await t.rejects(port.late(), Away);
  await t.rejects(port.other(), RangeError);
  const seen: unknown[] = [];
  await t.rejects(async () => {
    for await (const value of port.all()) seen.push(value);
  }, Away);
  t.same(seen, [1]);
  const inner = await port.inner();
  await t.rejects(inner.read(), Away);
  t.throws(() => inner.deeper.scan(), Away);
});

void t.test('answers are passed on as they are, with a promise or without', async (t) => {
  const data = { a: 1, list: [1] };
  const map = new Map([['a', () => 1]]);
  let isClosed = false;
  const port = tellingFaults(
    {
      now: () => data,
      soon: async () => map,
      all: async function* () {
        try {
          yield 1;
          yield 2;
        } finally {
          isClosed = true;
        }
      },
    },
    tell,
  );
  t.equal(port.now(), data);
  t.equal(await port.soon(), map);
  for await (const value of port.all()) {
    t.equal(value, 1);
    break;
  }
  t.ok(isClosed, 'an iteration that is left ends the one behind it');
});

// Turns by shares.

void t.test('while all wait each is given its share, evenly spread; one that does not wait is owed nothing', (t) => {
  const shares = openShares(['high', 'normal', 'low'], { high: 8, normal: 3, low: 1 });
  const taken = Array.from({ length: 24 }, () => shares.next(() => true));
  for (const [name, count] of [
    ['high', 16],
    ['normal', 6],
    ['low', 2],
  ] as const)
    t.equal(taken.filter((one) => one === name).length, count);
  t.equal(taken[0], 'high');
  t.same(
    Array.from({ length: 5 }, () => shares.next((name) => name === 'low')),
    ['low', 'low', 'low', 'low', 'low'],
  );
  t.equal(
    shares.next(() => true),
    'high',
    'what was not waiting is not owed the past',
  );
  t.equal(
    shares.next(() => false),
    undefined,
  );
  t.end();
});
