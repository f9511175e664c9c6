/** Bodies of many members in processes of their own: checked, refused, and never the end of the service. */
import t from 'tap';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { openLogger } from '../../../../src/adapters/logger/pino.js';
import { openBodyChecks } from '../../../../src/adapters/render/workers/body-checks.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';

const file = new URL('../../../../src/http/server/json/body-checker.js', import.meta.url);
const open = (settings: unknown, module = file) =>
  openBodyChecks({ file: module, settings, clock: systemClock(), logger: openLogger({ level: 'silent' }) });

const bodyOf = (text: string) => ({
  bytes: Buffer.from(text),
  schema: { type: 'object', properties: { b: { type: 'string' } } },
  isIdempotent: true,
});

void t.test('a body crosses to a process and comes back in its canonical form, or as a refusal', async (t) => {
  const checks = open(defaultLimits);
  t.teardown(checks.close);
  const { canonical } = await checks.check(bodyOf('{"b":null,"c":1,"a":[true]}'), 'team');
  t.equal(Buffer.from(canonical!).toString(), '{"a":[true],"c":1}');
  t.same(await checks.check({ ...bodyOf('{}'), isIdempotent: false }, 'team'), { kind: 'checked' });
  await t.rejects(checks.check(bodyOf('{"a":1,"a":2}'), 'team'), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'a', message: /twice/ }] },
  });
  await t.rejects(checks.check(bodyOf('{"a":'), 'team'), {
    code: 'MALFORMED_JSON',
    details: { relatedInfo: { line: 1, column: 6 } },
  });
});

void t.test('the largest body of the most members is within the memory of a process', async (t) => {
  const checks = open(defaultLimits);
  t.teardown(checks.close);
  const name = 'n'.repeat(90);
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 99_000 }, (_, at) => [`${name}${at}`, ''])));
  t.ok(text.length > 9_500_000);
  const { canonical } = await checks.check(bodyOf(text), 'team');
  t.equal(canonical!.length, text.length);
});

void t.test('a process that ends with its body refuses that body alone', async (t) => {
  const checks = open(defaultLimits, new URL('./body-checks-that-fail.js', import.meta.url));
  t.teardown(checks.close);
  await t.rejects(checks.check(bodyOf('{"ends":1}'), 'team'), { code: 'JSON_TOO_COMPLEX' });
  t.same(await checks.check(bodyOf('{}'), 'team'), { kind: 'checked' });
});

void t.test('once closed it asks to come again', async (t) => {
  const checks = open(defaultLimits);
  await checks.close();
  await t.rejects(checks.check(bodyOf('{}'), 'team'), { code: 'TOO_MANY_LARGE_BODIES', details: { retryAfterS: 2 } });
});
