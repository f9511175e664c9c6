/** `sealpost events unreadable`: every event that cannot be read, with what is wrong with it. */
import { unreadableEvents } from '../event-log/unreadable-events.js';
import { print, printFault, progressBar, unreadableLine } from './core/output.js';
import { exitCodes } from './core/exit-codes.js';
import { withEngine } from './core/engine.js';

export type EventsOptions = Readonly<{ json?: boolean }>;

export const listUnreadable = (options: EventsOptions): Promise<void> =>
  withEngine(async (engine) => {
    const bar = progressBar('log       ', await engine.eventLog.head());
    let count = 0;
    for await (const event of unreadableEvents(engine.eventLog, bar.update)) {
      count += 1;
      const { position, stream, revision, storedType, unreadable } = event;
      if (options.json === true) print(JSON.stringify({ position, stream, revision, type: storedType, cause: unreadable.message }));
      else print(unreadableLine(event));
    }
    bar.stop();
    if (count === 0) return options.json === true ? undefined : print('every event can be read');
    printFault(`${count} ${count === 1 ? 'event cannot' : 'events cannot'} be read; only their own streams are affected`);
    process.exitCode = exitCodes.damaged;
  });
