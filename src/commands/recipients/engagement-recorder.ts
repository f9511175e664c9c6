/**
 * Records opens and clicks after the reader has been answered: counts requests in memory, and appends events to the
 * emails' streams.
 */
import { AppendUnknown, StoreAway, WrongExpectedRevision } from '../../domain/core/errors.js';
import { emailStream, type EmailId } from '../../domain/core/ids.js';
import { emailDecider } from '../../domain/email/decider.js';
import { timesToRecord, type EngagementCommand } from '../../domain/email/engagement.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { EmailState } from '../../domain/email/state.js';
import type { DomainEvent } from '../../domain/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Worker } from '../../domain/ports/worker.js';
import { machineOfAddress, machineOfAgent, USER_AGENT_CHARS_MAX } from '../../domain/recipients/tracking.js';
import { boundedCache, type BoundedCache } from '../../shared/cache.js';
import { isTeamDeleted } from '../core/caller.js';
import type { RecipientNeeds } from './needs.js';
import { emptyLoaded, foldOnto, handleFrom } from '../core/handle.js';
import { isoTime } from '../../domain/core/time.js';

/** A request for the pixel of an email (an open), or for one of its links (a click). */
export type ReaderRequest = Readonly<{
  emailId: EmailId;
  recipient: number;
  link?: number;
  url?: string;
  userAgent: string | undefined;
  ipAddress: string | undefined;
  requestId: string;
}>;

export type EngagementRecorder = Readonly<{
  /**
   * Queues the request for the worker, so that the reader is answered without waiting. It is dropped if the queue is
   * full.
   */
  note: (request: ReaderRequest) => void;
  /** Records what was noted. When it is stopped, it tries the rest once more. */
  worker: Worker;
  /** The length of the queue. */
  waiting: () => number;
}>;

type Deps = Pick<RecipientNeeds, 'eventLog' | 'team'> & Readonly<{ clock: Clock; logger: Logger }>;

/** Counts in memory for one recipient, one pixel or link, and one kind of machine (or a person). */
type Entry = {
  /** The latest request: its User-Agent and address are recorded. */
  request: ReaderRequest;
  atMs: number;
  machine: string | undefined;
  /** Requests since the last recorded event. */
  times: number;
  /** Requests that the next event takes; Infinity: none is recorded any more. */
  needed: number;
  isWaiting: boolean;
  /** Appends whose result is unknown, with the `times` of each. */
  tried: readonly Tried[];
};

type Tried = Readonly<{ after: number; eventIds: readonly string[]; times: number }>;

const ENTRIES_MAX = 10_000;
const WAITING_MAX = 10_000;
const AT_ONCE = 8;
const RETRY_AFTER_MS = 1_000;

export const openEngagementRecorder = (deps: Deps): EngagementRecorder => {
  const { clock } = deps;
  // Made on first use: a service without tracking takes no memory for it.
  let entries: BoundedCache<string, Entry> | undefined;
  const queue = openQueue(deps);
  const machineOf = openMachines();
  return {
    note: (request) => {
      const machine = machineOf(request);
      const key = `${request.emailId} ${request.recipient} ${request.link ?? ''} ${machine ?? ''}`;
      entries ??= boundedCache<string, Entry>({ entriesMax: ENTRIES_MAX });
      const entry = entries.getOrMake(key, () => ({
        request,
        atMs: 0,
        machine,
        times: 0,
        needed: 1,
        isWaiting: false,
        tried: [],
      }));
      if (entry.needed === Infinity) return;
      entry.request = request;
      entry.atMs = clock.now();
      entry.times += 1;
      queue.add(entry);
    },
    worker: {
      name: 'record-engagements',
      run: async (signal) => {
        while (!signal.aborted) {
          if (!(await queue.recordAll())) await clock.sleep(RETRY_AFTER_MS, signal);
          else if (!signal.aborted && queue.size() === 0) await until(signal, queue.wakeBy);
        }
        await queue.recordAll();
      },
    },
    waiting: queue.size,
  };
};

/** Readers use few programs, and matching one takes longer than all else before the answer. */
const AGENTS_MAX = 1_000;
const NO_MACHINE = '';

const openMachines = (): ((request: Pick<ReaderRequest, 'userAgent' | 'ipAddress'>) => string | undefined) => {
  let agents: BoundedCache<string, string> | undefined;
  return ({ userAgent = '', ipAddress = '' }) => {
    agents ??= boundedCache<string, string>({ entriesMax: AGENTS_MAX });
    const agent = userAgent.slice(0, USER_AGENT_CHARS_MAX);
    const byAgent = agents.getOrMake(agent, () => machineOfAgent(agent) ?? NO_MACHINE);
    return byAgent === NO_MACHINE ? machineOfAddress(ipAddress) : byAgent;
  };
};

type Queue = Readonly<{
  /** Queues the entry if it has enough requests and does not wait already. */
  add: (entry: Entry) => void;
  /** Out: false if a store is unreachable: try again later. */
  recordAll: () => Promise<boolean>;
  /** Sets the function to call when an entry is queued. */
  wakeBy: (go: () => void) => void;
  size: () => number;
}>;

const openQueue = (deps: Deps): Queue => {
  const { logger } = deps;
  const waiting: Entry[] = [];
  let wake = (): void => {};
  let isFull = false;

  const add = (entry: Entry): void => {
    if (entry.isWaiting || entry.times < entry.needed) return;
    if (waiting.length >= WAITING_MAX) {
      if (!isFull)
        logger.warn(
          { waiting: waiting.length },
          'opens and clicks come faster than they can be recorded; some are not',
        );
      isFull = true;
      return;
    }
    isFull = false;
    entry.isWaiting = true;
    waiting.push(entry);
    wake();
  };

  const recordOne = async (entry: Entry): Promise<boolean> => {
    const { times } = entry;
    try {
      const recorded = await record(deps, entry, times);
      entry.needed = recorded.needed ?? Infinity;
      entry.times -= recorded.times;
      entry.tried = [];
    } catch (fault) {
      if (fault instanceof AppendUnknown) entry.tried = [...entry.tried, { ...fault.attempt, times }];
      if (fault instanceof StoreAway || fault instanceof AppendUnknown || fault instanceof WrongExpectedRevision)
        return false;
      entry.needed = Infinity;
      logger.warn(
        { err: fault instanceof Error ? fault : new Error('not an Error') },
        'an open or a click could not be recorded',
      );
    }
    entry.isWaiting = false;
    add(entry);
    return true;
  };

  const recordAll = async (): Promise<boolean> => {
    while (waiting.length > 0) {
      const some = waiting.splice(0, AT_ONCE);
      const done = await Promise.all(some.map(recordOne));
      const left = some.filter((_, index) => done[index] === false);
      if (left.length === 0) continue;
      waiting.unshift(...left);
      return false;
    }
    return true;
  };

  return { add, recordAll, wakeBy: (go) => void (wake = go), size: () => waiting.length };
};

/** Resolves when an entry is queued, or the signal aborts. */
const until = (signal: AbortSignal, wakeBy: Queue['wakeBy']): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      signal.removeEventListener('abort', go);
      wakeBy(() => {});
      resolve();
    };
    signal.addEventListener('abort', go, { once: true });
    wakeBy(go);
  });

/**
 * `needed`: requests that the next event takes; undefined: none is recorded any more. `times`: requests that this event
 * covers.
 */
type Outcome = Readonly<{ needed: number | undefined; times: number }>;

/** Rejects with WrongExpectedRevision if the stream must be read again to see whether an earlier append was written. */
const record = async (deps: Deps, entry: Entry, times: number): Promise<Outcome> => {
  const { request, tried } = entry;
  const stream = emailStream(request.emailId);
  // No encrypted field is needed, so none is decrypted.
  const recorded = await deps.eventLog.load(stream, 0, []);
  const known = foldOnto<EmailEvent, EmailState>(emailDecider, emptyLoaded<EmailState>(stream, undefined), recorded);
  if (known.state === undefined || known.teamId === undefined) return { needed: undefined, times };
  // Opens and clicks are not recorded while the team is deleted; they are again after it is restored.
  if (await isTeamDeleted(deps, known.teamId)) return { needed: 1, times };
  const command = commandOf(entry, times);
  for (const { event, metadata } of recorded) {
    const written = tried.find(({ eventIds }) => eventIds.includes(metadata.eventId));
    if (written !== undefined)
      return { needed: timesToRecord(known.state, command, isOfMachine(event, command)), times: written.times };
  }
  // An append after an older revision can no longer succeed. One after this revision still can, so the append below
  // checks the revision.
  const { revision } = known.version;
  entry.tried = tried.filter(({ after }) => after >= revision);
  const assertUnchanged = ({ version }: typeof known): void => {
    if (entry.tried.length > 0 && version.revision !== revision)
      throw new WrongExpectedRevision(stream, revision, version.revision);
  };
  const at = isoTime(deps.clock.now());
  const cause = {
    teamId: known.teamId,
    actor: 'reader',
    correlationId: request.requestId,
    causationId: request.requestId,
    at,
  };
  const { state, events } = await handleFrom(
    known,
    deps.eventLog,
    stream,
    emailDecider,
    command,
    cause,
    assertUnchanged,
  );
  return { needed: timesToRecord(state!, command, isOfMachine(events[0], command)), times };
};

const commandOf = ({ request, atMs, machine }: Entry, times: number): EngagementCommand => ({
  type: 'RecordEngagement',
  at: isoTime(atMs),
  recipient: request.recipient,
  link: request.link,
  url: request.url,
  times,
  machine,
  userAgent: request.userAgent?.slice(0, USER_AGENT_CHARS_MAX) ?? null,
  ipAddress: request.ipAddress ?? null,
});

/** As the event says; without an event, as the command says. */
const isOfMachine = (event: DomainEvent | undefined, { machine }: EngagementCommand): boolean =>
  event !== undefined && 'machine' in event.data ? event.data.machine : machine !== undefined;
