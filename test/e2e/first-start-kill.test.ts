/** A first start that is killed: the next one brings it to its end. */
import { readdirSync } from 'node:fs';
import t from 'tap';
import { accountSamples, samples } from '../support/samples.js';
import { seededRandom } from '../support/random.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runCommand, startServer } from '../support/server-process.js';
import { eventually, pause } from '../support/wait.js';

t.setTimeout(900_000);

await t.test('a first start that is killed anywhere is finished by the next', async (t) => {
  const random = seededRandom(11);
  const dataDir = temporaryDirectory(t);
  const settings = { SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'error' };
  for (let kills = 0; kills < 6; kills += 1) {
    const server = startServer(settings);
    // Either soon after its files begin to appear, or a moment of the seed's choice later.
    await eventually('it has begun to write', () => readdirSync(dataDir).length > 0);
    await pause(random.between(0, 250));
    await server.end('SIGKILL');
    if (/shown this once/.test(server.output())) break;
  }
  const server = startServer(settings);
  t.teardown(() => server.end('SIGKILL'));
  const base = await server.listening;
  const created = JSON.parse(
    (await runCommand(['key', 'create', '--name', 'after kills', '--json'], settings)).stdout,
  ) as { key: string };
  const templates = (await (
    await fetch(`${base}/api/templates?limit=100`, { headers: { authorization: `Bearer ${created.key}` } })
  ).json()) as {
    data: { slug: string }[];
  };
  const slugs = [...samples.emails, ...accountSamples].map(({ slug }) => slug);
  t.same(templates.data.map(({ slug }) => slug).sort(), slugs.sort());
  const shown = await fetch(`${base}/api/templates/news/preview`, {
    headers: { authorization: `Bearer ${created.key}` },
  });
  t.match(
    await shown.text(),
    /Sealpost[^]*three coffees[^]*Hello Ada[^]*because you asked for them[^]*&#169;/,
    'in its layout',
  );
  t.match(await runCommand(['verify'], settings), { code: 0 });
});
