/** A short part of the hunt: random histories with faults, after which every promise must hold. */
import t, { type Test } from 'tap';
import { foundingWorld } from './founding.js';
import { playHistory } from './history.js';

const FIRST_SEED = 1;
const HISTORIES = 120;
const OF_COPIES = 40;
/** Only what hangs is cut off. */
const TIMEOUT_MS = 890_000;

const play = async (t: Test, base: Awaited<ReturnType<typeof foundingWorld>>, histories: number): Promise<void> => {
  const unhandled: unknown[] = [];
  const onUnhandled = (fault: unknown): void => void unhandled.push(fault);
  process.on('unhandledRejection', onUnhandled);
  t.teardown(() => process.off('unhandledRejection', onUnhandled));
  const sums = { emails: 0, dialogues: 0, crashes: 0, faults: 0 };
  for (let seed = FIRST_SEED; seed < FIRST_SEED + histories; seed += 1) {
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
    sums.emails > histories && sums.dialogues > histories && sums.crashes > histories / 2 && sums.faults > histories,
    'something happened',
  );
};

void t.test(`${HISTORIES} histories from seed ${FIRST_SEED} on break no promise`, { timeout: TIMEOUT_MS }, async (t) =>
  play(t, await foundingWorld(), HISTORIES),
);

void t.test(
  `${OF_COPIES} histories of mails that leave as copies break none either`,
  { timeout: TIMEOUT_MS },
  async (t) => play(t, await foundingWorld('news'), OF_COPIES),
);

void t.test('a history repeats exactly by its seed', async (t) => {
  const base = await foundingWorld();
  for (const seed of [3, 14, 28]) {
    const [first, second] = [await playHistory(base, seed), await playHistory(base, seed)];
    t.same({ ...second, struck: [...second.struck] }, { ...first, struck: [...first.struck] });
  }
});
