/** `sealpost rebuild [PROJECTION]`: makes read models again from the log, beside a running server too. */
import { makeProjections } from '../../projections/index.js';
import { rebuildProjection } from '../../projections/core/rebuild.js';
import { print, printFault, progressBar, unreadableLine } from '../core/output.js';
import { withEngine } from '../core/engine.js';

export const rebuild = (name: string | undefined): Promise<void> =>
  withEngine(async (engine) => {
    const projections = makeProjections(engine.limits);
    const chosen = name === undefined ? projections : projections.filter((projection) => projection.name === name);
    if (chosen.length === 0)
      throw new Error(`there is no projection ${name}; there are ${projections.map((projection) => projection.name).join(', ')}`);
    for (const projection of chosen) {
      const started = performance.now();
      const bar = progressBar(projection.name.padEnd(10), await engine.eventLog.head());
      const events = await rebuildProjection(projection, engine, {
        onProgress: bar.update,
        onUnreadable: (event) => printFault(`passed over: ${unreadableLine(event)}`),
      });
      bar.stop();
      const seconds = (performance.now() - started) / 1_000;
      print(`${projection.name}: ${events} events in ${seconds.toFixed(1)} s (${Math.round(events / seconds)} events/s)`);
    }
  });
