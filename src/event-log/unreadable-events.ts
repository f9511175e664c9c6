/** Finds every event of the log that cannot be read: damaged, without its file, or written by a newer program. */
import type { Unreadable } from './decoding.js';
import { isUnreadable } from './decoding.js';
import type { EventLog } from './event-log.js';
import type { StreamName } from '../domain/core/ids.js';

/**
 * Reads the whole log and decrypts what has a key. `onProgress` is told of the position up to which all was looked at. What a stream that
 * is being erased lacks is no fault, so an event is told of only where its stream says the same.
 */
export async function* unreadableEvents(
  eventLog: Pick<EventLog, 'readAll' | 'inspect'>,
  onProgress: (position: number) => void = () => {},
): AsyncGenerator<Unreadable> {
  for await (const { unreadable, position } of eventLog.readAll(0, { unknown: 'listed' })) {
    for (const event of unreadable) {
      const inStream = await eventLog.inspect(event.stream as StreamName);
      if (inStream.some((one) => one.position === event.position && isUnreadable(one))) yield event;
    }
    onProgress(position);
  }
}
