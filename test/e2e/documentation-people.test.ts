/**
 * Runs the examples of the page about users against a fresh start: from its first user to a second person who is signed
 * in.
 */
import t from 'tap';
import { followPages, lackingPrograms, runPage, shownOf } from '../support/documented-pages.js';

t.setTimeout(900_000);

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the page',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const { server, reader } = await followPages(t, { isFounded: true });
    await runPage(t, shownOf('docs/users.md'), reader);
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
