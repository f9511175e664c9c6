/**
 * A disk that is full at times, and one that says so although it has written: what is accepted is delivered once, and
 * the log holds together.
 */
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { seededRandom, type Random } from '../support/random.js';
import type { FaultReport, ProgramOptions } from './report.js';
import { judgeDeliveries, openService } from './service.js';

type Disk = { isFaulty: boolean; refused: number; lost: number };

const full = (): Error => Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
const failedSync = (): Error => Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });

/**
 * Half of the faults come before anything is written, half after all of it is: a sync that failed tells nobody which.
 */
const faulty =
  (disk: Disk, random: Random) =>
  (store: EventStore): EventStore => ({
    ...store,
    append: async (stream, expectedRevision, events) => {
      const isStruck = disk.isFaulty && random.chance(0.4);
      if (isStruck && random.chance(0.5)) {
        disk.refused += 1;
        throw full();
      }
      const appended = await store.append(stream, expectedRevision, events);
      if (!isStruck) return appended;
      disk.lost += 1;
      throw failedSync();
    },
  });

const MAILS = 10;
const STEP_MS = 1_000;

/**
 * Each round: mails are sent while the disk is faulty, time passes with it, and then all that was accepted comes to its
 * end.
 */
export const diskTest = async ({ rounds, seed, print }: ProgramOptions): Promise<FaultReport> => {
  const random = seededRandom(seed);
  const disk: Disk = { isFaulty: false, refused: 0, lost: 0 };
  const service = await openService(faulty(disk, random));
  const faults: string[] = [];
  let calls = 0;
  let mails = 0;
  for (let round = 1; round <= rounds; round += 1) {
    disk.isFaulty = true;
    const ids: string[] = [];
    for (let mail = 0; mail < MAILS; mail += 1) {
      const sent = await service.sendUntilAccepted(`round ${round}, mail ${mail}`);
      ids.push(sent.id);
      calls += sent.calls;
    }
    for (let step = 0; step < 20; step += 1) await service.clock.advance(STEP_MS);
    disk.isFaulty = false;
    const records = await service.whenEnded(ids);
    mails += ids.length;
    faults.push(...records.filter(({ status }) => status !== 'sent').map(({ id, status }) => `${id} is ${status}`));
    faults.push(...judgeDeliveries(records, service.sink));
    print(
      `  round ${round}: ${mails} mails, ${disk.refused} appends refused, ${disk.lost} whose answer was lost, ${faults.length} faults`,
    );
  }
  const counts = { mails, calls, 'appends refused': disk.refused, 'appends whose answer was lost': disk.lost };
  return { counts, faults: [...faults, ...(await service.end())] };
};
