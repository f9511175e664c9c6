/** How many events a second may be sent to one subscription. */
import t from 'tap';
import { openPace } from '../../src/processors/webhooks/courier.js';
import { fakeClock } from '../support/fake-clock.js';

const PER_SECOND_MAX = 100;

void t.test('a hundred at once, and then no more until a second after the first of them has passed', async (t) => {
  const clock = fakeClock();
  const pace = openPace(clock);
  for (let started = 0; started < PER_SECOND_MAX; started += 1) {
    t.ok(pace.mayStart());
    pace.started();
  }
  t.notOk(pace.mayStart());
  t.equal(pace.pauseMs(1), 1_000);
  await clock.advance(999);
  t.notOk(pace.mayStart());
  t.equal(pace.pauseMs(1), 1);
  await clock.advance(1);
  t.ok(pace.mayStart());
});

void t.test('what is started counts, not what is asked about, in each second wherever it begins', async (t) => {
  const clock = fakeClock();
  const pace = openPace(clock);
  const startedMs: number[] = [];
  for (let passedMs = 0; passedMs < 3_500; passedMs += 7) {
    for (let asked = 0; asked < 3 && pace.mayStart(); asked += 1) {
      pace.mayStart();
      pace.started();
      startedMs.push(clock.monotonic());
    }
    await clock.advance(7);
  }
  const withinSecond = startedMs.map((from) => startedMs.filter((at) => at >= from && at < from + 1_000).length);
  t.equal(Math.max(...withinSecond), PER_SECOND_MAX);
  t.ok(startedMs.length > 3 * PER_SECOND_MAX, 'and the whole share is used');
});

void t.test('the pause is as long as so many need', async (t) => {
  const clock = fakeClock();
  const pace = openPace(clock);
  for (let started = 0; started < PER_SECOND_MAX; started += 1) {
    pace.started();
    if (started === 49) await clock.advance(400);
  }
  t.equal(pace.pauseMs(1), 600);
  t.equal(pace.pauseMs(50), 600);
  t.equal(pace.pauseMs(51), 1_000);
});
