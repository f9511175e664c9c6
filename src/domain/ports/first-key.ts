/** Keeps the first API key until somebody has read it. */

export type PendingFirstKey = Readonly<{
  /** undefined where none waits. */
  read: () => string | undefined;
  /** Durable when it returns; readable for the owner of the process alone. */
  keep: (key: string) => void;
  remove: () => void;
}>;
