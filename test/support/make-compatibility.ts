/**
 * Makes the data directory that later releases open: `node build/test/support/make-compatibility.js` writes
 * test/compatibility/<version>/ with the packed directory, what the test must know of it, and the answers of this
 * release. It refuses to replace those of a release.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { version } from '../../src/service/version.js';
import { makeWorld, openStory, readWorld, STORY_BEGINS_MS } from '../compatibility/story.js';
import { fakeClock } from './fake-clock.js';
import { openReceiver } from './webhook-receiver.js';

const to = fileURLToPath(new URL(`../../../test/compatibility/${version}`, import.meta.url));
if (existsSync(to)) throw new Error(`${to} exists: the directory of a release is never made again`);
const place = mkdtempSync(join(tmpdir(), 'sealpost-'));
try {
  const dataDir = join(place, 'data');
  mkdirSync(dataDir);
  const clock = fakeClock(STORY_BEGINS_MS);
  const receiver = await openReceiver();
  const app = await openStory(dataDir, clock);
  const world = await makeWorld(app, clock, receiver.url);
  await app.stop();
  await receiver.close();
  rmSync(join(dataDir, 'place.json'), { force: true });
  mkdirSync(to, { recursive: true });
  execFileSync('tar', ['-C', place, '--owner=0', '--group=0', '--sort=name', '-czf', join(to, 'data.tar.gz'), 'data']);
  const again = await openStory(dataDir, fakeClock(Date.parse(world.readAt)));
  const answers = await readWorld(again, world);
  await again.stop();
  for (const [name, content] of Object.entries({ world, answers }))
    writeFileSync(join(to, `${name}.json`), `${JSON.stringify(content, undefined, 2)}\n`);
} finally {
  rmSync(place, { recursive: true, force: true });
}
