/** Runs the examples of the pages on which a person signs in against a fresh start, in order, as one reader. */
import t from 'tap';
import { followPages, lackingPrograms, pagesOfPeople, runPage, shownOf } from '../support/documented-pages.js';

t.setTimeout(900_000);

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const { server, reader } = await followPages(t, { isFounded: true });
    for (const page of pagesOfPeople) await t.test(page, (t) => runPage(t, shownOf(page), reader));
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
