/** When a delivery is tried again, and when a subscription is given up. */
import { DAY_MS } from '../core/time.js';
import { hash } from 'node:crypto';

const DELAYS_MS = [60_000, 5 * 60_000, 30 * 60_000] as const;
export const ATTEMPTS_MAX = DELAYS_MS.length + 1;
const JITTER_SHARE = 0.1;
const RETRY_AFTER_MAX_MS = 60 * 60_000;
/** Nothing but failures for that long disables a subscription. */
export const FAILING_MAX_MS = 5 * DAY_MS;

/**
 * The moment of the attempt after the one with that number; undefined where there is none. The jitter is derived from the id of the event,
 * below a tenth of the pause; `retryAfterMs`, what the receiver asked for, only makes the pause longer.
 */
export const nextAttemptMs = (attempt: number, eventId: string, nowMs: number, retryAfterMs = 0): number | undefined => {
  const delayMs = DELAYS_MS[attempt - 1];
  if (delayMs === undefined) return undefined;
  const share = hash('sha256', `${eventId}\n${attempt}`, 'buffer').readUInt32BE(0) / 0x1_0000_0000;
  const pauseMs = delayMs + Math.floor(delayMs * JITTER_SHARE * share);
  return nowMs + Math.max(pauseMs, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS));
};

/** In: a Retry-After header (RFC 9110, section 10.2.3). Out: the pause it asks for; 0 where it says nothing that can be read. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number => {
  if (header === undefined) return 0;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs);
};
