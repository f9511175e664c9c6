/** Finds what needs a person in the state of the instance, the most pressing first, and says what helps. */
import type { GetSystemResponse } from '#api';

type Process = GetSystemResponse['processes'][number];
type Code = Process['reasons'][number]['code'];

/** `what`: the fault. `act`: what helps. `where`: the processes that report it, if there are several. */
export type Need = Readonly<{ key: string; tone: 'bad' | 'warn'; what: string; act: string; where: readonly string[] }>;

const READ_THE_LOG = 'Read the error lines of the log.';
const BRING_BACK = 'Bring the server back.';

const acts: Readonly<Record<Code, string>> = {
  STOPPING: 'The process ends by itself when its deliveries are done.',
  STARTING: 'Wait a few seconds.',
  WORKER_STOPPED: READ_THE_LOG,
  COMMITS_FAIL: 'Free disk space, or bring the server back. The service becomes ready by itself.',
  COMMITS_FAILED: 'Free disk space, or bring the server back. The next event tells whether it helped.',
  DELIVERY_FAILS: READ_THE_LOG,
  STORE_DAMAGED: 'Run sealpost doctor. sealpost rebuild replaces a damaged read model.',
  LOG_AWAY: BRING_BACK,
  READ_MODELS_AWAY: BRING_BACK,
  LIMITER_AWAY: `${BRING_BACK} Until then each process counts requests by itself.`,
  WORKER_RESTARTING: READ_THE_LOG,
  WORK_STUCK: 'It is tried again by itself. If it stays, read the error lines of the log: the fault is named there.',
  EVENTS_UNREADABLE: 'Run sealpost events unreadable, which lists the damaged events.',
  EVENTS_UNKNOWN: 'Upgrade this process to the newer version.',
  CLOCK_SET: 'If the clock of the machine is right now, run sealpost clock confirm.',
  NOBODY_DELIVERS: 'Start a process with the role process.',
  RELAY_AWAY: 'Run sealpost doctor, which prints the answer of the relay.',
  QUEUE_OLD: 'Look at the attempts of the oldest emails. More connections to the relay may help.',
  MAIL_DEFERRED: 'Look at the replies in the attempts of these emails, and at the relay.',
  READ_MODELS_BEHIND: 'Wait. The machine is busy.',
  DISK_LOW: 'Free disk space.',
  DATA_COPIED: 'Stop the other service for good, delete place.json in the data directory, and restart.',
  CERTIFICATE_EXPIRES: 'Renew the certificate.',
  CERTIFICATE_REFUSED: 'Replace the files of certificate and key.',
  CERTIFICATE_UNUSABLE: 'Write the files of certificate and key again.',
};

const DAY_MS = 86_400_000;
const BACKUP_OLD_DAYS = 7;

/** The first part of an id, by which people tell processes apart. */
export const shortId = (id: string): string => id.slice(-8);

/** In: the answer of GET /api/system. */
export const needsOf = (system: GetSystemResponse): readonly Need[] => {
  const needs = [...needsOfProcesses(system.processes), ...needsOfLog(system), ...needsOfBackups(system)];
  return needs.sort((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'));
};

const needsOfProcesses = (processes: readonly Process[]): readonly Need[] => {
  const found = new Map<string, Need>();
  for (const { id, status, reasons } of processes)
    for (const { code, message } of reasons) {
      const key = `${code} ${message}`;
      const where = [...(found.get(key)?.where ?? []), ...(processes.length > 1 ? [shortId(id)] : [])];
      const tone = status === 'unavailable' || found.get(key)?.tone === 'bad' ? 'bad' : 'warn';
      // A service that is newer than this page may give a reason that the page does not know.
      found.set(key, { key, tone, what: sentence(message), act: acts[code] ?? READ_THE_LOG, where });
    }
  const schemas = new Set(processes.map(({ schema }) => schema));
  if (schemas.size > 1)
    found.set('schemas', {
      key: 'schemas',
      tone: 'warn',
      what: 'Processes of different versions run, which do not read the same kinds of events.',
      act: 'Bring all processes to the newest version.',
      where: [],
    });
  return [...found.values()];
};

const needsOfLog = ({ log: { lastVerify } }: GetSystemResponse): readonly Need[] => {
  if (lastVerify === null || lastVerify.result === 'sound') return [];
  const what = {
    damaged: 'The last check found damage in the log.',
    tampered: 'The last check found that somebody changed the log.',
    unfinished: 'The last check of the log did not come to its end.',
  }[lastVerify.result];
  const act = 'Run sealpost verify, which names what it finds.';
  return [{ key: 'verify', tone: lastVerify.result === 'unfinished' ? 'warn' : 'bad', what, act, where: [] }];
};

/** Servers have backups of their own, which the service does not know. */
const needsOfBackups = ({ engine, backups, asOf }: GetSystemResponse): readonly Need[] => {
  const now = Date.parse(asOf);
  const needs: Need[] = [];
  const add = (key: string, what: string, act: string): void =>
    void needs.push({ key, tone: 'warn', what, act, where: [] });
  const { log, keys } = backups;
  if (engine.eventStore === 'sqlite' && (log === null || now - Date.parse(log.at) > BACKUP_OLD_DAYS * DAY_MS))
    add(
      'backup-log',
      log === null
        ? 'The log was never backed up from here.'
        : `The backup of the log is older than ${BACKUP_OLD_DAYS} days.`,
      'Run sealpost backup DIRECTORY, each day if you can.',
    );
  if (engine.keys === 'sqlite' && (keys === null || Date.parse(keys.expiresAt) <= now))
    add(
      'backup-keys',
      keys === null ? 'The keys were never backed up from here.' : 'The backup of the keys has expired.',
      'Run sealpost backup DIRECTORY --keys. Without the keys a backup of the log cannot be read.',
    );
  return needs;
};

const sentence = (text: string): string => {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return begun.endsWith('.') ? begun : `${begun}.`;
};
