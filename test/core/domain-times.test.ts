/** One reader for every time that a caller writes. */
import t from 'tap';
import fc from 'fast-check';
import { isoTime, parseMoment, parseTime, requireTime } from '../../src/domain/core/time.js';

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
