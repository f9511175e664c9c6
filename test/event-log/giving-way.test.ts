/** When a reader of the log passes over events of a newer program, and when it stops for that program. */
import t from 'tap';
import { GIVE_WAY_MS, openGivingWay } from '../../src/event-log/decode.js';

const opened = () => {
  let nowMs = 0;
  const givingWay = openGivingWay({ monotonic: () => nowMs });
  return { ...givingWay, at: (ms: number) => void (nowMs = ms) };
};

void t.test('it stops until the newer program has had its time, then passes over all up to the head', async (t) => {
  const { begin, passes, at } = opened();
  begin(20);
  t.equal(passes({ position: 5 }), false);
  at(GIVE_WAY_MS - 1);
  begin(20);
  t.equal(passes({ position: 5 }), false);
  at(GIVE_WAY_MS);
  begin(20);
  t.equal(passes({ position: 5 }), true);
  t.equal(passes({ position: 20 }), true);
});

void t.test('an event that is appended meanwhile is waited for anew', async (t) => {
  const { begin, passes, at } = opened();
  begin(20);
  passes({ position: 5 });
  at(GIVE_WAY_MS);
  begin(20);
  t.equal(passes({ position: 5 }), true);
  t.equal(passes({ position: 21 }), false);
  at(2 * GIVE_WAY_MS);
  t.equal(passes({ position: 21 }), false, 'it is behind the head that this run has seen');
  begin(21);
  t.equal(passes({ position: 21 }), true);
});
