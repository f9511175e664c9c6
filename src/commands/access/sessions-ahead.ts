/** Sessions that begin in another process: they are read here, with their person, and their token is foreseen, before their first call comes. */
import { foreseeAccessToken, type TokenMakers } from './tokens.js';
import type { CommandDeps } from '../core/deps.js';
import { parseSessionId, parseUserId, splitStream, userStream, type StreamName } from '../../domain/core/ids.js';

/** Of more that begin at once the last ones are read by their first calls. */
const WAITING_MAX = 1_000;

/** Out: to be told of each session that begins; one after the other is read. */
export const readingSessionsAhead = (
  deps: Pick<CommandDeps, 'session' | 'user' | 'clock'> & TokenMakers,
): ((begun: StreamName) => void) => {
  const { session, user } = deps;
  const waiting: StreamName[] = [];
  let isReading = false;

  const readAll = async (): Promise<void> => {
    isReading = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        const { state } = await session(next);
        const [userId, sessionId] = [parseUserId(state?.userId ?? ''), parseSessionId(splitStream(next).id)];
        if (state === undefined || userId === undefined || sessionId === undefined) continue;
        await user(userStream(userId));
        // What is not good yet by the clock of this process is checked by its first call.
        const isGoodNow = Date.parse(state.refreshedAt) <= deps.clock.now();
        if (state.ended === undefined && isGoodNow) await foreseeAccessToken(deps, { userId, sessionId, at: state.refreshedAt });
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
