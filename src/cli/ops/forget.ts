/** `sealpost forget`: erases again what the log says is deleted, archived or erased; an older backup of the keys still has its keys. */
import { eraseAll } from '../../commands/core/erase.js';
import { print, progressBar } from '../core/output.js';
import { withEngine } from '../core/engine.js';

export const forget = (): Promise<void> =>
  withEngine(async (engine) => {
    const bar = progressBar('log       ', await engine.eventLog.head());
    const erased = await eraseAll(engine, 0, { reached: ({ position }) => bar.update(position) });
    bar.stop();
    print(`${erased} keys of what is deleted, archived or erased were still there; they are destroyed now`);
  });
