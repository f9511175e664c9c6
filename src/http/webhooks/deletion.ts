/** Webhook subscriptions that are deleted: for some days they can be taken back. */
import { DeletedSchema, DeleteQuerySchema, idParams } from '../../api/core/common.js';
import { WebhookRecordSchema } from '../../api/webhooks.js';
import { WEBHOOKS_MAX } from '../../domain/webhooks/slots.js';
import { parseWebhookId, type TeamId, type WebhookId } from '../../domain/core/ids.js';
import { webhookNotFound } from '../../domain/webhooks/decider.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries'>;

const PATH = '/api/v1/webhook-subscriptions';
const tags = ['Webhooks'];
const access = 'webhooks:write';
const unknownId = 'WEBHOOK_NOT_FOUND';
const params = idParams('Id of the subscription (`wh_…`)');
/** More than are restorable at any time, but for what is deleted at the same moment. */
const RESTORABLE_READ_MAX = 100;

/** A malformed id is answered as an unknown one. */
export const webhookIdOf = (text: string): WebhookId => {
  const id = parseWebhookId(text);
  if (id === undefined) throw webhookNotFound();
  return id;
};

/** How many subscriptions the team has. */
export const heldBy = async ({ queries }: Pick<HttpDeps, 'queries'>, teamId: TeamId): Promise<number> => {
  await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
  return (await queries.listWebhooks(teamId, { page: 1, limit: 1 })).meta.total;
};

/** Registers the routes by which a subscription goes and comes back. */
export const webhookDeletionRoutes = (app: App, deps: Deps): void => {
  app.delete(
    `${PATH}/:id`,
    {
      config: { access, command: 'deleteWebhook', unknownId },
      preValidation: coerceQuery(DeleteQuerySchema),
      schema: {
        summary: 'Delete a webhook subscription',
        description:
          'Nothing more is posted. For 30 days `POST …/{id}/restore` takes it back; then its URL, its secret and the records of its deliveries are destroyed.',
        operationId: 'deleteWebhook',
        tags,
        params,
        querystring: DeleteQuerySchema,
        response: { 200: DeletedSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const deleted = await deps.commands.deleteWebhook(caller, webhookIdOf(request.params.id), request.query);
      // A team that makes and deletes without end keeps no more than it may have: the oldest are gone before their time.
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const restorable = await deps.queries.restorableWebhooks(caller.teamId, RESTORABLE_READ_MAX);
      for (const id of restorable.slice(0, -WEBHOOKS_MAX)) await deps.commands.deleteWebhook(caller, id, { permanently: true });
      return deleted;
    },
  );

  app.post(
    `${PATH}/:id/restore`,
    {
      config: { access, command: 'restoreWebhook', unknownId },
      schema: {
        summary: 'Restore a deleted webhook subscription',
        description:
          'Within 30 days of its deletion, with its secret; of a team that deletes many, the last 25. It is sent what occurs from now on.',
        operationId: 'restoreWebhook',
        tags,
        params,
        response: { 200: WebhookRecordSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const id = webhookIdOf(request.params.id);
      return deps.commands.restoreWebhook(caller, id, await heldBy(deps, caller.teamId));
    },
  );
};
