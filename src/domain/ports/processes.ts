/** Each running process of an instance tells of itself, so that any of them can show all. */
import type { JsonObject } from '../core/json.js';

export type Processes = Readonly<{
  /** Replaces what the process told before. It is shown for `ttlMs` from now on, by the clock of the engine. */
  tell: (id: string, told: JsonObject, ttlMs: number) => Promise<void>;
  /** The last that every living process told, in the order of their ids. */
  read: () => Promise<readonly JsonObject[]>;
  /** Nothing is shown of the process any more. */
  forget: (id: string) => Promise<void>;
  close: () => Promise<void>;
}>;
