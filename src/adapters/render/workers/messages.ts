/**
 * The messages between the service and a document process, and the names of the lines that the process writes on its
 * error output.
 */
import type { LogFields } from '../../../domain/ports/logger.js';

/** The first message that a process gets. */
export type StartMessage = Readonly<{
  kind: 'start';
  /** A module whose default export takes the settings and answers the function that does a job. */
  file: string;
  settings: unknown;
  /** The process ends itself when it has more than this resident, in its heap and outside of it. */
  residentBytesMax: number;
  /** The process ends itself when this one is no longer its parent. */
  parentPid: number;
}>;

export type JobMessage = Readonly<{ kind: 'job'; job: unknown }>;
export type ToProcess = StartMessage | JobMessage;

export type FromProcess =
  | Readonly<{
      kind: 'answer';
      result: unknown;
      /** Memory of the whole process after the job. */ residentBytes: number;
    }>
  /** The last message: where the fault came from, without a word of what the document says. */
  | Readonly<{ kind: 'fault'; trace: LogFields }>;

/** The default export of the module that does the jobs. */
export type MakeHandler = (settings: unknown) => (job: unknown) => Promise<unknown>;

/** Written to the error output by the guard before it ends the process for its memory. */
export const MEMORY_NOTE = 'sealpost: the process has passed its memory ceiling';
