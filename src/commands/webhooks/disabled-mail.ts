/** The owners of a team hear that a subscription gets no webhooks any more, which nobody of them asked for. */
import { sendAccountMail } from '../people/mails.js';
import { loadState } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { userFold } from '../people/addresses.js';
import {
  assertDefined,
  emailIdOfFingerprint,
  parseTeamId,
  teamStream,
  userStream,
  webhookStream,
  type UserId,
  type WebhookId,
} from '../../domain/core/ids.js';
import type { Recipient } from '../../domain/mime/recipient.js';
import type { Team } from '../../domain/teams/state.js';
import { webhookDecider } from '../../domain/webhooks/decider.js';
import type { Cause } from '../../event-log/event-log.js';

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
