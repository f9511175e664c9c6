/**
 * The findings of a body are counted while they are made: what is wrong a hundred thousand times costs what 200
 * findings cost.
 */
import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { ajvOptions, ownFormats } from '../../src/http/server/validation.js';
import type { JsonObject } from '../../src/domain/core/json.js';

const FINDINGS_MAX = 200;

/** In: a schema. Out: its check as the server makes it. */
const checkOf = async (t: Test, schema: JsonObject): Promise<(value: unknown) => number | undefined> => {
  const app = Fastify({ ajv: { customOptions: ajvOptions, onCreate: ownFormats } });
  t.teardown(() => app.close());
  const check = await new Promise<(value: unknown) => number | undefined>((resolve, reject) => {
    app.get('/', (request, reply) => {
      const validate = request.compileValidationSchema(schema);
      resolve((value) => (validate(value) ? undefined : (validate.errors?.length ?? 0)));
      return reply.send();
    });
    app.inject('/').catch(reject);
  });
  return check;
};

/** An array that counts how many of its elements were read. */
const counted = (elements: readonly unknown[]) => {
  let reads = 0;
  const array = new Proxy(elements, {
    get: (target, name, receiver): unknown => {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  return { array, reads: () => reads };
};

void t.test('of wrong elements no more are read than are found', async (t) => {
  const check = await checkOf(t, { type: 'object', properties: { ids: { type: 'array', items: { type: 'string' } } } });
  const wrong = counted(Array.from({ length: 98_000 }, () => 1));
  t.equal(check({ ids: wrong.array }), FINDINGS_MAX);
  t.equal(wrong.reads(), FINDINGS_MAX);
  t.equal(
    check({ ids: Array.from({ length: 98_000 }, () => 'a') }),
    undefined,
    'what is right is right, however much it is',
  );
  t.equal(check({ ids: Array.from({ length: 40 }, () => 1) }), 40, 'few are all found');
});

void t.test('unknown names and schemas that others refer to end as early', async (t) => {
  const names = await checkOf(t, { type: 'object', properties: {}, additionalProperties: false });
  t.equal(names(Object.fromEntries(Array.from({ length: 98_000 }, (_, at) => [`k${at}`, 1]))), FINDINGS_MAX);
  const referring = await checkOf(t, {
    type: 'array',
    items: { $ref: '#/definitions/named' },
    definitions: {
      named: { type: 'object', required: ['a', 'b'], properties: { tree: { $ref: '#/definitions/named' } } },
    },
  });
  const wrong = counted(Array.from({ length: 98_000 }, () => ({})));
  t.equal(referring(wrong.array), FINDINGS_MAX);
  t.equal(wrong.reads(), FINDINGS_MAX / 2);
});

void t.test('a time of megabytes is refused without being taken apart', async (t) => {
  const check = await checkOf(t, { type: 'string', format: 'date-time' });
  const lengths: number[] = [];
  const { split } = String.prototype;
  String.prototype.split = function (this: string, ...args: Parameters<typeof split>) {
    lengths.push(this.length);
    return split.apply(this, args);
  } as typeof split;
  t.teardown(() => void (String.prototype.split = split));
  const found = [
    check('2030-01-31T09:30:00Z'),
    check('2030-01-31T09:30:00.123456789+05:30'),
    check('2030-02-30T00:00:00Z'),
    check(' '.repeat(9_000_000)),
  ];
  String.prototype.split = split;
  t.same(found, [undefined, undefined, 1, 1]);
  t.ok(
    lengths.every((length) => length < 100),
    'only short texts were split',
  );
});

void t.test('a union of plain values, any number of times', async (t) => {
  const check = await checkOf(t, { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } });
  t.equal(
    check(Array.from({ length: 10_000 }, (_, at) => at)),
    undefined,
    'what the second branch takes is no finding',
  );
  t.equal(check(Array.from({ length: 10_000 }, () => true)), FINDINGS_MAX);
});
