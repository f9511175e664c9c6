/**
 * Data directories of every release since 1.0.0, opened by this program: the service is ready, the log verifies, each
 * read model is rebuilt, every answer has what it had then before and after, credentials work, and a mail leaves.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Json } from '../../src/domain/core/json.js';
import { isJsonObject } from '../../src/domain/core/json.js';
import { makeProjections } from '../../src/projections/index.js';
import { rebuildProjection } from '../../src/projections/core/rebuild.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { openStory, readWorld, type StoryWorld } from './story.js';

const folder = fileURLToPath(new URL('../../../test/compatibility/', import.meta.url));
const releases = readdirSync(folder).filter((name) => /^\d+\.\d+\.\d+$/.test(name));

/** In: an answer of then and of now. Out: paths of members that are gone or differ. New members are no difference. */
const lost = (then: Json | undefined, now: Json | undefined, path: string): readonly string[] => {
  if (Array.isArray(then))
    return Array.isArray(now) && now.length === then.length
      ? then.flatMap((item, at) => lost(item, now[at], `${path}[${at}]`))
      : [path];
  if (isJsonObject(then))
    return isJsonObject(now)
      ? Object.entries(then).flatMap(([name, value]) => lost(value, now[name], `${path}.${name}`))
      : [path];
  return then === now ? [] : [`${path}: ${JSON.stringify(then)} is ${JSON.stringify(now)}`];
};

t.ok(releases.includes('1.0.0'), 'the first release is among them');

for (const release of releases)
  await t.test(release, async (t) => {
    const read = <Content>(name: string): Content =>
      JSON.parse(readFileSync(join(folder, release, name), 'utf8')) as Content;
    const world = read<StoryWorld>('world.json');
    const then = read<Readonly<Record<string, Json>>>('answers.json');
    const place = temporaryDirectory(t);
    execFileSync('tar', ['-C', place, '-xzf', join(folder, release, 'data.tar.gz')]);
    const clock = fakeClock(Date.parse(world.readAt));
    const app = await openStory(join(place, 'data'), clock);
    t.teardown(() => app.stop());

    t.match(await app.call('GET', '/health/ready'), { status: 200, body: { status: 'ready', reasons: [] } });
    const compare = async (when: string): Promise<void> => {
      const now = await readWorld(app, world);
      t.same(
        Object.entries(then).flatMap(([path, answer]) => lost(answer, now[path], path)),
        [],
        `${when}: the answers have all that they had`,
      );
    };
    await compare('opened');
    t.equal((await verifyLog(app.engine.store, undefined)).finding, undefined, 'the log verifies');
    for (const projection of makeProjections(app.engine.limits)) await rebuildProjection(projection, app.engine);
    await compare('rebuilt');

    t.match((await app.call<{ text: string }>('GET', `/api/emails/${world.emailId}/content`)).text, 'R-1: 25');
    const file = await app.call('GET', `/api/emails/${world.emailId}/attachments/0`);
    t.match([file.status, file.text.slice(0, 4)], [200, '%PDF'], 'its document is made again');
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: world.clientId,
      refresh_token: world.refreshToken,
    });
    const renewed = await app.server.inject({
      method: 'POST',
      url: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: form.toString(),
    });
    t.equal(renewed.statusCode, 200, 'the grant of an app is renewed');
    const sent = await app.call<{ id: string }>(
      'POST',
      '/api/emails/send',
      { templateId: 'receipt', to: [{ email: 'ada@example.com' }], variables: { number: 'R-2' } },
      { authorization: `Bearer ${world.apiKey}` },
    );
    t.equal(sent.status, 201, 'its key sends with its template');
    t.match(await app.whenStatus(sent.body.id, 'delivered', 100), { subject: 'Your receipt R-2' });
  });
