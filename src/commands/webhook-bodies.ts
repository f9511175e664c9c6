/** The body of an event that goes to a subscription, made of the log each time. */
import { EventUnreadable } from '../domain/errors.js';
import type { StreamName } from '../domain/ids.js';
import { bodyOf } from '../domain/webhook/body.js';
import type { RoutedEntry } from '../domain/webhook/events.js';
import type { EventLog } from '../event-log/event-log.js';

export type BodyDeps = Readonly<{ eventLog: Pick<EventLog, 'load'> }>;

/** undefined where what it would say is destroyed or damaged. */
export const loadedBody = async ({ eventLog }: BodyDeps, entry: RoutedEntry): Promise<string | undefined> => {
  try {
    const recorded = await eventLog.load(entry.stream as StreamName);
    return bodyOf(
      entry,
      recorded.slice(0, entry.revision + 1).map(({ event }) => event),
    );
  } catch (fault) {
    if (fault instanceof EventUnreadable) return undefined;
    throw fault;
  }
};
