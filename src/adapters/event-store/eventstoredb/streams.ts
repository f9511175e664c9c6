/** The names of our streams at a server that others may use too. */
import { TRUNCATED, type RecordedServerEvent } from './records.js';

export type StreamNames = Readonly<{
  /** As it is called at the server. */
  atServer: (stream: string) => string;
  /** As it is called here; undefined where it is not ours. */
  ours: (atServer: string) => string | undefined;
  /** What the names of the streams of these kinds begin with at the server; all of ours where absent. */
  prefixes: (kinds: readonly string[] | undefined) => readonly string[];
  /** Beside the log, where the types of event are noted. */
  typeNotes: string;
}>;

/** No stream and no type begins so: a filter without any prefix would let all through. */
export const NOTHING = '\u0000';

export const streamNames = (prefix: string): StreamNames => {
  const begin = `${prefix}.`;
  return {
    atServer: (stream) => begin + stream,
    ours: (name) => (name.startsWith(begin) ? name.slice(begin.length) : undefined),
    prefixes: (kinds) => {
      if (kinds === undefined) return [begin];
      return kinds.length === 0 ? [begin + NOTHING] : kinds.map((kind) => begin + kind);
    },
    // Without the dot it is no stream of the log, and no log of another prefix has it.
    typeNotes: `${prefix}-types`,
  };
};

/** Whether an event is of one of the kinds: the server's filter lets longer names through too. */
export const kindMatcher = (kinds: readonly string[] | undefined): ((stream: string) => boolean) => {
  if (kinds === undefined) return () => true;
  const wanted = new Set(kinds);
  return (stream) => {
    const at = stream.indexOf('-');
    return wanted.has(at < 0 ? stream : stream.slice(0, at));
  };
};

/** Whether an event is of one of the stored names; the server's filter lets longer ones through too. */
export const typeMatcher = (types: readonly string[] | undefined): ((type: string) => boolean) => {
  if (types === undefined) return () => true;
  const wanted = new Set(types);
  return (type) => wanted.has(type);
};

/** The event under our name for its stream; undefined where that is not ours, or where it only stands for one that was truncated. */
export const renamed = (names: StreamNames, event: RecordedServerEvent): RecordedServerEvent | undefined => {
  const stream = names.ours(event.stream);
  return stream === undefined || event.type === TRUNCATED ? undefined : { ...event, stream };
};
