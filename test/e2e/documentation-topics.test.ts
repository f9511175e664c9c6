/** Runs the examples of the pages about single topics against a fresh start, in order, as one reader. */
import t from 'tap';
import { equip, followPages, lackingPrograms, runPage, shell, shownOf } from '../support/documented-pages.js';

t.setTimeout(900_000);

const pages = [
  'docs/credits.md',
  'docs/domains.md',
  'docs/schedules.md',
  'docs/bulk.md',
  'docs/suppressions.md',
  'docs/privacy.md',
  'docs/unsubscribe.md',
  'docs/webhooks.md',
  'docs/tracking.md',
  'docs/analytics.md',
  'docs/bounces.md',
  'docs/api-keys.md',
  'docs/oauth.md',
  'docs/teams.md',
  'README.md',
];

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const { server, reader } = await followPages(t);
    const [, pasted = ''] = await server.printed(/^(curl .*)$/m);
    t.match(await shell(pasted, reader.directory, equip(reader)), { code: 0, stdout: /"status":"queued"/ });
    for (const page of pages) await t.test(page, (t) => runPage(t, shownOf(page), reader));
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
