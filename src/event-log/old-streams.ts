/** What streams have in common that nobody needs any more and whose events are still in the log. */
import type { Limits } from '../domain/core/limits.js';
import type { StreamName } from '../domain/core/ids.js';
import { namesOf } from './codec.js';
import type { EventLog } from './event-log.js';
import { isWhole } from './retirement.js';

export type OldStreamsDeps = Readonly<{ eventLog: Pick<EventLog, 'readAll' | 'last' | 'load'>; limits: Pick<Limits, 'auditDays'> }>;

/** `overMs`: since when nobody needs it. */
export type OldStream = Readonly<{ stream: StreamName; overMs: number }>;

/** In the order of the log; and when the first will be over that is not yet. */
export type OldStreams = Readonly<{ over: readonly OldStream[]; nextMs: number | undefined }>;

export type LookForOld = Readonly<{ limit: number; signal?: AbortSignal }>;

const retired = namesOf(['StreamRetired']);

/** Whether it is said of all of a stream that it leaves the log. */
export const isRetired = async ({ eventLog }: Pick<OldStreamsDeps, 'eventLog'>, stream: StreamName): Promise<boolean> => {
  const last = await eventLog.last(stream);
  if (last === undefined || !retired.has(last.storedType)) return false;
  const [recorded] = await eventLog.load(stream, last.revision, []);
  return recorded?.event.type === 'StreamRetired' && isWhole(recorded.event);
};
