/**
 * Decides whether the service should be given requests, and lists the reasons why it should not or why an operator
 * should look.
 */
import { counted } from '../../shared/text.js';

export type WorkerHealth = Readonly<{
  name: string;
  state: 'starting' | 'running' | 'restarting' | 'stopped';
  /** How often it was started again after a fault. */
  restarts: number;
  /** The name or code of the last fault, without its message. */
  lastFault: string | null;
  /** How many streams wait for a retry after a fault of the service; absent for none. */
  stuckWork?: number;
}>;

/** Unreadable events of the log: the number of damaged ones, and the first of a newer program. */
export type LogHealth = Readonly<{
  unreadableEvents: number;
  unknownEvent: Readonly<{ position: number; type: string }> | null;
}>;

/** The circuit breaker of a relay: `closed` while mail is handed to it, `half-open` while it is probed. */
export type RelayHealth = Readonly<{ relay: string; state: 'closed' | 'open' | 'half-open'; isDayFull?: boolean }>;

/** Effect of each reason on the service's readiness. */
export const healthCodes = {
  STOPPING: 'stopping',
  STARTING: 'unavailable',
  WORKER_STOPPED: 'unavailable',
  COMMITS_FAIL: 'unavailable',
  DELIVERY_FAILS: 'unavailable',
  STORE_DAMAGED: 'unavailable',
  LOG_AWAY: 'unavailable',
  COMMITS_FAILED: 'degraded',
  WORKER_RESTARTING: 'degraded',
  WORK_STUCK: 'degraded',
  EVENTS_UNREADABLE: 'degraded',
  EVENTS_UNKNOWN: 'degraded',
  CLOCK_SET: 'degraded',
  MAIL_DEFERRED: 'degraded',
  RELAY_AWAY: 'degraded',
  NOBODY_DELIVERS: 'degraded',
  QUEUE_OLD: 'degraded',
  READ_MODELS_BEHIND: 'degraded',
  DISK_LOW: 'degraded',
  DATA_COPIED: 'degraded',
  CERTIFICATE_REFUSED: 'degraded',
  CERTIFICATE_EXPIRES: 'degraded',
  CERTIFICATE_UNUSABLE: 'degraded',
  LIMITER_AWAY: 'degraded',
  READ_MODELS_AWAY: 'degraded',
} as const;

export type HealthCode = keyof typeof healthCodes;
type Readiness = 'ready' | (typeof healthCodes)[HealthCode];

export type HealthReason = Readonly<{ code: HealthCode; message: string }>;

/** A worker that failed this often in a row is taken for broken. */
const RESTARTS_IN_VAIN = 3;

const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB)/;

/** Workers without which no mail leaves. */
const delivering: readonly string[] = ['relay', 'due-work', 'deliver-email'];

export type PartsHealth = Readonly<{
  accepting: boolean;
  workers: readonly WorkerHealth[];
  log: LogHealth;
  /** Reasons from the watchers of queues, disks and clocks. */
  noted: readonly HealthReason[];
}>;

/** The most severe reason decides. */
export const readinessOf = ({
  accepting,
  workers,
  log,
  noted,
}: PartsHealth): Readonly<{ status: Readiness; reasons: readonly HealthReason[] }> => {
  const stopping: readonly HealthReason[] = accepting
    ? []
    : [{ code: 'STOPPING', message: 'the service was told to stop' }];
  const reasons = [...stopping, ...workers.flatMap(reasonsOfWorker), ...reasonsOfLog(log), ...noted];
  const has = (readiness: Readiness): boolean => reasons.some(({ code }) => healthCodes[code] === readiness);
  if (has('stopping')) return { status: 'stopping', reasons };
  if (has('unavailable')) return { status: 'unavailable', reasons };
  return { status: has('degraded') ? 'degraded' : 'ready', reasons };
};

const reasonsOfWorker = ({
  name,
  state,
  restarts,
  lastFault,
  stuckWork = 0,
}: WorkerHealth): readonly HealthReason[] => {
  const reasons: HealthReason[] = [];
  const add = (code: HealthCode, message: string): void => void reasons.push({ code, message });
  switch (state) {
    case 'starting':
      add('STARTING', `${name} starts`);
      break;
    case 'stopped':
      add('WORKER_STOPPED', `${name} has stopped`);
      break;
    case 'restarting':
      if (lastFault !== null && DAMAGE.test(lastFault))
        add('STORE_DAMAGED', `${name} meets a damaged store (${lastFault})`);
      else if (delivering.includes(name) && restarts >= RESTARTS_IN_VAIN)
        add('DELIVERY_FAILS', `${name} fails again and again (${lastFault}): no mail leaves`);
      else add('WORKER_RESTARTING', `${name} is started again after ${lastFault}`);
      break;
    case 'running':
  }
  if (stuckWork > 0)
    add(
      'WORK_STUCK',
      `${counted(stuckWork, 'piece')} of work of ${name} ${stuckWork === 1 ? 'waits' : 'wait'} after ${lastFault}`,
    );
  return reasons;
};

const reasonsOfLog = ({ unreadableEvents, unknownEvent }: LogHealth): readonly HealthReason[] => [
  ...(unreadableEvents === 0
    ? []
    : [
        {
          code: 'EVENTS_UNREADABLE' as const,
          message: `${counted(unreadableEvents, 'event')} cannot be read; \`sealpost events unreadable\` lists them`,
        },
      ]),
  ...(unknownEvent === null
    ? []
    : [
        {
          code: 'EVENTS_UNKNOWN' as const,
          message: `a newer version wrote ${unknownEvent.type} at position ${unknownEvent.position}`,
        },
      ]),
];
