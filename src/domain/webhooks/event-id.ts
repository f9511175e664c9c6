/** Ids of webhook events: the number of the event for its subscription, and a key that is derived from both. They are the same on every attempt. */
import { hash } from 'node:crypto';
import type { WebhookId } from '../core/ids.js';

const KEY_CHARS = 22;

/** In: the subscription, the id of the event of the log, and the place of the recipient where it is about one. */
export const eventKey = (webhook: WebhookId, sourceEventId: string, recipient: number | undefined): string =>
  hash('sha256', `webhook event\n${webhook}\n${sourceEventId}\n${recipient ?? ''}`, 'base64url').slice(0, KEY_CHARS);

const written = (prefix: string, number: number, key: string): string => `${prefix}_${number.toString(36)}_${key}`;

/** `number`: how many events went to the subscription before it. */
export const webhookEventId = (number: number, key: string): string => written('evt', number, key);
export const deliveryId = (number: number, key: string): string => written('del', number, key);

const ID = /^(evt|del)_([0-9a-z]{1,11})_([A-Za-z0-9_-]{22})$/;

/** undefined where it is no such id. */
export const readWebhookEventId = (text: string, prefix: 'evt' | 'del'): Readonly<{ number: number; key: string }> | undefined => {
  const [, kind, number, key] = ID.exec(text) ?? [];
  if (kind !== prefix || number === undefined || key === undefined) return undefined;
  const parsed = Number.parseInt(number, 36);
  return Number.isSafeInteger(parsed) ? { number: parsed, key } : undefined;
};
