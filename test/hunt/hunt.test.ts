/** A short part of the hunt: random histories with faults, after which every promise must hold. */
import t from 'tap';
import { foundingWorld } from './founding.js';
import { playHistory } from './history.js';

const FIRST_SEED = 1;
const HISTORIES = 150;
/** Only what hangs is cut off. */
const TIMEOUT_MS = 170_000;

void t.test(`${HISTORIES} histories from seed ${FIRST_SEED} on break no promise`, { timeout: TIMEOUT_MS }, async (t) => {
  const unhandled: unknown[] = [];
  const onUnhandled = (fault: unknown): void => void unhandled.push(fault);
  process.on('unhandledRejection', onUnhandled);
  t.teardown(() => process.off('unhandledRejection', onUnhandled));
  const base = await foundingWorld();
  const sums = { emails: 0, dialogues: 0, crashes: 0, faults: 0 };
  for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed += 1) {
    const { findings, emails, dialogues, crashes, struck } = await playHistory(base, seed);
    if (findings.length > 0 || unhandled.length > 0) t.same([...findings, ...unhandled], [], `seed ${seed}`);
    unhandled.length = 0;
    sums.emails += emails;
    sums.dialogues += dialogues;
    sums.crashes += crashes;
    sums.faults += struck.size;
  }
  t.comment(JSON.stringify(sums));
  t.ok(
    sums.emails > HISTORIES && sums.dialogues > HISTORIES && sums.crashes > HISTORIES / 2 && sums.faults > HISTORIES,
    'something happened',
  );
});

void t.test('a history repeats exactly by its seed', async (t) => {
  const base = await foundingWorld();
  for (const seed of [3, 14, 28]) {
    const [first, second] = [await playHistory(base, seed), await playHistory(base, seed)];
    t.same({ ...second, struck: [...second.struck] }, { ...first, struck: [...first.struck] });
  }
});
