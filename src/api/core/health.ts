/** What the health endpoints answer. */
import { Type } from '@sinclair/typebox';
import { healthCodes, type HealthCode } from '../../domain/core/readiness.js';
import { nullable } from '../../domain/core/schema.js';
import { closed, enumOf } from './common.js';

export const LiveSchema = Type.Object({ status: Type.Literal('live'), version: Type.String() }, closed);

const readiness = ['ready', 'degraded', 'unavailable', 'stopping'] as const;

export const ReadySchema = Type.Object(
  {
    status: enumOf(
      readiness,
      '`degraded`: requests are served, and somebody should look at the reasons; `unavailable`, `stopping`: give it no requests',
    ),
    reasons: Type.Array(Type.Object({ code: enumOf(Object.keys(healthCodes) as HealthCode[]), message: Type.String() }, closed), {
      description: 'why it is not `ready`; empty where it is',
    }),
    workers: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          state: enumOf(['starting', 'running', 'restarting', 'stopped']),
          restarts: Type.Integer(),
          lastFault: nullable(Type.String()),
          stuckWork: Type.Integer({ description: 'pieces of its work that met a fault of the service and wait to be tried again' }),
        },
        closed,
      ),
    ),
    log: Type.Object(
      {
        unreadableEvents: Type.Integer({
          description: 'damaged events that were met since the start; `sealpost events unreadable` lists all',
        }),
        unknownEvent: nullable(Type.Object({ position: Type.Integer(), type: Type.String() }, closed)),
      },
      {
        ...closed,
        description:
          'what of the log cannot be read; `unknownEvent`: the first event that a newer version of the service wrote, at which readers stop',
      },
    ),
  },
  closed,
);
