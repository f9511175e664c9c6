/**
 * The routes under /api/v1/webhook-subscriptions: subscriptions, their deliveries, and their events for receivers that
 * pull.
 */
import type { HookHandlerDoneFunction } from 'fastify';
import { Type } from '@sinclair/typebox';
import { DeletedSchema, DeleteQuerySchema, idParams, pageOf } from '../../api/core/common.js';
import {
  WebhookRecordSchema,
  CreatedWebhookSchema,
  CreateWebhookRequestSchema,
  ReplayedWebhookSchema,
  ReplayWebhookRequestSchema,
  RotatedSecretSchema,
  RotateSecretRequestSchema,
  UpdateWebhookRequestSchema,
  WebhookDeliveriesQuerySchema,
  WebhookDeliveriesSchema,
  WebhookDeliverySchema,
  WebhookEventsQuerySchema,
  WebhookEventsSchema,
  WebhookRetriedSchema,
} from '../../api/webhooks.js';
import { webhookNotFound } from '../../domain/webhooks/decider.js';
import { parseWebhookId, type TeamId, type WebhookId } from '../../domain/core/ids.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { coerceQuery } from '../server/validation.js';
import { WebhookListQuerySchema } from '../../api/core/queries.js';
import {
  createWebhookExamples,
  replayWebhookExamples,
  rotateSecretExamples,
  updateWebhookExamples,
} from '../../api/examples.js';
import { readWebhookEventId } from '../../domain/webhooks/delivery.js';
import { answered, bodyMayBeAbsent, checkIdempotencyKey, idempotencyOf } from '../server/headers.js';
import { pagingOf } from '../server/query.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits'>;

const PATH = '/api/v1/webhook-subscriptions';

const tags = ['Webhooks'];

const access = 'webhooks:write';

const readable = 'webhooks:read';

const unknownId = 'WEBHOOK_NOT_FOUND';

const params = idParams('Id of the subscription (`wh_…`)');

const deliveryParams = Type.Object({
  id: Type.String({ description: 'Id of the subscription (`wh_…`)' }),
  deliveryId: Type.String({ description: 'Id of the delivery (`del_…`)' }),
});

/** Restorable subscriptions beyond the most of a team that one deletion reads: more than parallel deletions leave. */
const RESTORABLE_BEYOND_MAX = 75;

type Hook = (request: never, reply: never, done: HookHandlerDoneFunction) => void;

/** Registers the routes under /api/v1/webhook-subscriptions. */
export const webhookRoutes = (app: App, deps: Deps): void => {
  collectionRoutes(app, deps);
  readRoutes(app, deps);
  deletionRoutes(app, deps);
  changeRoutes(app, deps);
  deliveryRoutes(app, deps);
  eventRoutes(app, deps);
};

const deletionRoutes = (app: App, deps: Deps): void => {
  app.delete(
    `${PATH}/:id`,
    {
      config: { access, command: 'deleteWebhook', unknownId },
      preValidation: coerceQuery(DeleteQuerySchema),
      schema: {
        summary: 'Delete a webhook subscription',
        description:
          'Posting stops at once. For 30 days `POST …/{id}/restore` takes it back; then its URL, its secret and the records of its deliveries are destroyed.',
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
      // A team that creates and deletes without end keeps no more deleted ones than it may have: the oldest are removed
      // early.
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const { webhooksMax } = deps.limits;
      const restorable = await deps.queries.restorableWebhooks(caller.teamId, webhooksMax + RESTORABLE_BEYOND_MAX);
      for (const id of restorable.slice(0, -webhooksMax))
        await deps.commands.deleteWebhook(caller, id, { permanently: true });
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
          'Within 30 days of its deletion, with its secret; of a team that deletes many, as many of the last ones as it may have. It is sent what occurs from now on.',
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

const collectionRoutes = (app: App, deps: Deps): void => {
  app.get(
    PATH,
    {
      config: { access: readable, codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(WebhookListQuerySchema),
      schema: {
        summary: 'List webhook subscriptions',
        description: 'Newest first.',
        operationId: 'listWebhooks',
        tags,
        querystring: WebhookListQuerySchema,
        response: { 200: pageOf(WebhookRecordSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return deps.queries.listWebhooks(
        teamId,
        pagingOf(request.query),
        request.query.deleted === true ? { deleted: true } : {},
      );
    },
  );

  app.post(
    PATH,
    {
      config: { access, command: 'createWebhook', examples: createWebhookExamples },
      schema: {
        summary: 'Subscribe to events',
        description: 'Keep the answer: the secret that signs what is posted is never shown again.',
        operationId: 'createWebhook',
        tags,
        body: CreateWebhookRequestSchema,
        response: { 201: CreatedWebhookSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const held = await heldBy(deps, caller.teamId);
      const created = await deps.commands.createWebhook(caller, request.body, held);
      reply.code(201);
      return created;
    },
  );
};

const readRoutes = (app: App, deps: Deps): void => {
  app.get(
    `${PATH}/:id`,
    {
      config: { access: readable, command: 'getWebhook', unknownId },
      schema: {
        summary: 'Read a webhook subscription',
        operationId: 'getWebhook',
        tags,
        params,
        response: { 200: WebhookRecordSchema },
      },
    },
    (request) => deps.commands.getWebhook(callerOf(request), webhookIdOf(request.params.id)),
  );
};

const changeRoutes = (app: App, deps: Deps): void => {
  app.patch(
    `${PATH}/:id`,
    {
      config: { access, command: 'updateWebhook', unknownId, examples: updateWebhookExamples },
      schema: {
        summary: 'Change a webhook subscription',
        operationId: 'updateWebhook',
        tags,
        params,
        body: UpdateWebhookRequestSchema,
        response: { 200: WebhookRecordSchema },
      },
    },
    (request) => deps.commands.updateWebhook(callerOf(request), webhookIdOf(request.params.id), request.body),
  );

  app.post(
    `${PATH}/:id/rotate-secret`,
    {
      config: { access, command: 'rotateWebhookSecret', unknownId, examples: rotateSecretExamples, idempotent: true },
      onRequest: checkIdempotencyKey(deps.limits.idempotencyKeyCharsMax) satisfies Hook,
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Rotate the secret of a webhook subscription',
        description:
          'In the overlap `webhook-signature` carries the signatures of every secret whose overlap runs, and `X-Service-Signature` that of the oldest; `overlapHours: 0` ends all others. With an `Idempotency-Key` the answer can be asked for again.',
        operationId: 'rotateWebhookSecret',
        tags,
        params,
        body: RotateSecretRequestSchema,
        response: { 200: RotatedSecretSchema },
      },
    },
    async (request, reply) =>
      answered(
        reply,
        await deps.commands.rotateWebhookSecret(
          callerOf(request),
          webhookIdOf(request.params.id),
          request.body,
          idempotencyOf(request),
        ),
      ),
  );

  app.post(
    `${PATH}/:id/test`,
    {
      config: { access, command: 'testWebhook', unknownId },
      schema: {
        summary: 'Send a test event',
        description: 'Posts an `email.delivered` of no email to the URL, once, and answers with what came of it.',
        operationId: 'testWebhook',
        tags,
        params,
        response: { 200: WebhookDeliverySchema },
      },
    },
    (request) => deps.commands.testWebhook(callerOf(request), webhookIdOf(request.params.id)),
  );
};

const deliveryRoutes = (app: App, deps: Deps): void => {
  app.get(
    `${PATH}/:id/deliveries`,
    {
      config: { access: readable, command: 'getWebhook', unknownId, codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(WebhookDeliveriesQuerySchema),
      schema: {
        summary: 'List the deliveries of a webhook subscription',
        description:
          'Each attempt of the last 30 days, newest first. With a filter, a page may have fewer attempts than `limit` and a `nextCursor`.',
        operationId: 'listWebhookDeliveries',
        tags,
        params,
        querystring: WebhookDeliveriesQuerySchema,
        response: { 200: WebhookDeliveriesSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const id = webhookIdOf(request.params.id);
      await deps.commands.getWebhook(caller, id);
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const { limit = deps.limits.pageSizeDefault, cursor, ...filter } = request.query;
      return deps.queries.webhookDeliveries(id, { limit, cursor }, filter);
    },
  );

  app.post(
    `${PATH}/:id/deliveries/:deliveryId/retry`,
    {
      config: { access, command: 'retryWebhookDelivery', unknownId },
      schema: {
        summary: 'Try a failed delivery again',
        description: 'It is posted again within seconds, with the same event id and the same body.',
        operationId: 'retryWebhookDelivery',
        tags,
        params: deliveryParams,
        response: { 200: WebhookRetriedSchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const id = webhookIdOf(request.params.id);
      const { deliveryId } = request.params;
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const number = readWebhookEventId(deliveryId, 'del')?.number;
      const failed = number === undefined ? undefined : await deps.queries.webhookFailedAttempts(id, number);
      return deps.commands.retryWebhookDelivery(caller, id, deliveryId, failed);
    },
  );
};

const eventRoutes = (app: App, deps: Deps): void => {
  app.get(
    `${PATH}/:id/events`,
    {
      config: { access: readable, command: 'webhookEvents', unknownId },
      preValidation: coerceQuery(WebhookEventsQuerySchema),
      schema: {
        summary: 'Read the events of a webhook subscription',
        description: 'Those that are posted, in the same order and with the same bodies, after a given one.',
        operationId: 'listWebhookEvents',
        tags,
        params,
        querystring: WebhookEventsQuerySchema,
        response: { 200: WebhookEventsSchema },
      },
    },
    (request) => deps.commands.webhookEvents(callerOf(request), webhookIdOf(request.params.id), request.query),
  );

  app.post(
    `${PATH}/:id/replay`,
    {
      config: { access, command: 'replayWebhook', unknownId, examples: replayWebhookExamples },
      schema: {
        summary: 'Send events again',
        description:
          'Those that went to the subscription since a moment are posted again, with the same ids and bodies; those that it missed, for it was disabled or did not ask for their kind, are posted now.',
        operationId: 'replayWebhook',
        tags,
        params,
        body: ReplayWebhookRequestSchema,
        response: { 200: ReplayedWebhookSchema },
      },
    },
    (request) => deps.commands.replayWebhook(callerOf(request), webhookIdOf(request.params.id), request.body),
  );
};

/** A malformed id is answered as an unknown one. */
const webhookIdOf = (text: string): WebhookId => {
  const id = parseWebhookId(text);
  if (id === undefined) throw webhookNotFound();
  return id;
};

/** How many subscriptions the team has. */
const heldBy = async ({ queries }: Pick<HttpDeps, 'queries'>, teamId: TeamId): Promise<number> => {
  await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
  return (await queries.listWebhooks(teamId, { page: 1, limit: 1 })).meta.total;
};
