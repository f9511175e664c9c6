/** How the `index.ts` of a capability lists its commands. */
import type { ErrorCode } from '../../domain/core/errors.js';

export type Codes = readonly ErrorCode[];

/** `Needs`: what the function takes first, before what the caller gives. */
export type Command<Needs> = Readonly<{
  run: (needs: Needs, ...args: never[]) => unknown;
  /** The codes that it may reject with; the API description names them for its endpoint. */
  codes: Codes;
  /** Appends once, after all that may fail before: if it rejects with StoreAway, nothing has changed. */
  appendsOnce?: true;
}>;

export type CommandTable<Needs> = Readonly<Record<string, Command<Needs>>>;

/** The codes of every write: other writers may be faster each time, and a server may stop answering during a write. */
export const writeCodes: Codes = ['CONFLICT', 'OUTCOME_UNKNOWN'];
