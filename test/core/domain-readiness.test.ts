/** Conditions that make a service unavailable or degraded, and the reason that is given for each. */
import t from 'tap';
import {
  type WorkerHealth,
  healthCodes,
  readinessOf,
  type HealthCode,
  type PartsHealth,
} from '../../src/domain/core/readiness.js';

const relay: WorkerHealth = { name: 'relay', state: 'running', restarts: 0, lastFault: null };
const sound: PartsHealth = {
  accepting: true,
  workers: [relay],
  log: { unreadableEvents: 0, unknownEvent: null },
  noted: [],
};
const restarting = (restarts: number, lastFault: string, name = 'relay'): PartsHealth => ({
  ...sound,
  workers: [{ name, state: 'restarting', restarts, lastFault }],
});

void t.test('a sound service is ready, without a reason', async (t) => {
  t.same(readinessOf(sound), { status: 'ready', reasons: [] });
});

void t.test('each reason has its code and its weight', async (t) => {
  const cases: Readonly<Partial<Record<HealthCode, PartsHealth>>> = {
    STOPPING: { ...sound, accepting: false },
    STARTING: { ...sound, workers: [{ ...relay, state: 'starting' }] },
    WORKER_STOPPED: { ...sound, workers: [{ ...relay, state: 'stopped' }] },
    STORE_DAMAGED: restarting(1, 'SQLITE_CORRUPT_VTAB', 'project-emails'),
    DELIVERY_FAILS: restarting(3, 'TypeError'),
    WORKER_RESTARTING: restarting(1, 'TypeError'),
    WORK_STUCK: { ...sound, workers: [{ ...relay, stuckWork: 3, lastFault: 'KEY_MISSING' }] },
    EVENTS_UNREADABLE: { ...sound, log: { unreadableEvents: 2, unknownEvent: null } },
    EVENTS_UNKNOWN: { ...sound, log: { unreadableEvents: 0, unknownEvent: { position: 7, type: 'EmailQueued.v9' } } },
  };
  for (const [code, known] of Object.entries(cases) as [HealthCode, PartsHealth][]) {
    const { status, reasons } = readinessOf(known);
    t.same([status, reasons.map((reason) => reason.code)], [healthCodes[code], [code]]);
    t.notMatch(reasons[0]!.message, /undefined|null/);
  }
  for (const code of Object.keys(healthCodes) as HealthCode[])
    t.equal(readinessOf({ ...sound, noted: [{ code, message: 'noted' }] }).status, healthCodes[code]);
});

void t.test('a worker without which mail still leaves may fail as often as it likes', async (t) => {
  t.equal(readinessOf(restarting(30, 'TypeError', 'sweep')).status, 'degraded');
});

void t.test('the gravest reason decides', async (t) => {
  const both = { ...restarting(1, 'TypeError'), noted: [{ code: 'COMMITS_FAIL' as const, message: 'full' }] };
  t.equal(readinessOf(both).status, 'unavailable');
  t.equal(readinessOf({ ...both, accepting: false }).status, 'stopping');
});
