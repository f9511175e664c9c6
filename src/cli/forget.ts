/** `sealpost forget`: destroys the keys of all emails that the log says are deleted or archived; an older backup of the keys still has them. */
import type { Engine } from '../engine.js';
import { print, progressBar } from './output.js';
import { withEngine } from './with-engine.js';

const keysAtOnce = 1_000;

export const forget = (): Promise<void> =>
  withEngine(async (engine) => {
    const bar = progressBar('log       ', await engine.eventLog.head());
    let destroyed = 0;
    let gone: string[] = [];
    const destroy = async (): Promise<void> => {
      destroyed += await destroyThoseLeft(engine, gone);
      gone = [];
    };
    for await (const { events, position } of engine.eventLog.readAll(0, { kinds: ['email'], decrypt: [] })) {
      for (const { event, metadata } of events) {
        if ((event.type === 'EmailArchived' || event.type === 'EmailDeleted') && metadata.keyId !== undefined) gone.push(metadata.keyId);
      }
      if (gone.length >= keysAtOnce) await destroy();
      bar.update(position);
    }
    await destroy();
    bar.stop();
    print(`${destroyed} keys of deleted or archived emails were still there; they are destroyed now`);
  });

const destroyThoseLeft = async ({ keys }: Engine, ids: readonly string[]): Promise<number> => {
  const left = [...(await keys.getMany(ids)).keys()];
  if (left.length > 0) await keys.destroy(left);
  return left.length;
};
