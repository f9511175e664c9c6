/** The list of all processors. */
import type { CommandDeps } from '../commands/core/deps.js';
import { ERASURES_FROM, RECORD_REMOVALS_FROM, SUPPRESSIONS_FROM, TEMPLATE_REMOVALS_FROM, TRASH_FROM } from '../domain/core/write-level.js';
import type { Codec } from '../event-log/codec.js';
import type { Processor, ProcessorDeps } from './core/declaration.js';
import { checkSenderDomains } from './domains/sender-domains.js';
import { eraseAddressProcessor, type EraseAddressDeps } from './privacy/erasure.js';
import { deliverEmail, type DeliveryDeps } from './email/delivery.js';
import { fanOutBatch, type FanOutDeps, removeBatchInTime } from './bulk/fan-out.js';
import { noteBounces, type NoteBouncesDeps } from './recipients/bounces.js';
import { endInactive, settleCredits } from './billing/billing.js';
import {
  removeDeletedAsset,
  removeDeletedDomains,
  removeDeletedWebhook,
  type RemoveDeletedDeps,
  removeAttachmentTemplate,
  removeTemplate,
} from './retention/removal.js';
import { archiveEmailInTime, releaseEmail, removeEmailInTime } from './email/timers.js';

export type ProcessorPorts = DeliveryDeps &
  FanOutDeps &
  Pick<ProcessorDeps, 'mayDestroy'> &
  Pick<CommandDeps, 'credits' | 'team'> &
  NoteBouncesDeps &
  EraseAddressDeps &
  RemoveDeletedDeps &
  Readonly<{ codec: Pick<Codec, 'level'> }>;

export const makeProcessors = (deps: ProcessorPorts): readonly Processor[] => [
  deliverEmail(deps),
  releaseEmail(deps),
  archiveEmailInTime(deps),
  fanOutBatch(deps),
  settleCredits(deps),
  endInactive(deps),
  checkSenderDomains(deps),
  // Each processor below writes events of a level. While an older version may run, it is left out, and its timers and events wait.
  ...(deps.codec.level < SUPPRESSIONS_FROM ? [] : [noteBounces(deps)]),
  ...(deps.codec.level < ERASURES_FROM ? [] : [eraseAddressProcessor(deps)]),
  ...(deps.codec.level < TEMPLATE_REMOVALS_FROM ? [] : [removeTemplate(deps), removeAttachmentTemplate(deps)]),
  ...(deps.codec.level < RECORD_REMOVALS_FROM ? [] : [removeEmailInTime(deps), removeBatchInTime(deps)]),
  ...(deps.codec.level < TRASH_FROM ? [] : [removeDeletedAsset(deps), removeDeletedWebhook(deps), removeDeletedDomains(deps)]),
];
