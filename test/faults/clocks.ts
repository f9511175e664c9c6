/**
 * Clocks that are set back and forward under a running service: what is accepted is delivered once, and a step back
 * holds nothing up.
 */
import { seededRandom } from '../support/random.js';
import { HOUR_MS } from '../../src/domain/core/time.js';
import type { FaultReport, ProgramOptions } from './report.js';
import { judgeDeliveries, openService } from './service.js';

const MAILS = 5;
/** Elapsed time, independent of the clock. */
const SENT_WITHIN_MS = 10 * 60_000;
const STEP_MS = 15_000;

/** Each round: the clock steps, mails are sent, and they leave as on any other day. */
export const clocksTest = async ({ rounds, seed, print }: ProgramOptions): Promise<FaultReport> => {
  const random = seededRandom(seed);
  const service = await openService();
  const { app, clock, sink } = service;
  const faults: string[] = [];
  const counts = { mails: 0, 'steps back': 0, 'steps forward': 0 };
  const ids: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const isBack = random.chance(0.5);
    const stepMs = random.between(1, 3 * HOUR_MS);
    clock.shift(isBack ? -stepMs : stepMs);
    counts[isBack ? 'steps back' : 'steps forward'] += 1;
    const before = ids.length;
    for (let mail = 0; mail < MAILS; mail += 1)
      ids.push((await service.sendUntilAccepted(`round ${round}, mail ${mail}`)).id);
    let open = ids.slice(before);
    for (let passedMs = 0; open.length > 0 && passedMs < SENT_WITHIN_MS; passedMs += STEP_MS) {
      await clock.advance(STEP_MS);
      const records = await Promise.all(open.map(app.email));
      open = records.filter(({ status }) => status !== 'sent').map(({ id }) => id);
    }
    faults.push(
      ...open.map(
        (id) =>
          `round ${round}: ${id} is not sent ${SENT_WITHIN_MS / 60_000} minutes after a step of ${isBack ? '-' : ''}${stepMs} ms`,
      ),
    );
    if (round % 10 === 0) print(`  round ${round}: ${ids.length} mails, ${faults.length} faults`);
  }
  counts.mails = ids.length;
  faults.push(...judgeDeliveries(await Promise.all(ids.map(app.email)), sink));
  return { counts, faults: [...faults, ...(await service.end())] };
};
