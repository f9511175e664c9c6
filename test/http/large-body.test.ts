/**
 * Large bodies are read in turns of the event loop, those of many members apart from it, and come out as small ones do.
 */
import t, { type Test } from 'tap';
import fc from 'fast-check';
import { Type } from '@sinclair/typebox';
import { canonicalJson } from '../../src/shared/text.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { BodyChecks, BodyToCheck } from '../../src/domain/ports/body-checks.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { parseJsonBody } from '../../src/http/server/json/body.js';
import checkApart from '../../src/http/server/json/body-checker.js';
import { LARGE_BODY_BYTES, readLargeBody, parseInTurns } from '../../src/http/server/json/large-body.js';
import { fakeServer } from './fakes.js';
import { turnsBeside } from '../support/loop-turns.js';

const schema = Type.Object({ note: Type.Optional(Type.String()) });

const apart = (given: BodyToCheck[] = []): BodyChecks => ({
  check: async (body) => {
    given.push(body);
    const answer = await checkApart(defaultLimits)(structuredClone(body));
    if (answer.kind === 'refused') throw new DomainError(answer.code, answer.message, answer.details);
    return answer;
  },
  close: async () => undefined,
});

type Read = Readonly<{ value?: unknown; canonical?: string; fault?: unknown }>;

const outcomeOf = async (work: () => unknown): Promise<Read> => {
  try {
    return { value: await work() };
  } catch (fault) {
    const { code, message, details } = fault as DomainError;
    return { fault: { code, message, details } };
  }
};

void t.test('inline and apart, every text is read as a small body is: the same value, the same fault', async () => {
  const read = async (text: string, jsonMembersInlineMax: number): Promise<Read> => {
    const limits = { ...defaultLimits, jsonMembersInlineMax };
    const options = { limits, bodyChecks: apart(), schema, team: 'team', isIdempotent: false };
    return outcomeOf(async () => (await readLargeBody(Buffer.from(text), options)).value);
  };
  const text = fc.oneof(
    fc.json({ maxDepth: 5 }),
    fc.constantFrom(
      '{"a":1,"a":2}',
      '[9007199254740993]',
      '{"a":',
      '{"__proto__":1}',
      '["\\ud800"]',
      '[1,]',
      `${'['.repeat(70)}${']'.repeat(70)}`,
      '\ufeff[]',
    ),
  );
  await fc.assert(
    fc.asyncProperty(text, async (given) => {
      const small = JSON.stringify(
        await outcomeOf(() => parseJsonBody(Buffer.from(given), { ...defaultLimits, jsonMembersMax: 500 })),
      );
      return JSON.stringify(await read(given, 500)) === small && JSON.stringify(await read(given, 0)) === small;
    }),
    { numRuns: 150 },
  );
});

void t.test('the canonical form is that of the value without its absent fields, wherever it is made', async (t) => {
  const text = JSON.stringify({ z: [1, 2, { b: 1, a: 'é' }], note: null, a: 1 });
  for (const jsonMembersInlineMax of [0, 50_000]) {
    const limits = { ...defaultLimits, jsonMembersInlineMax };
    const { value, canonical } = await readLargeBody(Buffer.from(text), {
      limits,
      bodyChecks: apart(),
      schema,
      team: 'team',
      isIdempotent: true,
    });
    t.same(value, { z: [1, 2, { b: 1, a: 'é' }], a: 1 });
    t.equal(Buffer.from(canonical!).toString(), canonicalJson(value));
  }
});

void t.test('the parts of the work have turns of their own, between which others are served', async (t) => {
  const options = { limits: defaultLimits, bodyChecks: apart(), schema, team: 'team', isIdempotent: true };
  const turns = await turnsBeside(() => readLargeBody(Buffer.from('{"a":1}'), options));
  t.ok(turns >= 6, `decoding, scan, parsing, checks, canonical form: ${turns} turns`);
});

void t.test('in turns, whatever their size, a text is read as JSON.parse reads it', async () => {
  // Without names that are one escape, which are refused before, and without a backslash in a name: once V8 has seen
  // one, it takes names that are written with an escape for it where the shapes are the same.
  const name = fc
    .oneof(fc.string({ maxLength: 3 }), fc.constantFrom('__proto__', '0', '1', 'a', 'b', '"a', '\n\n', 'é'))
    .filter((text) => !text.includes('\\') && (text.length !== 1 || JSON.stringify(text).length === 3));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.string(),
      fc.integer(),
      fc.constantFrom(null, true, ',', '[', ']}', '\\'),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(name, tie('value'), { maxKeys: 5 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(
      value,
      fc.nat(6),
      fc.nat(40),
      fc.constantFrom('', ' ', '\n  '),
      async (given, membersMax, bytesMax, blank) => {
        const text = `${blank}${JSON.stringify(given, undefined, blank)}${blank}`;
        const read = await parseInTurns(Buffer.from(text), { membersMax, bytesMax });
        return JSON.stringify(read) === JSON.stringify(JSON.parse(text));
      },
    ),
    { numRuns: 2_000 },
  );
  const twice = '{"a":1,"b":[1,{"c":2}],"a":3,"10":1,"2":[[],[[]]]}';
  t.equal(
    JSON.stringify(await parseInTurns(Buffer.from(twice), { membersMax: 1, bytesMax: 1 })),
    JSON.stringify(JSON.parse(twice)),
  );
});

void t.test('an object of many long names is read some thousands at a time', async (t) => {
  const text = JSON.stringify({
    big: Object.fromEntries(Array.from({ length: 98_000 }, (_, at) => [`${'n'.repeat(90)}${at}`, at])),
  });
  const lengths: number[] = [];
  const { parse } = JSON;
  JSON.parse = (...args) => {
    lengths.push(args[0].length);
    return parse(...args) as unknown;
  };
  t.teardown(() => void (JSON.parse = parse));
  const read = (await parseInTurns(Buffer.from(text))) as { big: Record<string, number> };
  JSON.parse = parse;
  t.equal(Object.keys(read.big).length, 98_000);
  t.ok(
    lengths.length >= 13 && Math.max(...lengths) < 1_000_000,
    `${lengths.length} parts of at most ${Math.max(...lengths)} characters`,
  );
});

const send = (variables: unknown): string =>
  JSON.stringify({ templateId: 'welcome', to: [{ email: 'a@example.com' }], variables });
const members = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));

const post = async (t: Test, payload: string) => {
  const server = await fakeServer();
  t.teardown(() => server.app.close());
  const response = await server.app.inject({
    method: 'POST',
    url: '/api/emails/send',
    headers: { authorization: 'Bearer unlimited', 'content-type': 'application/json', 'idempotency-key': 'one' },
    payload,
  });
  return { ...server, response };
};

void t.test('only a body of more than 50,000 members, or of long names, is checked apart', async (t) => {
  const few = await post(t, send({ data: members(49_000) }));
  t.equal(few.response.statusCode, 201);
  t.equal(few.checkedApart.length, 0);
  const many = await post(t, send({ data: members(60_000) }));
  t.equal(many.response.statusCode, 201);
  t.match(many.checkedApart, [{ isIdempotent: true }]);
  t.match(many.calls.at(-1)?.slice(1), [
    {},
    { variables: { data: { k59999: 59_999 } } },
    { key: 'one', canonical: Uint8Array },
  ]);
  const long = await post(t, send({ text: 'x'.repeat(LARGE_BODY_BYTES * 20) }));
  t.equal(long.checkedApart.length, 0, 'however long its texts are');
  const named = await post(
    t,
    send({ data: Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`${'n'.repeat(90)}${at}`, at])) }),
  );
  t.equal(named.response.statusCode, 201);
  t.equal(named.checkedApart.length, 1, 'names of more than 1 MiB');
  t.match(long.calls.at(-1)?.slice(1), [{}, {}, { key: 'one', canonical: String }]);
});

void t.test('what is wrong with it is said as of any other', async (t) => {
  const payload = send({ data: members(60_000) }).replace('"k59999":', '"k0":');
  const { response } = await post(t, payload);
  t.equal(response.statusCode, 400);
  t.match(response.json(), { code: 'VALIDATION_ERROR', errors: [{ field: 'variables.data.k0', message: /twice/ }] });
});

void t.test('a name that is one escape is told by the scan, wherever it stands', async (t) => {
  const options = { limits: defaultLimits, bodyChecks: apart(), schema, team: 'team', isIdempotent: false };
  for (const text of [
    '{"a":{"\\"":1}}',
    '{"a":[{"b":1,"\\u0041" :1}]}',
    '{"\\\\":1}',
    '{"\\n":"\\n"}',
    '{"text":"\\n"}',
    '{"text":"\\u0041","\\/":1}',
  ]) {
    const large = await outcomeOf(async () => (await readLargeBody(Buffer.from(text), options)).value);
    t.same(large, await outcomeOf(() => parseJsonBody(Buffer.from(text), defaultLimits)), text);
  }
});

void t.test('a call gives a template no more variables than may be copied', async (t) => {
  const most = await post(t, send(members(defaultLimits.variableNamesMax)));
  t.equal(most.response.statusCode, 201);
  for (const count of [defaultLimits.variableNamesMax + 1, 90_000]) {
    const { response, calls } = await post(t, send(members(count)));
    t.match(response.json(), {
      code: 'VALIDATION_ERROR',
      errors: [{ field: 'variables', message: 'must have at most 10000 fields' }],
    });
    t.equal(calls.filter(([name]) => name === 'sendEmail').length, 0);
  }
});
