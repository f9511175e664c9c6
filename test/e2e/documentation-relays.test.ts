/** Runs the examples of the pages about mail providers against one start with the settings that the pages show. */
import t from 'tap';
import {
  followPages,
  lackingPrograms,
  relayPages,
  relaySettings,
  runPage,
  shownOf,
} from '../support/documented-pages.js';

t.setTimeout(900_000);

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    t.equal(relayPages.length, 6);
    const { server, reader } = await followPages(t, { isFounded: true, more: relaySettings() });
    for (const page of relayPages) {
      const shown = shownOf(page);
      t.ok(
        shown.some(({ answer }) => answer !== undefined),
        `${page} shows an answer`,
      );
      await t.test(page, (t) => runPage(t, shown, reader));
    }
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
