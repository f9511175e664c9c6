/** Checks of replays. */
import type { HookPost } from './endpoints.js';
import type { Finding } from './oracles.js';
import type { Subscription } from './webhook-log.js';
import { isWorking, type Sent } from './webhook-sent.js';

/**
 * Every event that a replay asked for was sent again. An event that counts as taken was posted after the replay began,
 * not only before.
 */
export const replayedFindings = (
  subscription: Subscription,
  sent: readonly Sent[],
  posts: readonly HookPost[],
): Finding[] => {
  const { id, attempts, replays, isReplaying } = subscription;
  const left = new Map<string, number>();
  for (const { headers, leftMs } of posts) {
    const event = headers['x-service-event-id'] ?? '';
    left.set(event, Math.max(left.get(event) ?? 0, leftMs));
  }
  const found = attempts.flatMap(({ outcome: { number, key, result, attemptedAt } }) => {
    const event = `evt_${number.toString(36)}_${key}`;
    const isPosted = (left.get(event) ?? 0) >= Date.parse(attemptedAt);
    return result === 'success' && !isPosted
      ? [`${event} is said to have been taken at ${attemptedAt}, and was not posted then`]
      : [];
  });
  if (isWorking(subscription) && !isReplaying)
    for (const { replay, attempts: before } of replays) {
      const { next, end, events, since = '', until = '~' } = replay;
      const tried = new Set(attempts.slice(before).map(({ outcome }) => outcome.number));
      for (const { number, id: event, entry } of sent.slice(next, end)) {
        const isWanted = (events === undefined || events.includes(entry.kind)) && entry.at >= since && entry.at < until;
        if (isWanted && !tried.has(number)) found.push(`${event} was not sent again, as a replay asked`);
      }
    }
  return found.map((text) => ({ oracle: 'webhook-replayed', message: `${id}: ${text}` }));
};
