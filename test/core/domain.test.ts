/** Small modules of the domain's core. */
import fc from 'fast-check';
import t from 'tap';
import {
  apiKeyStream,
  emailIdOfFingerprint,
  emailStream,
  assertDefined,
  parseApiKeyId,
  parseEmailId,
  parseTeamId,
  parseTemplateId,
  splitStream,
  teamStream,
  templateSlugStream,
  templateStream,
  uuidV5,
} from '../../src/domain/core/ids.js';
import { decodeBase64 } from '../../src/domain/core/json.js';
import {
  type WorkerHealth,
  healthCodes,
  readinessOf,
  type HealthCode,
  type PartsHealth,
} from '../../src/domain/core/readiness.js';
import { foldForSearch, ideographsIn, isIdeographic, isSearchable } from '../../src/domain/core/search-text.js';
import { isoTime, parseMoment, parseTime, requireTime } from '../../src/domain/core/time.js';

// Base64 has one form for each sequence of bytes; every other text is refused.

void t.test('what is taken is what its bytes are written as', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) =>
      decodeBase64(Buffer.from(bytes).toString('base64'))!.equals(Buffer.from(bytes)),
    ),
  );
  const near = fc.string({ unit: fc.constantFrom(...'AQgwBCabz09+/=-_ \n'), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => {
      const bytes = decodeBase64(text);
      return bytes === undefined
        ? Buffer.from(text, 'base64').toString('base64') !== text
        : bytes.toString('base64') === text;
    }),
    { numRuns: 5_000 },
  );
});

void t.test('line breaks, missing padding and bits that stand for nothing are refused', async (t) => {
  for (const text of [
    'aGk=\n',
    'aGk=\r\n',
    '\naGk=',
    'aG\nk=',
    'aGk',
    'aGl=',
    'aR==',
    'aGk==',
    '=',
    'aGk=aGk=',
    'a-_=',
  ]) {
    t.equal(decodeBase64(text), undefined, JSON.stringify(text));
  }
  t.same(decodeBase64('aGk='), Buffer.from('hi'));
  t.same(decodeBase64(''), Buffer.alloc(0));
});

// Ids: only well-formed ones get in, and derived ones are the same everywhere and different for different parts.

const UUID = '0198f000-0000-7000-8000-00000000000a';

void t.test('a UUID in any letter case becomes an id in lower case; anything else is none', async (t) => {
  for (const parse of [parseEmailId, parseTeamId, parseTemplateId]) {
    t.equal(parse(UUID), UUID);
    t.equal(parse(UUID.toUpperCase()), UUID);
    for (const wrong of [
      '',
      'x',
      UUID.slice(1),
      `${UUID}0`,
      ` ${UUID}`,
      `${UUID}\n`,
      UUID.replaceAll('-', ''),
      UUID.replace('a', 'g'),
      `{${UUID}}`,
    ])
      t.equal(parse(wrong), undefined, JSON.stringify(wrong));
  }
  t.equal(parseApiKeyId('key_AAAAAAAAAAAAAAAAAAAAAA'), 'key_AAAAAAAAAAAAAAAAAAAAAA');
  for (const wrong of [
    '',
    'key_',
    'key_AAAAAAAAAAAAAAAAAAAAA',
    'key_AAAAAAAAAAAAAAAAAAAAAAA',
    'KEY_AAAAAAAAAAAAAAAAAAAAAA',
    'key_AAAAAAAAAAAAAAAAAAAAA=',
    UUID,
  ])
    t.equal(parseApiKeyId(wrong), undefined, wrong);
  t.throws(() => assertDefined(undefined, 'team id'), { message: 'not a well-formed team id' });
});

void t.test('derived ids stay what they are for ever', async (t) => {
  // Kept from the first run: another value would lose the emails of every Idempotency-Key in use.
  t.equal(uuidV5('email', 'a', 'b'), '1c3d4f88-006f-5d06-a8fe-fda712bc99cc');
  t.equal(uuidV5(), '7453a95c-1f8c-55b4-8f4f-30365579ddf5');
  t.equal(emailIdOfFingerprint('00112233445566778899aabbccddeeff'.repeat(2)), '00112233-4455-8677-8899-aabbccddeeff');
});

void t.test('a derived id is a UUID of version 5, and no two lists of parts share one', async () => {
  const parts = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 4 });
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const [idA, idB] = [uuidV5(...a), uuidV5(...b)];
      if (!/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(idA))
        throw new Error(`${idA} is no UUID of version 5`);
      if ((idA === idB) !== (JSON.stringify(a) === JSON.stringify(b)))
        throw new Error('two lists of parts share an id, or one has two');
    }),
    { numRuns: 2_000 },
  );
  // The joints between parts matter, whatever stands in them.
  const text = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom('a', '|', ':', '1', '2') });
  fc.assert(
    fc.property(text, fc.nat(8), fc.nat(8), (whole, i, j) => {
      const split = (at: number) => [whole.slice(0, at), whole.slice(at)] as const;
      if ((uuidV5(...split(i)) === uuidV5(...split(j))) !== (split(i)[0] === split(j)[0]))
        throw new Error('a part ends where another begins');
    }),
    { numRuns: 2_000 },
  );
});

void t.test('streams are named by kind and id', async (t) => {
  const team = assertDefined(parseTeamId(UUID), 'team');
  t.equal(emailStream(assertDefined(parseEmailId(UUID), 'email')), `email-${UUID}`);
  t.equal(templateStream(assertDefined(parseTemplateId(UUID), 'template')), `template-${UUID}`);
  t.equal(teamStream(team), `team-${UUID}`);
  t.equal(
    apiKeyStream(assertDefined(parseApiKeyId('key_AAAAAAAAAAAA-AAAAAAAAA'), 'key')),
    'apiKey-key_AAAAAAAAAAAA-AAAAAAAAA',
  );
  t.not(templateSlugStream(team, 'a'), templateSlugStream(team, 'b'));
  t.same(splitStream(`email-${UUID}`), { kind: 'email', id: UUID });
  t.same(splitStream('apiKey-key_AAAAAAAAAAAA-AAAAAAAAA'), { kind: 'apiKey', id: 'key_AAAAAAAAAAAA-AAAAAAAAA' });
  t.same(splitStream('ledger'), { kind: 'ledger', id: '' });
});

// Conditions that make a service unavailable or degraded, and the reason that is given for each.

const relay: WorkerHealth = { name: 'relay', state: 'running', restarts: 0, lastFault: null };
const sound: PartsHealth = {
  accepting: true,
  workers: [relay],
  log: { unreadableEvents: 0, unknownEvent: null },
  noted: [],
};
const restarting = (restarts: number, lastFault: string, name = 'relay'): PartsHealth => ({
  ...sound,
  workers: [{ name, state: 'restarting', restarts, lastFault }],
});

void t.test('a sound service is ready, without a reason', async (t) => {
  t.same(readinessOf(sound), { status: 'ready', reasons: [] });
});

void t.test('each reason has its code and its weight', async (t) => {
  const cases: Readonly<Partial<Record<HealthCode, PartsHealth>>> = {
    STOPPING: { ...sound, accepting: false },
    STARTING: { ...sound, workers: [{ ...relay, state: 'starting' }] },
    WORKER_STOPPED: { ...sound, workers: [{ ...relay, state: 'stopped' }] },
    STORE_DAMAGED: restarting(1, 'SQLITE_CORRUPT_VTAB', 'project-emails'),
    DELIVERY_FAILS: restarting(3, 'TypeError'),
    WORKER_RESTARTING: restarting(1, 'TypeError'),
    WORK_STUCK: { ...sound, workers: [{ ...relay, stuckWork: 3, lastFault: 'KEY_MISSING' }] },
    EVENTS_UNREADABLE: { ...sound, log: { unreadableEvents: 2, unknownEvent: null } },
    EVENTS_UNKNOWN: { ...sound, log: { unreadableEvents: 0, unknownEvent: { position: 7, type: 'EmailQueued.v9' } } },
  };
  for (const [code, known] of Object.entries(cases) as [HealthCode, PartsHealth][]) {
    const { status, reasons } = readinessOf(known);
    t.same([status, reasons.map((reason) => reason.code)], [healthCodes[code], [code]]);
    t.notMatch(reasons[0]!.message, /undefined|null/);
  }
  for (const code of Object.keys(healthCodes) as HealthCode[])
    t.equal(readinessOf({ ...sound, noted: [{ code, message: 'noted' }] }).status, healthCodes[code]);
});

void t.test('a worker without which mail still leaves may fail as often as it likes', async (t) => {
  t.equal(readinessOf(restarting(30, 'TypeError', 'sweep')).status, 'degraded');
});

void t.test('the gravest reason decides', async (t) => {
  const both = { ...restarting(1, 'TypeError'), noted: [{ code: 'COMMITS_FAIL' as const, message: 'full' }] };
  t.equal(readinessOf(both).status, 'unavailable');
  t.equal(readinessOf({ ...both, accepting: false }).status, 'stopping');
});

// The rule by which searches compare: what people take for the same text is one, and folding is done once and for all.

void t.test('what is the same but for its letter case or its encoding is one text', async (t) => {
  for (const [one, ...others] of [
    ['Straße', 'STRASSE', 'strasse', 'STRAẞE'],
    ['İstanbul', 'istanbul', 'ISTANBUL', 'ıstanbul', 'I\u0307stanbul'],
    ['ΟΔΟΣ', 'οδος', 'οδοσ'],
    ['Zoë', 'zoe\u0308', 'ZOË'],
    ['한국어', '한국어'.normalize('NFD')],
    ['ガス', 'ｶﾞｽ', 'カ\u3099ス'],
    ['ABC', 'ＡＢＣ', 'abc'],
    ['ﬁnal', 'final', 'FINAL'],
    ['a b', 'a\u00a0b', 'a\tb', 'a\nb', 'a\u2028b'],
  ] as const) {
    for (const other of others)
      t.equal(foldForSearch(other), foldForSearch(one), `${one} ${encodeURIComponent(other)}`);
  }
  t.not(foldForSearch('Zoe'), foldForSearch('Zoë'), 'a letter with an accent is its own');
  t.equal(foldForSearch('\ud800x'), '\ufffdx');
});

void t.test(
  'every character: folded twice as once, and like its capital, its small letter and its decomposition',
  async (t) => {
    const wrong: string[] = [];
    for (let point = 0; point <= 0x10ffff; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const character = String.fromCodePoint(point);
      const folded = foldForSearch(character);
      const alike = [
        folded,
        character.toLowerCase(),
        character.toUpperCase(),
        character.normalize('NFD'),
        character.normalize('NFC'),
      ];
      if (!alike.every((other) => foldForSearch(other) === folded)) wrong.push(point.toString(16));
    }
    t.same(wrong, []);
  },
);

void t.test('any text: folded twice as once', async () => {
  const hard = fc.constantFrom(
    'i',
    'I',
    'İ',
    'ı',
    '\u0307',
    '\u0323',
    'ß',
    'ẞ',
    'Σ',
    'ς',
    'σ',
    ' ',
    '\u0301',
    'ᾳ',
    '\u0345',
    'Ǆ',
    'ᄀ',
    'ᅡ',
    'ŉ',
    'a',
  );
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: hard, maxLength: 12 }), fc.string({ unit: 'binary' })), (text) => {
      const folded = foldForSearch(text);
      return foldForSearch(folded) === folded;
    }),
    { numRuns: 3_000 },
  );
});

void t.test('two characters are searched for, or one that is ideographic', async (t) => {
  for (const text of ['ab', ' a', '漢', '字', 'あ', 'ア', '한', 'ㄅ', '😀😀', '𠮷']) t.ok(isSearchable(text), text);
  for (const text of ['', 'a', ' ', 'é', '😀', '1']) t.notOk(isSearchable(text), text);
  t.ok(isIdeographic('漢'));
  t.notOk(isIdeographic('漢字'));
  t.same(ideographsIn('漢a字 漢𠮷 ガ'), ['漢', '字', '𠮷', 'ガ']);
  t.same(ideographsIn('Ärger'), []);
});

// One reader for every time that a caller writes.

void t.test('each spelling of a time that ISO 8601 allows is one moment', (t) => {
  for (const [text, moment] of [
    ['2027-01-15T09:00+01:00', '2027-01-15T08:00:00.000Z'],
    ['2027-01-15T10:00:00+02', '2027-01-15T08:00:00.000Z'],
    ['2027-01-15T10:00:00+0200', '2027-01-15T08:00:00.000Z'],
    ['2027-01-15t08:00:00z', '2027-01-15T08:00:00.000Z'],
    ['2027-01-15 08:00Z', '2027-01-15T08:00:00.000Z'],
    ['2027-01-15T08:00:00.123456789Z', '2027-01-15T08:00:00.123Z'],
    ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00.000Z'],
  ] as const)
    t.equal(parseTime(text), moment, text);
  t.same(
    [parseMoment('2027-01-15', 'start'), parseMoment('2027-01-15', 'end')],
    ['2027-01-15T00:00:00.000Z', '2027-01-15T23:59:59.999Z'],
  );
  t.end();
});

void t.test('what is no time is read as none, and told by its field', (t) => {
  for (const text of [
    '2027-01-15',
    '2027-01-15T08:00',
    '2027-02-30T08:00Z',
    '2027-01-15T08:00:60Z',
    '2027-01-15T25:00Z',
    '2027-01-15T08:00:00 01:00',
    '0000-01-01T00:00+23:00',
    '9999-12-31T23:59-23:00',
    '2027-01-15T08:00+1',
    'tomorrow',
    '',
  ])
    t.equal(parseTime(text), undefined, text);
  t.throws(() => requireTime('until', '2027-13-01T00:00Z'), {
    code: 'VALIDATION_ERROR',
    message: /`until` must be an ISO 8601 time/,
  });
  t.end();
});

void t.test('any text gives a time in the one form, or none', (t) => {
  const digits = (max: number) => fc.integer({ min: 0, max }).map((number) => String(number).padStart(2, '0'));
  const near = fc
    .tuple(
      digits(13),
      digits(32),
      digits(25),
      digits(61),
      digits(61),
      fc.constantFrom('Z', '+01', '-23:59', '+99:99', '', ' 01:00'),
    )
    .map(([month, day, hour, minute, second, zone]) => `2027-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  fc.assert(
    fc.property(fc.oneof(near, fc.string()), (text) => {
      const time = parseTime(text);
      return (
        time === undefined ||
        (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time) && isoTime(Date.parse(time)) === time)
      );
    }),
    { numRuns: 2_000 },
  );
  t.end();
});
