/**
 * Note of the log that the other stores keep: it tells them from those of another instance, and an older copy from the
 * newest.
 */

/** An event that a store has seen in its log. `instance` names the log: it is the hash of its first event. */
export type LogNote = Readonly<{ instance: string; position: number; hash: string }>;

/** A store that keeps a note beside what it holds, so that a copy of the store has the note of its time. */
export type NotedStore = Readonly<{
  /** The file or directory, as messages name it. */
  place: string;
  /** Undefined where it is new, or was made before there were notes. */
  note: () => Promise<LogNote | undefined>;
  /** Durable when it resolves. */
  setNote: (note: LogNote) => Promise<void>;
  close: () => Promise<void>;
}>;

export type NotedFiles = NotedStore &
  Readonly<{
    /** Whether the file of that hash is there; its content is not looked at. */
    has: (hash: string) => Promise<boolean>;
  }>;

export type NotedKeys = NotedStore &
  Readonly<{
    /** False for a key that is there, and for one that never was: that one is missing. */
    isDestroyed: (id: string) => Promise<boolean>;
    /** The ids of all destroyed keys, in batches. */
    destroyed: () => Iterable<readonly string[]> | AsyncIterable<readonly string[]>;
  }>;

export type NotedStores = Readonly<{ keys: NotedKeys; files: NotedFiles; readModels: NotedStore }>;
