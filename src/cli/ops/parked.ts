/** `sealpost parked`: work that was set aside, kept by a bus of its own server; beside a running service. */
import { readConfig } from '../../service/settings/config.js';
import { openBus } from '../../service/stores/stores.js';
import type { Parked, ParkedWork } from '../../domain/ports/bus.js';
import { isoTime } from '../../domain/core/time.js';
import { print } from '../core/output.js';
import { withEngine } from '../core/engine.js';

export type ListParkedOptions = Readonly<{ json?: boolean }>;
export type ReleaseParkedOptions = Readonly<{ all?: boolean }>;

const NOTHING_KEPT =
  'The bus of this service is in its own process (SEALPOST_BUS_URL=memory:) and keeps no parked work: its timers bring it back by themselves.';

export const listParked = ({ json }: ListParkedOptions): Promise<void> =>
  withParked(async (parked) => {
    let count = 0;
    for await (const one of parked.list()) {
      count += 1;
      print(json === true ? JSON.stringify(recordOf(one)) : lineOf(one));
    }
    if (count === 0 && json !== true) print('nothing is parked');
  });

export const releaseParked = async (ids: readonly string[], { all }: ReleaseParkedOptions): Promise<void> => {
  if ((ids.length === 0) !== (all === true))
    throw new Error('name the ids that `sealpost parked list` shows, or say --all');
  await withParked(async (parked) => {
    const wanted = new Set(ids);
    const found: Parked[] = [];
    for await (const one of parked.list()) if (all === true || wanted.has(one.pointer.id)) found.push(one);
    for (const { processor, pointer } of found) {
      if (!(await parked.release({ processor, id: pointer.id })))
        throw new Error(
          `${pointer.id} was not released: the bus has no room for it now, or somebody else has released it`,
        );
      wanted.delete(pointer.id);
      print(`${pointer.id} is given to ${processor} again`);
    }
    if (wanted.size > 0) throw new Error(`not parked: ${[...wanted].join(', ')}`);
    if (found.length === 0) print('nothing is parked');
  });
};

const withParked = (work: (parked: ParkedWork) => Promise<void>): Promise<void> =>
  withEngine(async (engine) => {
    // Ignore the roles of the process that these settings are for.
    const config = { ...readConfig(), roles: ['process'] as const };
    const bus = await openBus(config, engine);
    try {
      if (bus.parked === undefined) print(NOTHING_KEPT);
      else await work(bus.parked);
    } finally {
      await bus.close();
    }
  });

const recordOf = ({ processor, pointer, deliveries, reason, parkedAtMs }: Parked) => ({
  id: pointer.id,
  stream: pointer.stream,
  processor,
  priority: pointer.priority,
  parkedAt: isoTime(parkedAtMs),
  deliveries,
  reason,
});

const lineOf = ({ processor, pointer, deliveries, reason, parkedAtMs }: Parked): string =>
  `${isoTime(parkedAtMs)}  ${pointer.id}  ${processor}, after ${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}: ${reason}`;
