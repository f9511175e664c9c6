/**
 * The machine whose clock is wrong: the time of day is off in every way of asking for it, and a given time stays what
 * it is.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';

const HOUR_MS = 3_600_000;
const preload = new URL('./shifted-clock.js', import.meta.url).href;
const program = `
const now = Date.now();
console.log(JSON.stringify({
  now, made: new Date().getTime(), text: Date.parse(Date()), given: new Date(5).getTime(), parsed: new Date('2026-01-02T03:04:05.006Z').toISOString(),
  utc: Date.UTC(2026, 0, 1), isDate: new Date() instanceof Date && structuredClone(new Date()) instanceof Date, name: Date.name,
}));`;

void t.test('the time of day is off by what it is told', async (t) => {
  for (const shiftMs of [HOUR_MS, -HOUR_MS]) {
    const before = Date.now();
    const env = { PATH: process.env['PATH'], CLOCK_SHIFT_MS: String(shiftMs) };
    const said = execFileSync(process.execPath, ['--import', preload, '--input-type=module', '-e', program], {
      env,
      encoding: 'utf8',
    });
    const { now, made, text, ...rest } = JSON.parse(said) as Record<'now' | 'made' | 'text', number>;
    const elapsedMs = Date.now() - before;
    for (const [what, ms] of Object.entries({ now, made, text: text + 999 }))
      t.ok(ms >= before + shiftMs && ms <= before + shiftMs + elapsedMs + 999, `${what} ${ms - before}`);
    t.same(rest, {
      given: 5,
      parsed: '2026-01-02T03:04:05.006Z',
      utc: Date.UTC(2026, 0, 1),
      isDate: true,
      name: 'Date',
    });
  }
});
