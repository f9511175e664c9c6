/** All processors. */
import type { Processor } from './declaration.js';
import type { ProcessorDeps } from './deps.js';
import { deliverEmail, type DeliveryDeps } from './deliver-email.js';
import { fanOutBatch, type FanOutDeps } from './fan-out-batch.js';
import { archiveEmailInTime, releaseEmail } from './email-timers.js';

export type ProcessorPorts = DeliveryDeps & FanOutDeps & Pick<ProcessorDeps, 'mayDestroy'>;

export const makeProcessors = (deps: ProcessorPorts): readonly Processor[] => [
  deliverEmail(deps),
  releaseEmail(deps),
  archiveEmailInTime(deps),
  fanOutBatch(deps),
];
