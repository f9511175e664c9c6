/** Runs the examples of the pages about single topics against a fresh start, in order, as one reader. */
import t from 'tap';
import { equip, followPages, lackingPrograms, runPage, shell, shownOf, topics } from '../support/documented-pages.js';

t.setTimeout(900_000);

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const { server, reader } = await followPages(t);
    const [, pasted = ''] = await server.printed(/^(curl .*)$/m);
    t.match(await shell(pasted, reader.directory, equip(reader)), { code: 0, stdout: /"status":"queued"/ });
    for (const page of topics) await t.test(page, (t) => runPage(t, shownOf(page), reader));
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
