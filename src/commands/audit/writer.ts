/** Writes what an auditor is told beside other events: many facts of one stream in one append. */
import type { CallOrigins } from '../access/origins.js';
import type { CommandDeps } from '../core/deps.js';
import type { AuditEvent } from '../../domain/audit/events.js';
import { monthOf } from '../../domain/access/months.js';
import type { CallOrigin } from '../../domain/access/origins.js';
import { AppendUnknown, StoreAway, type AppendAttempt, WrongExpectedRevision } from '../../domain/core/errors.js';
import { auditStream, type StreamName } from '../../domain/core/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import { startOf, versionOf, type Cause, type StreamVersion } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';

/** Who called: as in the metadata of events. */
export type AuditedCall = Readonly<{ teamId: string; actor: string; requestId: string; calledFrom: () => CallOrigin }>;

/** One fact of the audit log of a team, or a person. `tried`: by appends of which nobody knows what became. */
export type Noted = Readonly<{ scope: string; event: AuditEvent; call: AuditedCall; at: string; tried?: readonly Tried[] }>;
type Tried = Readonly<{ after: number; eventId: string }>;

export type AuditWriterDeps = Pick<CommandDeps, 'eventLog'> & Readonly<{ origins: Pick<CallOrigins, 'keep'>; logger: Logger }>;

const STREAMS_MAX = 1_000;

/** Out: what a server that is away has not taken, in order. */
export const openAuditWriter = (deps: AuditWriterDeps): ((noted: readonly Noted[]) => Promise<readonly Noted[]>) => {
  const versions = boundedCache<StreamName, StreamVersion>({ entriesMax: STREAMS_MAX });

  const versionAt = async (stream: StreamName): Promise<StreamVersion> => {
    const known = versions.get(stream);
    if (known !== undefined) return known;
    const last = await deps.eventLog.last(stream);
    const [recorded] = last === undefined ? [] : await deps.eventLog.load(stream, last.revision);
    return recorded === undefined ? startOf(stream) : versionOf(recorded);
  };

  /** Out: what a server that is away has not taken, or of which it is not known whether it has. */
  const append = async (stream: StreamName, noted: readonly Noted[]): Promise<readonly Noted[]> => {
    for (;;) {
      let left = noted;
      try {
        const found = await notWritten(deps, stream, noted, versionAt);
        left = found.left;
        if (left.length === 0) return [];
        const causes: Cause[] = [];
        for (const { call, at } of left) causes.push(await causeOfCall(deps, call, at));
        const events = left.map(({ event }) => event);
        versions.set(stream, await deps.eventLog.append(stream, found.version, events, causes as [Cause, ...Cause[]]));
        return [];
      } catch (fault) {
        versions.delete(stream);
        if (fault instanceof AppendUnknown) return left.map((one, index) => triedBy(one, fault.attempt, index));
        if (fault instanceof StoreAway) return left;
        if (!(fault instanceof WrongExpectedRevision)) throw fault;
      }
    }
  };

  return async (noted) => {
    const left: Noted[] = [];
    for (const [stream, some] of byStream(noted)) {
      try {
        left.push(...(await append(stream, some)));
      } catch (fault) {
        deps.logger.warn(
          { err: fault instanceof Error ? fault : new Error('not an Error'), lost: some.length },
          'reads and refusals could not be recorded',
        );
      }
    }
    return left;
  };
};

type NotWritten = Readonly<{ version: StreamVersion; left: readonly Noted[] }>;

/** What is not in the stream yet, and the version at which that was found: a try that is written later than that is refused there. */
const notWritten = async (
  { eventLog }: Pick<AuditWriterDeps, 'eventLog'>,
  stream: StreamName,
  noted: readonly Noted[],
  versionAt: (stream: StreamName) => Promise<StreamVersion>,
): Promise<NotWritten> => {
  const tries = noted.flatMap(({ tried = [] }) => tried);
  if (tries.length === 0) return { version: await versionAt(stream), left: noted };
  const written = await eventLog.load(stream, Math.min(...tries.map(({ after }) => after)) + 1, []);
  const ids = new Set(written.map(({ metadata }) => metadata.eventId));
  const left = noted.filter(({ tried = [] }) => !tried.some(({ eventId }) => ids.has(eventId)));
  const last = written.at(-1);
  return { version: last === undefined ? await versionAt(stream) : versionOf(last), left };
};

const triedBy = (noted: Noted, { after, eventIds }: AppendAttempt, index: number): Noted => {
  const eventId = eventIds[index];
  return eventId === undefined ? noted : { ...noted, tried: [...(noted.tried ?? []), { after, eventId }] };
};

const byStream = (noted: readonly Noted[]): ReadonlyMap<StreamName, readonly Noted[]> => {
  const streams = new Map<StreamName, Noted[]>();
  for (const one of noted) {
    const stream = auditStream(one.scope, monthOf(one.at));
    const known = streams.get(stream);
    if (known === undefined) streams.set(stream, [one]);
    else known.push(one);
  }
  return streams;
};

const causeOfCall = async (
  { origins }: Pick<AuditWriterDeps, 'origins'>,
  { teamId, actor, requestId, calledFrom }: AuditedCall,
  at: string,
): Promise<Cause> => {
  const cause: Cause = { teamId, actor, correlationId: requestId, causationId: requestId, at };
  const origin = await origins.keep(cause, calledFrom());
  return origin === undefined ? cause : { ...cause, origin };
};
