/** All processors. */
import type { CommandDeps } from '../commands/deps.js';
import type { Processor } from './declaration.js';
import type { ProcessorDeps } from './deps.js';
import { deliverEmail, type DeliveryDeps } from './deliver-email.js';
import { fanOutBatch, type FanOutDeps } from './fan-out-batch.js';
import { settleCredits } from './settle-credits.js';
import { archiveEmailInTime, releaseEmail } from './email-timers.js';

export type ProcessorPorts = DeliveryDeps & FanOutDeps & Pick<ProcessorDeps, 'mayDestroy'> & Pick<CommandDeps, 'credits'>;

export const makeProcessors = (deps: ProcessorPorts): readonly Processor[] => [
  deliverEmail(deps),
  releaseEmail(deps),
  archiveEmailInTime(deps),
  fanOutBatch(deps),
  settleCredits(deps),
];
