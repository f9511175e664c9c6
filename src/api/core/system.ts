/** The answer of GET /api/system: how the instance is doing, for its operators. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../../domain/core/schema.js';
import { priorities } from '../../domain/ports/bus.js';
import { closed, enumOf, healthParts, Time } from './common.js';

const position = Type.Integer({ description: 'A position in the log' });

const RelaySchema = Type.Object(
  {
    name: Type.String(),
    host: Type.String({ description: 'host:port' }),
    breaker: healthParts.breaker,
    ratePerSecond: nullable(Type.Number({ description: 'The most mails a second; null: any number' })),
    leftToday: nullable(
      Type.Integer({
        minimum: 0,
        description: 'How many mails it may still get today in its ramp-up; null: any number',
      }),
    ),
  },
  closed,
);

const SystemProcessSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    answering: Type.Boolean({ description: 'This process made the answer' }),
    roles: Type.Array(enumOf(['http', 'process', 'project'])),
    service: Type.String({ description: 'Version of sealpost' }),
    node: Type.String({ description: 'Version of Node' }),
    schema: Type.String({
      description: 'Names the kinds of events that the process can read; processes with the same one read the same log',
    }),
    startedAt: Time,
    uptimeSeconds: Type.Integer({ minimum: 0 }),
    memoryBytes: Type.Integer({ minimum: 0, description: 'Memory that the process holds (resident set)' }),
    seenAt: Type.String({ format: 'date-time', description: 'When it told this' }),
    status: healthParts.status,
    reasons: healthParts.reasons,
    workers: healthParts.workers,
    processors: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          depth: Type.Integer({ description: 'Pieces of work that wait on the bus or are in flight' }),
          open: Type.Boolean({ description: 'False: the other side is away, and nothing is attempted' }),
        },
        closed,
      ),
      { description: 'Empty in a process without the role `process`' },
    ),
    relays: Type.Array(RelaySchema, { description: 'The relays as this process sees them' }),
    readModels: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          position,
          lagSeconds: Type.Integer({
            minimum: 0,
            description: 'How long the log has had more than the read model, as far as this process has looked',
          }),
        },
        closed,
      ),
    ),
  },
  closed,
);

export type SystemProcess = Static<typeof SystemProcessSchema>;

const Queue = Type.Object(
  {
    queued: Type.Integer({ description: 'Emails that wait for their first attempt' }),
    deferred: Type.Integer({ description: 'Emails that wait for another attempt' }),
    held: Type.Integer({ description: 'Emails that wait for a relay' }),
    oldestDueAt: nullable(Time),
  },
  closed,
);

export const SystemSchema = Type.Object(
  {
    asOf: Time,
    engine: Type.Object(
      {
        eventStore: Type.String(),
        readModels: Type.String(),
        keys: Type.String(),
        files: Type.String(),
        leases: Type.String(),
        bus: Type.String(),
        limiter: Type.String(),
      },
      { ...closed, description: 'The kind of each store, such as `sqlite` or `mongodb`' },
    ),
    log: Type.Object(
      {
        head: position,
        lastSeal: nullable(Type.Object({ at: Time, position }, closed)),
        lastVerify: nullable(
          Type.Object({ at: Time, result: enumOf(['sound', 'damaged', 'tampered', 'unfinished']) }, closed),
        ),
      },
      closed,
    ),
    backups: Type.Object(
      {
        log: nullable(Type.Object({ at: Time, position }, closed)),
        keys: nullable(Type.Object({ at: Time, position, expiresAt: Time }, closed)),
      },
      {
        ...closed,
        description: 'The last ones by `sealpost backup` from the data directory of the answering process; null: none',
      },
    ),
    queue: Type.Object(
      Object.fromEntries(priorities.map((priority) => [priority, Queue])) as Record<
        (typeof priorities)[number],
        typeof Queue
      >,
      { ...closed, description: 'Counts of all teams together' },
    ),
    diskFreeBytes: Type.Integer({ description: 'On the disk of the data directory' }),
    processes: Type.Array(SystemProcessSchema, { description: 'Every process that lives; the answering one first' }),
  },
  closed,
);

export type System = Static<typeof SystemSchema>;
