/** Assets, webhook subscriptions and sender domains that were deleted so long ago that nobody can take them back are destroyed. */
import { removeAsset } from '../../commands/templates/assets.js';
import type { CommandDeps } from '../../commands/core/deps.js';
import { destroyDomainKeys } from '../../commands/domains/sender-domains.js';
import type { EraseDeps } from '../../commands/core/erase.js';
import { removableBefore } from '../../commands/core/restoring.js';
import { removeWebhook } from '../../commands/webhooks/subscriptions.js';
import { assetDecider, type AssetCommand, type AssetState } from '../../domain/templates/asset.js';
import { assertDefined, parseAssetId, parseSenderDomainId, parseWebhookId, splitStream } from '../../domain/core/ids.js';
import { domainsToRemove, senderDomainDecider, type SenderDomainCommand } from '../../domain/domains/decider.js';
import type { SenderDomainsState } from '../../domain/domains/state.js';
import { webhookDecider, type WebhookCommand, type WebhookState } from '../../domain/webhooks/decider.js';
import type { Processor, TimerUse } from '../core/declaration.js';
import type { ProcessorDeps } from '../core/deps.js';
import { makeProcessor } from '../core/processor.js';

export type RemoveDeletedDeps = EraseDeps & Pick<CommandDeps, 'clock' | 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>;

const timers: readonly TimerUse[] = [{ kind: 'removal', read: 'due', destroys: true, seldom: true }];

/** Of commands: nothing outside our own stores is called. */
const DEADLINE_MS = 60_000;

/** The command itself looks whether it is time. */
export const removeDeletedAsset = (deps: RemoveDeletedDeps): Processor =>
  makeProcessor<'asset', AssetState, AssetCommand>({
    name: 'remove-asset',
    kind: 'asset',
    decider: assetDecider,
    startedBy: { AssetUploaded: null, AssetTrashed: null, AssetRestored: null, AssetDeleted: null },
    timers,
    deadlineMs: DEADLINE_MS,
    act: async ({ stream, cause }) => {
      if (deps.mayDestroy()) await removeAsset(deps, assertDefined(parseAssetId(splitStream(stream).id), 'asset id'), cause);
      return {};
    },
  });

export const removeDeletedWebhook = (deps: RemoveDeletedDeps): Processor =>
  makeProcessor<'webhook', WebhookState, WebhookCommand>({
    name: 'remove-webhook',
    kind: 'webhook',
    decider: webhookDecider,
    startedBy: {
      WebhookCreated: null,
      WebhookChanged: null,
      WebhookSecretRotated: null,
      WebhookDisabled: null,
      WebhookBackfillAsked: null,
      WebhookTrashed: null,
      WebhookRestored: null,
      WebhookDeleted: null,
    },
    timers,
    deadlineMs: DEADLINE_MS,
    act: async ({ stream, cause: { fence: _fence, ...cause } }) => {
      // Those who send append to its outcomes under another lease, so none is named.
      if (deps.mayDestroy()) await removeWebhook(deps, assertDefined(parseWebhookId(splitStream(stream).id), 'webhook id'), cause);
      return {};
    },
  });

/** The keys are destroyed first: the timer stands until the domains are gone, and does what a crash has left. */
export const removeDeletedDomains = (deps: RemoveDeletedDeps): Processor =>
  makeProcessor<'senderDomains', SenderDomainsState, SenderDomainCommand>({
    name: 'remove-sender-domains',
    kind: 'senderDomains',
    decider: senderDomainDecider,
    startedBy: {
      SenderDomainAdded: null,
      SenderDomainsChecked: null,
      SenderDomainVerified: null,
      SenderDomainUnverified: null,
      SenderDomainKeysAdded: null,
      SenderDomainKeysChanged: null,
      SenderDomainKeysRetired: null,
      SenderDomainTrashed: null,
      SenderDomainRestored: null,
      SenderDomainDeleted: null,
      StreamRetired: null,
    },
    timers,
    deadlineMs: DEADLINE_MS,
    act: async ({ state, cause }) => {
      const ids = deps.mayDestroy() ? domainsToRemove(state, removableBefore(deps)).map(({ id }) => id) : [];
      if (ids.length === 0) return {};
      for (const id of ids) await destroyDomainKeys(deps, assertDefined(parseSenderDomainId(id), 'sender domain id'), cause);
      return { command: { type: 'DeleteDomains', at: cause.at, ids } };
    },
  });
