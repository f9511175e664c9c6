/** Records what readers of mails do, without keeping them waiting: they are answered before anything of it is looked at. */
import { type Caller, isTeamDeleted } from '../core/caller.js';
import { handle, emptyLoaded, foldOnto, handleFrom } from '../core/handle.js';
import { causeOf, type CommandDeps } from '../core/deps.js';
import { linkBaseOf } from './unsubscribe.js';
import type { TrackingSettings } from '../../api/recipients.js';
import type { Decider } from '../../domain/core/decider.js';
import { teamStream, type TeamId, emailStream, type EmailId } from '../../domain/core/ids.js';
import type { TeamEvent } from '../../domain/teams/events.js';
import { evolveTeam, type TeamState } from '../../domain/teams/state.js';
import {
  firstTracking,
  NO_TRACKING,
  type PinnedTracking,
  type Tracking,
  machineOfAddress,
  machineOfAgent,
  USER_AGENT_CHARS_MAX,
} from '../../domain/recipients/tracking.js';
import type { Cause } from '../../event-log/event-log.js';
import { isoMoment } from '../core/memo.js';
import { emailDecider } from '../../domain/email/decider.js';
import { timesToRecord, type EngagementCommand } from '../../domain/email/engagement.js';
import type { EmailEvent } from '../../domain/email/events.js';
import type { EmailState } from '../../domain/email/state.js';
import type { DomainEvent } from '../../domain/events.js';
import { AppendUnknown, StoreAway, WrongExpectedRevision } from '../../domain/core/errors.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Worker } from '../../domain/ports/worker.js';
import { boundedCache, type BoundedCache } from '../../shared/cache.js';

/* Whether opens and clicks are recorded: what the team says, and what is pinned with a mail. */

/** What is pinned: the first of those given, in this order; undefined where nothing is recorded. Throws PUBLIC_URL_REQUIRED. */
export const pinnedTracking = (
  deps: Pick<CommandDeps, 'linkBase'>,
  ...given: readonly (Tracking | null | undefined)[]
): PinnedTracking | undefined => {
  const { opens, clicks } = firstTracking(...given);
  return opens || clicks ? { opens, clicks, url: linkBaseOf(deps) } : undefined;
};

/** As a field that is there or not. */
export const pinnedPart = (tracking: PinnedTracking | undefined): { tracking?: PinnedTracking } =>
  tracking === undefined ? {} : { tracking };

const decider: Decider<Readonly<{ at: string; tracking: Tracking }>, TeamEvent, TeamState> = {
  decide: ({ at, tracking: { opens, clicks } }, team) => {
    if (team === undefined) throw new Error('the team does not exist');
    const now = team.tracking ?? NO_TRACKING;
    return now.opens === opens && now.clicks === clicks ? [] : [{ type: 'TeamTrackingChanged', data: { at, opens, clicks } }];
  },
  evolve: evolveTeam,
  initialState: undefined,
};

/** Out: what holds for mails that are accepted from now on, in every process. Rejects with PUBLIC_URL_REQUIRED and NOT_DURING_UPDATE. */
export const changeTracking = async (deps: CommandDeps, teamId: TeamId, tracking: Tracking, cause: Cause): Promise<Tracking> => {
  if (tracking.opens || tracking.clicks) linkBaseOf(deps);
  const { state, events } = await handle(deps.eventLog, teamStream(teamId), decider, { at: cause.at, tracking }, cause);
  if (events.length > 0) await deps.whenHeldEverywhere();
  return state?.tracking ?? NO_TRACKING;
};

export const getTracking = async (deps: CommandDeps, { teamId }: Pick<Caller, 'teamId'>): Promise<TrackingSettings> => {
  const { state } = await deps.team(teamStream(teamId));
  return { ...(state?.tracking ?? NO_TRACKING) };
};

export const setTracking = async (deps: CommandDeps, caller: Caller, tracking: TrackingSettings): Promise<TrackingSettings> => ({
  ...(await changeTracking(deps, caller.teamId, tracking, causeOf(deps, caller))),
});

/** A reader has asked for the picture of a mail, or for a link of it. */
export type Seen = Readonly<{
  emailId: EmailId;
  recipient: number;
  link?: number;
  url?: string;
  userAgent: string | undefined;
  ipAddress: string | undefined;
  requestId: string;
}>;

export type EngagementRecorder = Readonly<{
  /** Notes it for the worker. What there is no room for is not recorded. */
  note: (seen: Seen) => void;
  /** Records what was noted; when it is stopped, what is left of it once more. */
  worker: Worker;
  /** How many wait to be recorded. */
  waiting: () => number;
}>;

type Deps = Pick<CommandDeps, 'eventLog' | 'team'> & Readonly<{ clock: Clock; logger: Logger }>;

/** What is known of one recipient and the picture, or one link, and one machine or none: as much as is looked at without the log. */
type Entry = {
  /** The last time, as it is to be recorded. */
  seen: Seen;
  atMs: number;
  machine: string | undefined;
  /** How often since it was recorded last. */
  times: number;
  /** How often it takes to be recorded; Infinity: never again. */
  needed: number;
  isWaiting: boolean;
  /** Appends of which nobody knows what became, and how often each said that it happened. */
  tried: readonly Tried[];
};

type Tried = Readonly<{ after: number; eventIds: readonly string[]; times: number }>;

const ENTRIES_MAX = 10_000;
const WAITING_MAX = 10_000;
const AT_ONCE = 8;
const RETRY_AFTER_MS = 1_000;

export const openEngagementRecorder = (deps: Deps): EngagementRecorder => {
  const { clock } = deps;
  // A service that records nothing has no room taken for it.
  let entries: BoundedCache<string, Entry> | undefined;
  const queue = openQueue(deps);
  const machineOf = openMachines();
  return {
    note: (seen) => {
      const machine = machineOf(seen);
      const key = `${seen.emailId} ${seen.recipient} ${seen.link ?? ''} ${machine ?? ''}`;
      entries ??= boundedCache<string, Entry>({ entriesMax: ENTRIES_MAX });
      const entry = entries.getOrMake(key, () => ({ seen, atMs: 0, machine, times: 0, needed: 1, isWaiting: false, tried: [] }));
      if (entry.needed === Infinity) return;
      entry.seen = seen;
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

/** Readers have few programs, and to judge one takes longer than all else that is done before the answer. */
const AGENTS_MAX = 1_000;
const NO_MACHINE = '';

const openMachines = (): ((seen: Pick<Seen, 'userAgent' | 'ipAddress'>) => string | undefined) => {
  let agents: BoundedCache<string, string> | undefined;
  return ({ userAgent = '', ipAddress = '' }) => {
    agents ??= boundedCache<string, string>({ entriesMax: AGENTS_MAX });
    const agent = userAgent.slice(0, USER_AGENT_CHARS_MAX);
    const byAgent = agents.getOrMake(agent, () => machineOfAgent(agent) ?? NO_MACHINE);
    return byAgent === NO_MACHINE ? machineOfAddress(ipAddress) : byAgent;
  };
};

type Queue = Readonly<{
  /** Where the entry is to be recorded, and does not wait for that already. */
  add: (entry: Entry) => void;
  /** Out: false where a server is away, so that it must be tried again. */
  recordAll: () => Promise<boolean>;
  /** What is called when there is something to record. */
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
      if (!isFull) logger.warn({ waiting: waiting.length }, 'opens and clicks come faster than they can be recorded; some are not');
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
      if (fault instanceof StoreAway || fault instanceof AppendUnknown || fault instanceof WrongExpectedRevision) return false;
      entry.needed = Infinity;
      logger.warn({ err: fault instanceof Error ? fault : new Error('not an Error') }, 'an open or a click could not be recorded');
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

/** Resolves when it is woken, or the signal aborts. */
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

/** `needed`: how often it must happen from now on to be recorded again; undefined: it is not any more. `times`: as often as has been recorded. */
type Outcome = Readonly<{ needed: number | undefined; times: number }>;

/** Rejects with WrongExpectedRevision where it must be looked again what became of what was tried. */
const record = async (deps: Deps, entry: Entry, times: number): Promise<Outcome> => {
  const { seen, tried } = entry;
  const stream = emailStream(seen.emailId);
  // Nothing that is personal of the email is needed, so nothing is decrypted.
  const recorded = await deps.eventLog.load(stream, 0, []);
  const known = foldOnto<EmailEvent, EmailState>(emailDecider, emptyLoaded<EmailState>(stream, undefined), recorded);
  if (known.state === undefined || known.teamId === undefined) return { needed: undefined, times };
  // A deleted team learns nothing more of anybody; one that is restored does again.
  if (await isTeamDeleted(deps, known.teamId)) return { needed: 1, times };
  const command = commandOf(entry, times);
  for (const { event, metadata } of recorded) {
    const written = tried.find(({ eventIds }) => eventIds.includes(metadata.eventId));
    if (written !== undefined) return { needed: timesToRecord(known.state, command, isOfMachine(event, command)), times: written.times };
  }
  // One that was tried after an older revision can be written no more; one that is written later than this look must not be passed over.
  const { revision } = known.version;
  entry.tried = tried.filter(({ after }) => after >= revision);
  const isLooked = ({ version }: typeof known): void => {
    if (entry.tried.length > 0 && version.revision !== revision) throw new WrongExpectedRevision(stream, revision, version.revision);
  };
  const at = isoMoment(deps.clock.now());
  const cause = { teamId: known.teamId, actor: 'reader', correlationId: seen.requestId, causationId: seen.requestId, at };
  const { state, events } = await handleFrom(known, deps.eventLog, stream, emailDecider, command, cause, isLooked);
  return { needed: timesToRecord(state!, command, isOfMachine(events[0], command)), times };
};

const commandOf = ({ seen, atMs, machine }: Entry, times: number): EngagementCommand => ({
  type: 'RecordEngagement',
  at: isoMoment(atMs),
  recipient: seen.recipient,
  link: seen.link,
  url: seen.url,
  times,
  machine,
  userAgent: seen.userAgent?.slice(0, USER_AGENT_CHARS_MAX) ?? null,
  ipAddress: seen.ipAddress ?? null,
});

/** As it is recorded, where it is. */
const isOfMachine = (event: DomainEvent | undefined, { machine }: EngagementCommand): boolean =>
  event !== undefined && 'machine' in event.data ? event.data.machine : machine !== undefined;
