/** The queries behind the lists of webhook subscriptions and their deliveries. */
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { DAY_MS } from '../../domain/core/time.js';
import type { WebhookListing } from '../../domain/webhooks/decider.js';
import { readCursor, readPage, writeCursor } from '../core/paging.js';
import type { Queries } from '../query-types.js';
import type { Listed } from '../core/pages.js';
import { webhookTrail } from './trail.js';
import { WEBHOOK_ATTEMPTS, WEBHOOKS, type WebhookDocument } from './webhooks.js';
import { failedAttempts, listDeliveries, listedWebhook, restorableWebhooks } from './reads.js';

type Deps = Readonly<{ readModels: ReadModels; clock: Clock; limits: Limits }>;

export const makeWebhookQueries = ({
  readModels,
  clock,
  limits,
}: Deps): Pick<Queries, 'listWebhooks' | 'restorableWebhooks' | 'webhookDeliveries' | 'webhookFailedAttempts' | 'webhookTrail'> => ({
  listWebhooks: (teamId, paging, { deleted } = {}) => {
    const deletedSince = isoTime(clock.now() - limits.restoreDays * DAY_MS);
    const where = deleted === undefined ? { team: { eq: teamId } } : { deletedOf: { eq: teamId }, deletedAt: { gte: deletedSince } };
    const searchTotalMax = limits.listTotalMax;
    const total = async () => {
      const count = await readModels.count(WEBHOOKS, { where }, searchTotalMax);
      return { total: count, isLowerBound: count >= searchTotalMax };
    };
    const list = { collection: WEBHOOKS, where, searchTotalMax, total, ...(deleted === undefined ? {} : { sortField: 'deletedAt' }) };
    return readPage<WebhookDocument, Listed<WebhookListing>>(readModels, list, paging, listedWebhook);
  },
  restorableWebhooks: (teamId, limit) => restorableWebhooks(readModels, teamId, limit),
  webhookDeliveries: async (id, { limit, cursor }) => {
    const from = cursor === undefined ? undefined : readCursor(cursor, WEBHOOK_ATTEMPTS, 'shown');
    const since = isoTime(clock.now() - limits.webhookRecordDays * DAY_MS);
    const after = from && { seq: from.seq, shown: Number(from.value) };
    const { deliveries, next } = await listDeliveries(readModels, id, since, { limit, cursor: after });
    const shown = next && { id: '', position: next.seq, ...next };
    return { deliveries, nextCursor: shown === undefined ? null : writeCursor(shown, WEBHOOK_ATTEMPTS, 'shown') };
  },
  webhookTrail: (teamId, told) => webhookTrail(readModels, teamId, told),
  webhookFailedAttempts: (id, number) => failedAttempts(readModels, id, number),
});
