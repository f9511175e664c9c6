/** Sessions that begin in another process: they are read here, with their person, before their first call comes. */
import type { CommandDeps } from './deps.js';
import { parseUserId, userStream, type StreamName } from '../domain/ids.js';

/** Of more that begin at once the last ones are read by their first calls. */
const WAITING_MAX = 1_000;

/** Out: to be told of each session that begins; one after the other is read. */
export const readingSessionsAhead = ({ session, user }: Pick<CommandDeps, 'session' | 'user'>): ((begun: StreamName) => void) => {
  const waiting: StreamName[] = [];
  let isReading = false;

  const readAll = async (): Promise<void> => {
    isReading = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        const userId = parseUserId((await session(next)).state?.userId ?? '');
        if (userId !== undefined) await user(userStream(userId));
      } catch {
        // The call that needs it reads it itself, and is told what is wrong.
      }
    }
    isReading = false;
  };

  return (begun) => {
    if (waiting.length >= WAITING_MAX) return;
    waiting.push(begun);
    if (!isReading) void readAll();
  };
};
