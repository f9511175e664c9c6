/**
 * Calls to a server by the programs of webhook faults: a key without limits, subscriptions, and their delivery records.
 */
import type { CreatedApiKey } from '../../src/api/keys.js';
import type { CreatedWebhook, WebhookDelivery, WebhookEvents, WebhookRecord } from '../../src/api/webhooks.js';
import { defaultLimits } from '../../src/domain/core/limits.js';

export type WebhookApi = Readonly<{
  key: string;
  call: <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>;
  subscribe: (url: string, events: readonly string[]) => Promise<CreatedWebhook>;
  subscription: (id: string) => Promise<WebhookRecord>;
  /** All events of a subscription in their order, asked for page by page. */
  events: (id: string) => Promise<WebhookEvents['events']>;
  /** All attempts of a subscription that are recorded, the newest first. */
  deliveries: (id: string) => Promise<readonly WebhookDelivery[]>;
}>;

export const WEBHOOKS_PATH = '/api/v1/webhook-subscriptions';
const PAGE = 100;

/** `base` is asked for anew at each call: a server that was started again listens elsewhere. */
export const webhookApi = (base: () => string, key: string): WebhookApi => {
  const call: WebhookApi['call'] = async <Answer>(method: string, path: string, body?: unknown) => {
    const response = await fetch(base() + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return JSON.parse(text) as Answer;
  };
  return {
    key,
    call,
    subscribe: (url, events) => call('POST', WEBHOOKS_PATH, { url, events }),
    subscription: (id) => call('GET', `${WEBHOOKS_PATH}/${id}`),
    events: async (id) => {
      const all: WebhookEvents['events'][number][] = [];
      for (;;) {
        const after = all.length === 0 ? '' : `&after=${all.at(-1)!.id}`;
        const { events, hasMore } = await call<WebhookEvents>(
          'GET',
          `${WEBHOOKS_PATH}/${id}/events?limit=${PAGE}${after}`,
        );
        all.push(...events);
        if (!hasMore) return all;
      }
    },
    deliveries: async (id) => {
      const all: WebhookDelivery[] = [];
      for (let cursor = ''; ;) {
        const path = `${WEBHOOKS_PATH}/${id}/deliveries?limit=${PAGE}${cursor}`;
        const { deliveries, nextCursor } = await call<{ deliveries: WebhookDelivery[]; nextCursor: string | null }>(
          'GET',
          path,
        );
        all.push(...deliveries);
        if (nextCursor === null) return all;
        cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
      }
    },
  };
};

/** With a key whose limits no program reaches. */
export const openWebhookApi = async (base: () => string, firstKey: string): Promise<WebhookApi> => {
  const body = {
    name: 'webhook faults',
    permissions: ['emails:send', 'emails:read', 'webhooks:manage'],
    rateLimit: defaultLimits.apiKeyRateLimitMax,
  };
  const { key } = await webhookApi(base, firstKey).call<CreatedApiKey>('POST', '/api/api-keys', body);
  return webhookApi(base, key);
};
