/**
 * The gallery in the whole service: what was uploaded is listed at once, is there after a restart, and is gone when it
 * is deleted.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { png } from '../support/pictures.js';

type Listed = Readonly<{
  data: readonly Readonly<{ id: string; filename: string }>[];
  meta: Readonly<{ total: number }>;
}>;

/** Every file below the directory, by its path. */
const filesIn = (directory: string): readonly string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

void t.test('upload, list, limit, restart, delete', async (t) => {
  const dataDir = temporaryDirectory(t);
  const settings = { SEALPOST_LIMIT_ASSETS_MAX: '2' };
  let app = await startTestApp({ isFounded: true, dataDir, settings });
  const upload = (filename: string) =>
    app.call<{ id: string; code?: string }>('POST', '/api/assets', { filename, content: png.toString('base64') });
  const names = async () => (await app.call<Listed>('GET', '/api/assets')).body.data.map(({ filename }) => filename);

  const first = await upload('first.png');
  t.equal(first.status, 201);
  t.same(await names(), ['first.png']);
  t.equal((await upload('second.png')).status, 201);
  t.same(await names(), ['second.png', 'first.png']);
  t.match(await upload('third.png'), { status: 400, body: { code: 'STORAGE_LIMIT_EXCEEDED' } });

  await app.stop();
  app = await startTestApp({ dataDir, settings });
  const content = await app.server.inject({
    url: `/api/assets/${first.body.id}/content`,
    headers: { authorization: `Bearer ${app.key}` },
  });
  t.ok(content.rawPayload.equals(png));
  t.match(await upload('third.png'), { status: 400, body: { code: 'STORAGE_LIMIT_EXCEEDED' } }, 'the measure is kept');

  const before = filesIn(join(dataDir, 'files')).length;
  t.same((await app.call('DELETE', `/api/assets/${first.body.id}?permanently=true`)).body, {
    id: first.body.id,
    deleted: true,
  });
  t.equal(filesIn(join(dataDir, 'files')).length, before - 1);
  t.same(await names(), ['second.png']);
  t.equal((await app.call('GET', `/api/assets/${first.body.id}`)).status, 404);
  t.equal((await upload('third.png')).status, 201, 'there is room again');
  await app.stop();
});
