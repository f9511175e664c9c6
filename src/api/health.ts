/** What the health endpoints answer. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/schema.js';
import { closed, enumOf } from './common.js';

export const LiveSchema = Type.Object({ status: Type.Literal('live'), version: Type.String() }, closed);

const readiness = ['ready', 'degraded', 'unavailable'] as const;

export const ReadySchema = Type.Object(
  {
    status: enumOf(
      readiness,
      '`degraded`: a worker is being started again after a fault, some of its work waits after one, or events of the log cannot be read; requests are served',
    ),
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
export type Readiness = Static<typeof ReadySchema>['status'];
