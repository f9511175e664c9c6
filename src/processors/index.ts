/** The list of all processors. */
import type { CommandNeeds } from '../commands/needs.js';
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
  removeBlock,
  removeTemplate,
} from './retention/removal.js';
import {
  archiveEmailInTime,
  carryOutApprovals,
  releaseEmail,
  removeEmailInTime,
  type ApprovalProcessorDeps,
} from './email/timers.js';

export type ProcessorPorts = DeliveryDeps &
  FanOutDeps &
  Pick<ProcessorDeps, 'mayDestroy'> &
  Pick<CommandNeeds, 'credits' | 'team'> &
  NoteBouncesDeps &
  EraseAddressDeps &
  ApprovalProcessorDeps &
  RemoveDeletedDeps;

export const makeProcessors = (deps: ProcessorPorts): readonly Processor[] => [
  deliverEmail(deps),
  releaseEmail(deps),
  archiveEmailInTime(deps),
  fanOutBatch(deps),
  settleCredits(deps),
  endInactive(deps),
  checkSenderDomains(deps),
  noteBounces(deps),
  eraseAddressProcessor(deps),
  carryOutApprovals(deps),
  removeTemplate(deps),
  removeAttachmentTemplate(deps),
  removeBlock(deps),
  removeEmailInTime(deps),
  removeBatchInTime(deps),
  removeDeletedAsset(deps),
  removeDeletedWebhook(deps),
  removeDeletedDomains(deps),
];
