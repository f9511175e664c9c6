/**
 * Removes what has outlived its time: deleted templates, blocks, assets, webhook subscriptions and sender domains that can be
 * restored no longer, expired files, and old mails of the built-in mailbox.
 */
import type { CommandNeeds } from '../../commands/needs.js';
import { attachmentTemplateDecider } from '../../domain/templates/attachment-template.js';
import { blockDecider } from '../../domain/templates/block.js';
import { isoTime, DAY_MS, HOUR_MS } from '../../domain/core/time.js';
import type { RemoveTemplate } from '../../domain/templates/decider.js';
import { templateDecider } from '../../domain/templates/email-template.js';
import type { Outcome, Processor, TimerUse, ProcessorDeps } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';
import type { Files } from '../../domain/ports/files.js';
import type { Mailbox } from '../../domain/ports/mailbox.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { Limits } from '../../domain/core/limits.js';
import type { EmailTimerKind } from '../../domain/email/timers.js';
import { priorities } from '../../domain/ports/bus.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { recurringWorker, type LeaseDeps } from '../core/lease.js';
import { removeAsset } from '../../commands/templates/assets.js';
import { destroyDomainKeys } from '../../commands/domains/sender-domains.js';
import { type EraseDeps, removableBefore } from '../../commands/core/erase.js';
import { removeWebhook } from '../../commands/webhooks/subscriptions.js';
import { assetDecider, type AssetCommand, type AssetState } from '../../domain/templates/asset.js';
import {
  assertDefined,
  parseAssetId,
  parseSenderDomainId,
  parseWebhookId,
  splitStream,
} from '../../domain/core/ids.js';
import { domainsToRemove, senderDomainDecider, type SenderDomainCommand } from '../../domain/domains/decider.js';
import type { SenderDomainsState } from '../../domain/domains/state.js';
import { webhookDecider, type WebhookCommand, type WebhookState } from '../../domain/webhooks/decider.js';

type RemovalDeps = Pick<CommandNeeds, 'clock' | 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>;

const timers: readonly TimerUse[] = [{ kind: 'removal', read: 'due', destroys: true, seldom: true }];

/** Deadline of the command, which calls only our own stores. */
const DEADLINE_MS = 60_000;

/** The command itself looks whether it is time. */
const removal =
  ({ clock, limits, mayDestroy }: RemovalDeps) =>
  async (): Promise<Outcome<RemoveTemplate>> => {
    if (!mayDestroy()) return {};
    const nowMs = clock.now();
    const deletedSince = isoTime(nowMs - limits.restoreDays * DAY_MS);
    return { command: { type: 'RemoveTemplate', at: isoTime(nowMs), deletedSince } };
  };

export const removeTemplate = (deps: RemovalDeps): Processor =>
  makeProcessor({ ...common(deps), name: 'remove-template', kind: 'template', decider: templateDecider });

export const removeAttachmentTemplate = (deps: RemovalDeps): Processor =>
  makeProcessor({
    ...common(deps),
    name: 'remove-attachment-template',
    kind: 'attachmentTemplate',
    decider: attachmentTemplateDecider,
  });

export const removeBlock = (deps: RemovalDeps): Processor =>
  makeProcessor({ ...common(deps), name: 'remove-block', kind: 'block', decider: blockDecider });

const common = (deps: RemovalDeps) => ({ timers, deadlineMs: DEADLINE_MS, act: removal(deps) });

const SWEEP_EVERY_MS = 60 * 60_000;

type SweepDeps = LeaseDeps &
  Pick<ProcessorDeps, 'mayDestroy' | 'readModels' | 'timersCaughtUp' | 'eventLog'> &
  Readonly<{ files: Pick<Files, 'sweep'>; limits: Limits; mailbox: Mailbox | undefined }>;

export const sweepWorker = (deps: SweepDeps): Worker =>
  recurringWorker(deps, 'sweep', SWEEP_EVERY_MS, async ({ signal }) => {
    if (deps.mayDestroy()) await sweepOnce(deps, signal);
  });

/** The timers of emails that have not left: their files are still needed, however long they should have left ago. */
const openKinds = ['deliver', 'scheduled', 'deferred', 'held'] as const satisfies readonly EmailTimerKind[];

/** The moment at which the email was due that has waited longest; undefined where none waits. */
const oldestDueAt = async (
  { readModels, timersCaughtUp, eventLog }: SweepDeps,
  signal: AbortSignal,
): Promise<string | undefined> => {
  await timersCaughtUp('email', await eventLog.head(), signal);
  let oldest: string | undefined;
  for (const kind of openKinds)
    for (const priority of priorities) {
      const where = { kind: { eq: kind }, priority: { eq: priority } };
      const found = await readModels.find(timersOf('email'), {
        where,
        sort: { field: 'dueAt', direction: 'asc' },
        limit: 1,
      });
      const [first] = found as readonly TimerDocument[];
      if (first !== undefined && (oldest === undefined || first.dueAt < oldest)) oldest = first.dueAt;
    }
  return oldest;
};

const sweepOnce = async (deps: SweepDeps, signal: AbortSignal): Promise<void> => {
  const { clock, files, limits, logger, mailbox } = deps;
  const nowMs = clock.now();
  const now = isoTime(nowMs);
  const oldest = await oldestDueAt(deps, signal);
  if (signal.aborted) return;
  // Files are kept for days after their email was due: those of one that is late are not old yet.
  const abandonedBefore = isoTime(nowMs - limits.temporaryFileHours * HOUR_MS);
  const swept = await files.sweep(oldest === undefined || oldest > now ? now : oldest, { abandonedBefore });
  const mails = (await mailbox?.forgetBefore(isoTime(nowMs - limits.retentionDays * DAY_MS))) ?? 0;
  if (swept + mails > 0) logger.info({ files: swept, mails }, 'swept');
};

export type RemoveDeletedDeps = EraseDeps & Pick<CommandNeeds, 'clock' | 'limits'> & Pick<ProcessorDeps, 'mayDestroy'>;

/** The command itself looks whether it is time. */
export const removeDeletedAsset = (deps: RemoveDeletedDeps): Processor =>
  makeProcessor<'asset', AssetState, AssetCommand>({
    name: 'remove-asset',
    kind: 'asset',
    decider: assetDecider,
    timers,
    deadlineMs: DEADLINE_MS,
    act: async ({ stream, cause }) => {
      if (deps.mayDestroy())
        await removeAsset(deps, assertDefined(parseAssetId(splitStream(stream).id), 'asset id'), cause);
      return {};
    },
  });

export const removeDeletedWebhook = (deps: RemoveDeletedDeps): Processor =>
  makeProcessor<'webhook', WebhookState, WebhookCommand>({
    name: 'remove-webhook',
    kind: 'webhook',
    decider: webhookDecider,
    timers,
    deadlineMs: DEADLINE_MS,
    act: async ({ stream, cause: { fence: _fence, ...cause } }) => {
      // Those who send append to its outcomes under another lease, so none is named.
      if (deps.mayDestroy())
        await removeWebhook(deps, assertDefined(parseWebhookId(splitStream(stream).id), 'webhook id'), cause);
      return {};
    },
  });

/** The keys are destroyed first: the timer stands until the domains are gone, and does what a crash has left. */
export const removeDeletedDomains = (deps: RemoveDeletedDeps): Processor =>
  makeProcessor<'senderDomains', SenderDomainsState, SenderDomainCommand>({
    name: 'remove-sender-domains',
    kind: 'senderDomains',
    decider: senderDomainDecider,
    timers,
    deadlineMs: DEADLINE_MS,
    act: async ({ state, cause }) => {
      const ids = deps.mayDestroy() ? domainsToRemove(state, removableBefore(deps)).map(({ id }) => id) : [];
      if (ids.length === 0) return {};
      for (const id of ids)
        await destroyDomainKeys(deps, assertDefined(parseSenderDomainId(id), 'sender domain id'), cause);
      return { command: { type: 'DeleteDomains', at: cause.at, ids } };
    },
  });
