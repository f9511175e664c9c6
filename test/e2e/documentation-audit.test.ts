/**
 * The pages of the audit log and of approvals are run against a start of their own: of one address few sign in within a
 * minute, and other pages do, too.
 */
import t from 'tap';
import { followPages, lackingPrograms, runPage, shownOf } from '../support/documented-pages.js';

t.setTimeout(900_000);

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const { server, reader } = await followPages(t, { isFounded: true });
    await t.test('docs/audit.md', (t) => runPage(t, shownOf('docs/audit.md'), reader));
    await t.test('docs/approvals.md', (t) => runPage(t, shownOf('docs/approvals.md'), reader));
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
