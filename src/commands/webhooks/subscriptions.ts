/** Commands on webhook subscriptions: made, changed, deleted, their secrets rotated, an event sent for a test. */
import { sendAccountMail } from '../people/mails.js';
import { loadState, handle, type Loaded } from '../core/handle.js';
import { type CommandDeps, causeOf } from '../core/deps.js';
import { userFold } from '../people/users.js';
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
  WEBHOOKS_MAX,
  endpointOf,
  webhookListing,
  webhookNotFound,
  type Webhook,
  type WebhookCommand,
  type WebhookState,
} from '../../domain/webhooks/decider.js';
import type { Cause } from '../../event-log/event-log.js';
import { type Caller, ownedBy } from '../core/caller.js';
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

/* The owners of a team hear that a subscription gets no webhooks any more, which nobody of them asked for. */

export type DisabledWebhook = Readonly<{ id: WebhookId; reason: 'gone' | 'failing' }>;

const WHY: Readonly<Record<DisabledWebhook['reason'], string>> = {
  gone: 'It answered 410, which says that it is gone for good.',
  failing: 'For five days it has taken nothing of what was sent to it.',
};

/**
 * To be called before it is disabled, by whoever is about to: each owner gets one mail, however often this is begun again. Nobody is told of
 * a subscription that is disabled already. Rejects as a send call does.
 */
export const tellOwners = async (deps: CommandDeps, { id, reason }: DisabledWebhook, cause: Cause): Promise<void> => {
  const { state: webhook, version } = await loadState(deps.eventLog, webhookStream(id), webhookDecider);
  if (webhook?.enabled !== true || webhook.sealed === undefined) return;
  const { state: team } = await deps.team(teamStream(assertDefined(parseTeamId(cause.teamId), 'team id')));
  if (team === undefined || team.deletedAt !== undefined) return;
  const variables = { team: team.settings.name, endpoint: new URL(webhook.sealed.url).origin, subscription: id, why: WHY[reason] };
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

/** Undefined of somebody who is erased. */
const recipientOf = async ({ eventLog }: CommandDeps, userId: UserId): Promise<Recipient | undefined> => {
  const { state: user } = await loadState(eventLog, userStream(userId), userFold);
  if (user?.email === undefined) return undefined;
  return user.name === undefined ? { email: user.email } : { email: user.email, name: user.name };
};

const HOUR_MS = 3_600_000;
const OVERLAP_HOURS = 24;

type Open = Webhook & Readonly<{ sealed: NonNullable<Webhook['sealed']> }>;

/** The team's subscription; another team's, a deleted and an unknown one are refused alike. */
export const openWebhook = async (deps: Pick<CommandDeps, 'eventLog'>, caller: Pick<Caller, 'teamId'>, id: WebhookId): Promise<Open> => {
  const loaded = await loadState(deps.eventLog, webhookStream(id), webhookDecider);
  ownedBy(caller.teamId, webhookNotFound)(loaded);
  const { sealed, ...webhook } = loaded.state!;
  if (sealed === undefined) throw webhookNotFound();
  return { ...webhook, sealed };
};

const assertUrl = (deps: CommandDeps, text: string): void => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const { insecureHosts } = deps.webhooks;
  if (url === undefined || (url.protocol !== 'https:' && !(url.protocol === 'http:' && insecureHosts.includes(url.hostname))))
    throw invalid('request body', 'url', 'must be an https URL');
  if (url.username !== '' || url.password !== '') throw invalid('request body', 'url', 'must carry no user name or password');
};

const assertRoom = (held: number): void => {
  if (held >= WEBHOOKS_MAX) throw webhookLimitReached();
};

/** `held`: how many subscriptions the team has; the route asks the read model first. */
export const createWebhook = async (
  deps: CommandDeps,
  caller: Caller,
  { url, events, description, enabled = true }: CreateWebhookRequest,
  held: number,
): Promise<CreatedWebhook> => {
  assertUrl(deps, url);
  assertRoom(held);
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

/** The place of a subscription within the plan of its team, and within what any team may have. */
const placeOf = (deps: CommandDeps, { teamId }: Caller, id: WebhookId): Place => ({
  resource: 'webhookSubscriptions',
  key: id,
  standingOf: async (key) => {
    const { state } = await loadState(deps.eventLog, webhookStream(key as WebhookId), webhookDecider);
    if (state === undefined) return 'absent';
    return state.deletedAt === null ? 'living' : 'gone';
  },
  all: idsOfKind(deps, teamId, 'webhook', 'WebhookCreated'),
  cap: { maximum: WEBHOOKS_MAX, refused: webhookLimitReached },
});

export const getWebhook = async (deps: CommandDeps, caller: Caller, id: WebhookId): Promise<WebhookRecord> => {
  const webhook = await openWebhook(deps, caller, id);
  return webhookListing(id, webhook, webhook.sealed);
};

const change = async (deps: CommandDeps, caller: Caller, id: WebhookId, command: (at: string) => WebhookCommand): Promise<Webhook> => {
  const cause = causeOf(deps, caller);
  const owned = ownedBy(caller.teamId, webhookNotFound);
  const { state } = await handle(deps.eventLog, webhookStream(id), webhookDecider, command(cause.at), cause, owned);
  return state!;
};

export const updateWebhook = async (
  deps: CommandDeps,
  caller: Caller,
  id: WebhookId,
  request: UpdateWebhookRequest,
): Promise<WebhookRecord> => {
  if (request.url !== undefined) assertUrl(deps, request.url);
  const { sealed, ...webhook } = await change(deps, caller, id, (at) => ({ type: 'ChangeWebhook', at, ...request }));
  if (sealed === undefined) throw webhookNotFound();
  return webhookListing(id, webhook, sealed);
};

/** Nothing more is sent to it, and it can be restored for some days. `permanently`: it is destroyed now, whether it was deleted before or not. */
export const deleteWebhook = async (
  deps: CommandDeps,
  caller: Caller,
  id: WebhookId,
  { permanently = false }: DeleteQuery = {},
): Promise<Deleted> => {
  const cause = causeOf(deps, caller);
  if (permanently) await destroyWebhook(deps, id, { type: 'DeleteWebhook', at: cause.at }, cause, leftOf(caller.teamId));
  else await change(deps, caller, id, (at) => ({ type: 'TrashWebhook', at }));
  return { id, deleted: true };
};

/** `held`: how many subscriptions the team has; the route asks the read model first. Of a living one nothing is changed. */
export const restoreWebhook = async (deps: CommandDeps, caller: Caller, id: WebhookId, held: number): Promise<WebhookRecord> => {
  const cause = causeOf(deps, caller);
  const command = { type: 'RestoreWebhook' as const, at: cause.at, deletedSince: restorableSince(deps) };
  const guard = (loaded: Loaded<WebhookState>): void => {
    leftOf(caller.teamId)(loaded);
    if (loaded.state?.deletedAt !== null) assertRoom(held);
  };
  const before = await loadState(deps.eventLog, webhookStream(id), webhookDecider);
  guard(before);
  const restore = () => handle(deps.eventLog, webhookStream(id), webhookDecider, command, cause, guard);
  // A living one takes no place of the plan.
  const isDeleted = before.state?.deletedAt !== null;
  const { state } = await (isDeleted ? withPlace(deps, caller, placeOf(deps, caller, id), restore) : restore());
  if (state?.sealed === undefined) throw webhookNotFound();
  return webhookListing(id, state, state.sealed);
};

/** Removes a subscription for good that was deleted so long ago that nobody can take it back. Safe to repeat. */
export const removeWebhook = (deps: DestroyDeps & Pick<CommandDeps, 'clock' | 'limits'>, id: WebhookId, cause: Cause): Promise<void> =>
  destroyWebhook(deps, id, { type: 'RemoveWebhook', at: cause.at, deletedSince: removableBefore(deps) }, cause, () => {});

/** The same of one that lives or not, whenever that was: its team is gone. */
export const endWebhook = (deps: DestroyDeps, id: WebhookId, cause: Cause): Promise<void> =>
  destroyWebhook(deps, id, { type: 'DeleteWebhook', at: cause.at }, cause, () => {});

type DestroyDeps = EraseDeps & Pick<CommandDeps, 'eventLog'>;

/** Records it, then destroys the key of its settings; the records of its deliveries follow. What a crash leaves the erase worker does. */
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

/** The guard of what may be done with a deleted subscription: what is unknown, gone or another team's is refused alike. */
const leftOf =
  (teamId: TeamId) =>
  ({ state, teamId: owner }: Pick<Loaded<WebhookState>, 'state' | 'teamId'>): void => {
    const isGone = state?.deletedAt !== null && state?.restorable === undefined;
    if (state === undefined || owner !== teamId || isGone) throw webhookNotFound();
  };

export const rotateWebhookSecret = async (
  deps: CommandDeps,
  caller: Caller,
  id: WebhookId,
  { overlapHours = OVERLAP_HOURS }: RotateSecretRequest = {},
): Promise<RotatedSecret> => {
  const secret = formatSecret(deps.ids.bytes(SECRET_BYTES));
  const overlapUntil = isoTime(deps.clock.now() + overlapHours * HOUR_MS);
  const { sealed, ...webhook } = await change(deps, caller, id, (at) => ({ type: 'RotateSecret', at, overlapUntil, secret }));
  if (sealed === undefined) throw webhookNotFound();
  return { ...webhookListing(id, webhook, sealed), secret, overlapUntil };
};

/** Sends an `email.delivered` of no email now, once, and tells what came of it. It stands in no list and in no chain of ids. */
export const testWebhook = async (deps: CommandDeps, caller: Caller, id: WebhookId): Promise<WebhookDelivery> => {
  const webhook = await openWebhook(deps, caller, id);
  const nowMs = deps.clock.now();
  const key = eventKey(id, deps.ids.uuid(), undefined);
  const event = { id: webhookEventId(nowMs, key), previousId: null, kind: 'email.delivered', body: testBody(isoTime(nowMs)) };
  const { answer, ...tried } = await attemptDelivery(deps, id, endpointOf(webhook), event, new AbortController().signal);
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
