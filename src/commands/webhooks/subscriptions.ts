/**
 * Commands on webhook subscriptions: create, change, delete and restore them, rotate the secret, send a test event; and
 * the mail to owners when one is disabled.
 */
import { sendAccountMail } from '../email/service-mails.js';
import type { Answer, Idempotency } from '../core/idempotency.js';
import { loadState, handle, handleKeyed } from '../core/handle.js';
import type { WebhookNeeds } from './needs.js';
import type { Loaded } from '../core/ports.js';
import { userDecider } from '../../domain/people/decider.js';
import {
  assertDefined,
  emailIdOfFingerprint,
  parseTeamId,
  teamStream,
  userStream,
  webhookStream,
  type UserId,
  type WebhookId,
  webhookIdOf,
  type TeamId,
} from '../../domain/core/ids.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { Team } from '../../domain/teams/state.js';
import {
  webhookDecider,
  webhookLimitReached,
  endpointOf,
  webhookListing,
  webhookNotFound,
  type Webhook,
  type WebhookCommand,
  type WebhookState,
} from '../../domain/webhooks/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import { type Caller, ownedBy, causeOf } from '../core/caller.js';
import { eraseStream, type EraseDeps, removableBefore, restorableSince } from '../core/erase.js';
import { idsOfKind, withPlace, type Place } from '../billing/plan-limits.js';
import { endOutcomes } from './records.js';
import type {
  CreatedWebhook,
  CreateWebhookRequest,
  RotatedSecret,
  RotateSecretRequest,
  UpdateWebhookRequest,
  WebhookDelivery,
  WebhookRecord,
} from '../../api/webhooks.js';
import type { Deleted, DeleteQuery } from '../../api/core/common.js';
import { invalid } from '../../domain/core/errors.js';
import { isoTime } from '../../domain/core/time.js';
import { testBody } from '../../domain/webhooks/body.js';
import { deliveryId, eventKey, webhookEventId, formatSecret, SECRET_BYTES } from '../../domain/webhooks/delivery.js';
import type { WebhookEvent } from '../../domain/webhooks/events.js';
import { attemptDelivery } from './attempt.js';

export type DisabledWebhook = Readonly<{ id: WebhookId; reason: 'gone' | 'failing' }>;

type OpenWebhook = Webhook & Readonly<{ sealed: NonNullable<Webhook['sealed']> }>;

type DestroyDeps = EraseDeps & Pick<WebhookNeeds, 'eventLog'>;

const DISABLED_TEXTS: Readonly<Record<DisabledWebhook['reason'], string>> = {
  gone: 'It answered 410, which says that it is gone for good.',
  failing: 'For five days it has taken nothing of what was sent to it.',
};

const HOUR_MS = 3_600_000;

const OVERLAP_HOURS = 24;

/** `held`: how many subscriptions the team has; the route asks the read model first. */
export const createWebhook = async (
  deps: WebhookNeeds,
  caller: Caller,
  { url, events, description, enabled = true }: CreateWebhookRequest,
  held: number,
): Promise<CreatedWebhook> => {
  assertUrl(deps, url);
  assertRoom(deps, held);
  const id = webhookIdOf(deps.ids.bytes(16));
  const secret = formatSecret(deps.ids.bytes(SECRET_BYTES));
  const cause = causeOf(deps, caller);
  const created = {
    type: 'WebhookCreated' as const,
    data: { at: cause.at, events: [...events], enabled },
    sealed: { url, secret, ...(description === undefined ? {} : { description }) },
  } satisfies WebhookEvent;
  const { state } = await withPlace(deps, caller, placeOf(deps, caller, id), () =>
    handle(deps.eventLog, webhookStream(id), webhookDecider, { type: 'CreateWebhook', created }, cause),
  );
  return { ...webhookListing(id, state!, state!.sealed!), secret };
};

export const getWebhook = async (deps: WebhookNeeds, caller: Caller, id: WebhookId): Promise<WebhookRecord> => {
  const webhook = await openWebhook(deps, caller, id);
  return webhookListing(id, webhook, webhook.sealed);
};

export const updateWebhook = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  request: UpdateWebhookRequest,
): Promise<WebhookRecord> => {
  if (request.url !== undefined) assertUrl(deps, request.url);
  const { sealed, ...webhook } = await change(deps, caller, id, (at) => ({ type: 'ChangeWebhook', at, ...request }));
  if (sealed === undefined) throw webhookNotFound();
  return webhookListing(id, webhook, sealed);
};

/**
 * Deletes it, so that it can be restored for some days. `permanently`: destroys it now, also if it was deleted before.
 */
export const deleteWebhook = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  { permanently = false }: DeleteQuery = {},
): Promise<Deleted> => {
  const cause = causeOf(deps, caller);
  if (permanently)
    await destroyWebhook(deps, id, { type: 'DeleteWebhook', at: cause.at }, cause, assertNotGone(caller.teamId));
  else await change(deps, caller, id, (at) => ({ type: 'TrashWebhook', at }));
  return { id, deleted: true };
};

/**
 * `held`: how many subscriptions the team has; the route asks the read model first. A subscription that is not deleted
 * stays as it is.
 */
export const restoreWebhook = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  held: number,
): Promise<WebhookRecord> => {
  const cause = causeOf(deps, caller);
  const command = { type: 'RestoreWebhook' as const, at: cause.at, deletedSince: restorableSince(deps) };
  const guard = (loaded: Loaded<WebhookState>): void => {
    assertNotGone(caller.teamId)(loaded);
    if (loaded.state?.deletedAt !== null) assertRoom(deps, held);
  };
  const before = await loadState(deps.eventLog, webhookStream(id), webhookDecider);
  guard(before);
  const restore = () => handle(deps.eventLog, webhookStream(id), webhookDecider, command, cause, guard);
  // A subscription that is not deleted has its place already.
  const isDeleted = before.state?.deletedAt !== null;
  const { state } = await (isDeleted ? withPlace(deps, caller, placeOf(deps, caller, id), restore) : restore());
  if (state?.sealed === undefined) throw webhookNotFound();
  return webhookListing(id, state, state.sealed);
};

export const rotateWebhookSecret = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  { overlapHours = OVERLAP_HOURS }: RotateSecretRequest = {},
  idempotency?: Idempotency,
): Promise<Answer<RotatedSecret>> => {
  const secret = formatSecret(deps.ids.bytes(SECRET_BYTES));
  const overlapUntil = isoTime(deps.clock.now() + overlapHours * HOUR_MS);
  const cause = causeOf(deps, caller);
  const { state, replayed } = await handleKeyed(deps, webhookStream(id), webhookDecider, {
    command: (key) => ({ type: 'RotateSecret' as const, at: cause.at, overlapUntil, secret, ...key }),
    earlier: ({ rotation }, key) => (rotation?.idempotencyKey === key ? rotation : undefined),
    idempotency,
    cause,
    guard: ownedBy(caller.teamId, webhookNotFound),
  });
  const { sealed } = state;
  if (sealed === undefined) throw webhookNotFound();
  const body = {
    ...webhookListing(id, state, sealed),
    secret: sealed.secret,
    overlapUntil: state.overlapUntil ?? overlapUntil,
  };
  return { body, replayed };
};

/**
 * Sends an `email.delivered` of no email once, and answers with the outcome. It is in no list, and other events do not
 * refer to it.
 */
export const testWebhook = async (deps: WebhookNeeds, caller: Caller, id: WebhookId): Promise<WebhookDelivery> => {
  const webhook = await openWebhook(deps, caller, id);
  const nowMs = deps.clock.now();
  const key = eventKey(id, deps.ids.uuid(), undefined);
  const event = {
    id: webhookEventId(nowMs, key),
    previousId: null,
    kind: 'email.delivered',
    body: testBody(isoTime(nowMs)),
  };
  const { answer, ...tried } = await attemptDelivery(
    deps,
    id,
    endpointOf(webhook.sealed),
    event,
    new AbortController().signal,
  );
  const { statusCode, responseMs, error, attemptedAt, result: status } = tried;
  return {
    id: deliveryId(nowMs, key),
    eventId: event.id,
    event: event.kind,
    status,
    attempt: 1,
    ...(statusCode === undefined ? {} : { statusCode }),
    responseTime: responseMs,
    attemptedAt,
    ...(error === undefined ? {} : { error }),
    ...(answer === null ? {} : { response: answer }),
  };
};

/** The subscription of the team. That of another team, a deleted and an unknown one are refused alike. */
export const openWebhook = async (
  deps: Pick<WebhookNeeds, 'eventLog'>,
  caller: Pick<Caller, 'teamId'>,
  id: WebhookId,
): Promise<OpenWebhook> => {
  const loaded = await loadState(deps.eventLog, webhookStream(id), webhookDecider);
  ownedBy(caller.teamId, webhookNotFound)(loaded);
  const { sealed, ...webhook } = loaded.state!;
  if (sealed === undefined) throw webhookNotFound();
  return { ...webhook, sealed };
};

/** Removes a subscription that was deleted too long ago to be restored. Safe to repeat. */
export const removeWebhook = (
  deps: DestroyDeps & Pick<WebhookNeeds, 'clock' | 'limits'>,
  id: WebhookId,
  cause: Cause,
): Promise<void> =>
  destroyWebhook(
    deps,
    id,
    { type: 'RemoveWebhook', at: cause.at, deletedSince: removableBefore(deps) },
    cause,
    () => {},
  );

/** Removes a subscription whose team is removed, whether it was deleted or not. Safe to repeat. */
export const endWebhook = (deps: DestroyDeps, id: WebhookId, cause: Cause): Promise<void> =>
  destroyWebhook(deps, id, { type: 'DeleteWebhook', at: cause.at }, cause, () => {});

/**
 * Tells the owners of the team by mail that the subscription is disabled, which none of them asked for. Call it before
 * disabling: each owner gets one mail, however often the call is repeated, and none if it is disabled already. Rejects
 * as a send call does.
 */
export const tellOwners = async (deps: WebhookNeeds, { id, reason }: DisabledWebhook, cause: Cause): Promise<void> => {
  const { state: webhook, version } = await loadState(deps.eventLog, webhookStream(id), webhookDecider);
  if (webhook?.enabled !== true || webhook.sealed === undefined) return;
  const { state: team } = await deps.team(teamStream(assertDefined(parseTeamId(cause.teamId), 'team id')));
  if (team === undefined || team.deletedAt !== undefined) return;
  const variables = {
    team: team.settings.name,
    endpoint: new URL(webhook.sealed.url).origin,
    subscription: id,
    why: DISABLED_TEXTS[reason],
  };
  for (const userId of ownersOf(team)) {
    const to = await recipientOf(deps, userId);
    if (to === undefined) continue;
    const parts = JSON.stringify(['webhook-disabled', id, version.revision, userId]);
    const emailId = emailIdOfFingerprint(deps.keys.fingerprint('email id', parts));
    await sendAccountMail(deps, { kind: 'webhook-disabled', to, variables, id: emailId }, cause);
  }
};

const ownersOf = ({ members }: Team): readonly UserId[] =>
  [...(members ?? [])].filter(([, { role }]) => role === 'owner').map(([userId]) => userId);

/** undefined for an erased user. */
const recipientOf = async ({ eventLog }: WebhookNeeds, userId: UserId): Promise<Recipient | undefined> => {
  const { state: user } = await loadState(eventLog, userStream(userId), userDecider);
  if (user?.email === undefined) return undefined;
  return user.name === undefined ? { email: user.email } : { email: user.email, name: user.name };
};

const assertUrl = (deps: WebhookNeeds, text: string): void => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { insecureHosts } = deps.webhooks;
  if (
    url === undefined ||
    (url.protocol !== 'https:' && !(url.protocol === 'http:' && insecureHosts.includes(url.hostname)))
  )
    throw invalid('request body', 'url', 'must be an https URL');
  if (url.username !== '' || url.password !== '')
    throw invalid('request body', 'url', 'must carry no user name or password');
};

const assertRoom = ({ limits: { webhooksMax } }: WebhookNeeds, held: number): void => {
  if (held >= webhooksMax) throw webhookLimitReached(webhooksMax);
};

/** The place of a subscription within the plan of its team, and within what any team may have. */
const placeOf = (deps: WebhookNeeds, { teamId }: Caller, id: WebhookId): Place => ({
  resource: 'webhookSubscriptions',
  key: id,
  standingOf: async (key) => {
    const { state } = await loadState(deps.eventLog, webhookStream(key as WebhookId), webhookDecider);
    if (state === undefined) return 'absent';
    return state.deletedAt === null ? 'living' : 'gone';
  },
  all: idsOfKind(deps, teamId, 'webhook', 'WebhookCreated'),
  cap: { maximum: deps.limits.webhooksMax, refused: () => webhookLimitReached(deps.limits.webhooksMax) },
});

const change = async (
  deps: WebhookNeeds,
  caller: Caller,
  id: WebhookId,
  command: (at: string) => WebhookCommand,
): Promise<Webhook> => {
  const cause = causeOf(deps, caller);
  const owned = ownedBy(caller.teamId, webhookNotFound);
  const { state } = await handle(deps.eventLog, webhookStream(id), webhookDecider, command(cause.at), cause, owned);
  return state!;
};

/**
 * Appends the event, then destroys the key of the settings and ends the outcomes. The erase worker finishes what a
 * crash leaves.
 */
const destroyWebhook = async (
  deps: DestroyDeps,
  id: WebhookId,
  command: WebhookCommand,
  cause: Cause,
  guard: (loaded: Loaded<WebhookState>) => void,
): Promise<void> => {
  const { state } = await handle(deps.eventLog, webhookStream(id), webhookDecider, command, cause, guard);
  if (state === undefined || state.deletedAt === null || state.restorable !== undefined) return;
  await eraseStream(deps, webhookStream(id));
  await endOutcomes(deps, id, cause);
};

/**
 * Refuses a subscription that is unknown, gone for good or of another team; a deleted one that can be restored passes.
 */
const assertNotGone =
  (teamId: TeamId) =>
  ({ state, teamId: owner }: Pick<Loaded<WebhookState>, 'state' | 'teamId'>): void => {
    const isGone = state?.deletedAt !== null && state?.restorable === undefined;
    if (state === undefined || owner !== teamId || isGone) throw webhookNotFound();
  };
