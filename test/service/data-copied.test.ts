/**
 * A copied data directory is told when a service starts on it, until somebody confirms that the other does not run any
 * more.
 */
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { copyFault, forgetPlace } from '../../src/service/stores/instances.js';
import { readConfig } from '../../src/service/settings/config.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { memoryLog } from '../support/memory-ports.js';

await t.test(
  'a copy is told in health and log; the original, one that was moved, and one that is confirmed are not',
  async (t) => {
    const below = temporaryDirectory(t);
    const [original, copy, moved] = [join(below, 'original'), join(below, 'copy'), join(below, 'moved')];
    const reasonsOn = async (dataDir: string) => {
      const logger = memoryLog();
      const app = await startTestApp({ dataDir, logger });
      const { body } = await app.call<{ reasons: { code: string }[] }>('GET', '/health/ready');
      await app.stop();
      return body.reasons.filter(({ code }) => code === 'DATA_COPIED');
    };
    const faultIn = (dataDir: string) => copyFault(readConfig({ SEALPOST_DATA_DIR: dataDir }));
    t.same(await reasonsOn(original), []);
    t.same(await reasonsOn(original), [], 'a second start');
    cpSync(original, copy, { recursive: true });
    t.match(await reasonsOn(copy), [
      { code: 'DATA_COPIED', message: /copy is a copy of a data directory on which a service has run/ },
    ]);
    t.match(await reasonsOn(copy), [{ code: 'DATA_COPIED' }], 'until it is confirmed');
    t.match(faultIn(copy), /delete .*place\.json and start again/);
    rmSync(join(copy, 'place.json'));
    t.same(await reasonsOn(copy), []);
    renameSync(original, moved);
    t.equal(faultIn(moved), undefined);
    forgetPlace(readConfig({ SEALPOST_DATA_DIR: moved }));
    t.equal(faultIn(moved), undefined, 'after a restore');
    writeFileSync(join(moved, 'place.json'), '');
    t.equal(faultIn(moved), undefined, 'a start that broke off');
    t.same(await reasonsOn(moved), []);
    const onServers = { SEALPOST_DATA_DIR: copy, SEALPOST_EVENT_STORE_URL: 'esdb://127.0.0.1:2113' };
    t.equal(
      copyFault({
        ...readConfig({ SEALPOST_DATA_DIR: copy }),
        urls: { ...readConfig({}).urls, eventStore: onServers.SEALPOST_EVENT_STORE_URL },
      }),
      undefined,
    );
  },
);
