/**
 * The log of calls of API keys and apps: noted in memory when a call is answered, written in batches within a second,
 * and shown with the names of those who called.
 */
import { CLI_CLIENT_ID, commandLineApp } from '../../domain/apps/app.js';
import { StoreAway } from '../../domain/core/errors.js';
import { apiKeyStream, oauthClientStream, parseApiKeyId, parseOAuthClientId } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import { DAY_MS, HOUR_MS, isoTime } from '../../domain/core/time.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import {
  callIdAt,
  LAST_CALL_MS,
  timeOfCall,
  type LoggedCall,
  type RequestLog,
} from '../../domain/ports/request-log.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { RequestLogEntryRecord } from '../../api/audit.js';
import type { AppNeeds } from '../apps/needs.js';
import type { KeyNeeds } from '../keys/needs.js';

/** An answered call. `params`: the parameters of its path. */
export type AnsweredCall = Omit<LoggedCall, 'id' | 'path'> & Readonly<{ params: Readonly<Record<string, string>> }>;

export type RequestLogRecorder = Readonly<{
  /** Notes a call for the next batch. It is dropped if the store has been away for so long that memory is full. */
  note: (call: AnsweredCall) => void;
  /** Writes what was noted. */
  flush: () => Promise<void>;
  /** Writes what was noted within a second, and deletes what is too old. When it is stopped, it writes the rest. */
  worker: Worker;
}>;

type Deps = Readonly<{
  requestLog: Pick<RequestLog, 'write' | 'expire'>;
  clock: Clock;
  ids: Pick<Ids, 'bytes'>;
  limits: Pick<Limits, 'requestLogDays'>;
  logger: Logger;
  /** False while nothing may be destroyed because of its age. */
  mayDestroy: () => boolean;
}>;

const WRITTEN_EVERY_MS = 1_000;
/** A batch of that length does not wait for the end of the second. */
const BATCH_MAX = 1_000;
const WAITING_MAX = 20_000;
const COUNT_MAX = 0xff_ffff;

export const openRequestLogRecorder = (deps: Deps): RequestLogRecorder => {
  const { clock, logger, requestLog } = deps;
  // Ids of this process; those of others in the same millisecond have another prefix.
  const prefix = deps.ids.bytes(4).toString('hex');
  let count = 0;
  let waiting: LoggedCall[] = [];
  let writing: Promise<void> | undefined;
  let isFull = false;
  let wake = (): void => {};

  const idNow = (): string => {
    count = count === COUNT_MAX ? 0 : count + 1;
    return `${callIdAt(clock.now())}${prefix}${count.toString(16).padStart(6, '0')}`;
  };

  const writeAll = async (): Promise<void> => {
    const calls = waiting;
    waiting = [];
    try {
      await requestLog.write(calls);
      isFull = false;
    } catch (fault) {
      if (fault instanceof StoreAway) {
        waiting = [...calls, ...waiting].slice(0, WAITING_MAX);
        // The worker may have found nothing to write meanwhile.
        wake();
      } else logger.warn({ err: asError(fault), lost: calls.length }, 'calls could not be logged');
    }
  };

  const flush = async (): Promise<void> => {
    // A batch under way does not have what was noted since it began.
    await writing;
    if (waiting.length === 0) return;
    await (writing ??= writeAll().finally(() => (writing = undefined)));
  };

  const expire = async (): Promise<void> => {
    const { requestLogDays } = deps.limits;
    if (requestLogDays > 0 && !deps.mayDestroy()) return;
    try {
      await requestLog.expire(requestLogDays === 0 ? LAST_CALL_MS : clock.now() - requestLogDays * DAY_MS);
    } catch (fault) {
      if (!(fault instanceof StoreAway)) logger.warn({ err: asError(fault) }, 'old calls could not be deleted');
    }
  };

  /** Resolves when a call is noted, or the signal aborts, or after that time. */
  const untilNoted = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (waiting.length > 0) return;
    const noted = new AbortController();
    wake = () => noted.abort();
    await clock.sleep(ms, AbortSignal.any([signal, noted.signal]));
  };

  return {
    note: ({ params, ...call }) => {
      if (waiting.length >= WAITING_MAX) {
        if (!isFull) logger.warn({ waiting: waiting.length }, 'calls cannot be logged in time; some are not');
        isFull = true;
        return;
      }
      waiting.push({ ...call, id: idNow(), path: loggedPath(call.route, params) });
      if (waiting.length === 1) wake();
      if (waiting.length === BATCH_MAX && writing === undefined) void flush();
    },
    flush,
    worker: {
      name: 'log-requests',
      run: async (signal) => {
        let expiresMs = clock.monotonic();
        while (!signal.aborted) {
          if (clock.monotonic() >= expiresMs) {
            await expire();
            expiresMs = clock.monotonic() + HOUR_MS;
          }
          await untilNoted(expiresMs - clock.monotonic(), signal);
          if (waiting.length > 0) await clock.sleep(WRITTEN_EVERY_MS, signal);
          await flush();
        }
        await flush();
      },
    },
  };
};

const asError = (fault: unknown): Error => (fault instanceof Error ? fault : new Error('not an Error'));

/** Ids that the service makes: UUIDs, numbers, and those that begin with their kind. */
const OWN_ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{1,9}|(?:key|wh|ses|app|grant)_[\w-]{22})$/i;

/**
 * In: a route, and the parameters of its path. Out: the path with the ids of the service. Every other parameter, such as
 * an address, keeps its name, because it may be personal or a secret.
 */
export const loggedPath = (route: string, params: Readonly<Record<string, string>>): string =>
  route.includes(':')
    ? route.replace(/:(\w+)/g, (name, parameter: string) => {
        const value = params[parameter];
        return value !== undefined && OWN_ID.test(value) ? value : name;
      })
    : route;

/** In: calls of one team. Out: as the API shows them, with the present names of keys and apps. */
export const nameCalls = async (
  { apiKey, oauthApp }: Pick<KeyNeeds, 'apiKey'> & Pick<AppNeeds, 'oauthApp'>,
  calls: readonly LoggedCall[],
): Promise<RequestLogEntryRecord[]> => {
  const names = new Map<string, string | null>();
  for (const { actor } of calls) {
    if (names.has(actor.id)) continue;
    const [keyId, clientId] = [parseApiKeyId(actor.id), parseOAuthClientId(actor.id)];
    const key = keyId === undefined ? undefined : (await apiKey(apiKeyStream(keyId))).state;
    const registered = clientId === undefined ? undefined : (await oauthApp(oauthClientStream(clientId))).state;
    const app = clientId === CLI_CLIENT_ID ? commandLineApp : registered;
    names.set(actor.id, key?.name ?? app?.name ?? null);
  }
  return calls.map(({ id, actor, method, route, path, status, code, requestId, durationMs }) => ({
    id,
    at: isoTime(timeOfCall(id)),
    actor: { ...actor, name: names.get(actor.id) ?? null },
    method,
    route,
    path,
    status,
    code,
    requestId,
    durationMs,
  }));
};
