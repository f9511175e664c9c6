/**
 * The log of calls of the API: operational data outside the event log. It has no bodies, no queries and nothing
 * personal, and a crash may lose its last second.
 */

/** The caller: an API key by its id, or an app by its client id. */
export type CallActor = Readonly<{ type: 'api_key' | 'app'; id: string }>;

/**
 * `id`: unique; ids sort by the time of the call (`callIdAt`). `path`: the route with the ids of its path; any other
 * parameter keeps its name. `code`: that of an error answer.
 */
export type LoggedCall = Readonly<{
  id: string;
  team: string;
  actor: CallActor;
  method: string;
  route: string;
  path: string;
  status: number;
  code: string | null;
  requestId: string;
  durationMs: number;
}>;

/** `status`: from the first to the last, both included. `fromMs`, `toMs`: the time of the call, both included. */
export type CallFilter = Readonly<{
  actorId?: string;
  method?: string;
  status?: Readonly<{ first: number; last: number }>;
  code?: string;
  requestId?: string;
  fromMs?: number;
  toMs?: number;
}>;

/** `before`: the id of the last call of the page before. */
export type CallPage = Readonly<{ before?: string; skip?: number; limit: number }>;

export type RequestLog = Readonly<{
  /**
   * Keeps the calls, each once however often it is given. Of a team with more than `callsMax` the oldest go, at the
   * latest when a twentieth of that number has come on top.
   */
  write: (calls: readonly LoggedCall[]) => Promise<void>;
  /** The calls of a team that match, the newest first. */
  find: (team: string, filter: CallFilter, page: CallPage) => Promise<readonly LoggedCall[]>;
  /** How many match, counted up to `max`. */
  count: (team: string, filter: CallFilter, max: number) => Promise<number>;
  /** Deletes the calls before that time, of all teams; before LAST_CALL_MS all. */
  expire: (beforeMs: number) => Promise<void>;
  close: () => Promise<void>;
}>;

const TIME_DIGITS = 12;

/** A later time counts as this one, in the year 10889. */
export const LAST_CALL_MS = 0xffff_ffff_ffff;

/** The least id of a call of that millisecond. */
export const callIdAt = (ms: number): string =>
  Math.min(Math.max(0, Math.floor(ms)), LAST_CALL_MS)
    .toString(16)
    .padStart(TIME_DIGITS, '0');

/** The millisecond of a call, from its id. */
export const timeOfCall = (id: string): number => Number.parseInt(id.slice(0, TIME_DIGITS), 16);

/** The range of ids that a filter and a page allow: from `first` on, and before `end`. */
export const idRangeOf = (
  { fromMs, toMs }: Pick<CallFilter, 'fromMs' | 'toMs'>,
  before?: string,
): Readonly<{ first?: string; end?: string }> => {
  const ends = [before, toMs === undefined ? undefined : callIdAt(toMs + 1)].filter((end) => end !== undefined).sort();
  return {
    ...(fromMs === undefined ? {} : { first: callIdAt(fromMs) }),
    ...(ends[0] === undefined ? {} : { end: ends[0] }),
  };
};
