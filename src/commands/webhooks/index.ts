/** The commands of webhooks, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { WebhookNeeds } from './needs.js';
import { webhookEvents, replayWebhook, retryWebhookDelivery } from './replays.js';
import {
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  restoreWebhook,
  rotateWebhookSecret,
  testWebhook,
} from './subscriptions.js';

export const webhookCommands = {
  createWebhook: {
    run: createWebhook,
    codes: ['VALIDATION_ERROR', 'WEBHOOK_LIMIT_REACHED', 'PLAN_LIMIT_EXCEEDED', ...writeCodes],
  },
  getWebhook: { run: getWebhook, codes: ['WEBHOOK_NOT_FOUND'] },
  updateWebhook: { run: updateWebhook, codes: ['WEBHOOK_NOT_FOUND', 'VALIDATION_ERROR', ...writeCodes] },
  deleteWebhook: { run: deleteWebhook, codes: ['WEBHOOK_NOT_FOUND', ...writeCodes] },
  restoreWebhook: {
    run: restoreWebhook,
    codes: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_LIMIT_REACHED', 'PLAN_LIMIT_EXCEEDED', ...writeCodes],
  },
  rotateWebhookSecret: {
    run: rotateWebhookSecret,
    codes: ['WEBHOOK_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', ...writeCodes],
  },
  testWebhook: { run: testWebhook, codes: ['WEBHOOK_NOT_FOUND'] },
  webhookEvents: { run: webhookEvents, codes: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_EVENT_NOT_FOUND'] },
  replayWebhook: {
    run: replayWebhook,
    codes: ['WEBHOOK_NOT_FOUND', 'VALIDATION_ERROR', 'WEBHOOK_DISABLED', 'WEBHOOK_REPLAY_UNDER_WAY', ...writeCodes],
  },
  retryWebhookDelivery: {
    run: retryWebhookDelivery,
    codes: [
      'WEBHOOK_NOT_FOUND',
      'WEBHOOK_DELIVERY_NOT_FOUND',
      'WEBHOOK_DELIVERY_NOT_FAILED',
      'WEBHOOK_DISABLED',
      ...writeCodes,
    ],
  },
} as const satisfies CommandTable<WebhookNeeds>;
