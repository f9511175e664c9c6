/** Runs the examples of the pages about mail providers against one start with the settings that the pages show. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { followPages, lackingPrograms, runPage, shownOf } from '../support/documented-pages.js';

t.setTimeout(900_000);

const folder = 'docs/relays';
const root = fileURLToPath(new URL('../../../', import.meta.url));
const pages = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));

/** The setting by which a page has the calls of its provider authenticated. */
const settingOf = (page: string): readonly [string, string] => {
  const text = readFileSync(join(root, folder, page), 'utf8');
  const [, name = '', value = ''] =
    /^(SEALPOST_(?:SES_TOPICS|[A-Z]+_(?:TOKEN|SIGNING_KEY|VERIFICATION_KEY)))=(\S+)$/m.exec(text) ?? [];
  return [name, value];
};

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    t.equal(pages.length, 6);
    const { server, reader } = await followPages(t, {
      isFounded: true,
      more: Object.fromEntries(pages.map(settingOf)),
    });
    for (const page of pages) {
      const shown = shownOf(join(folder, page));
      t.ok(
        shown.some(({ answer }) => answer !== undefined),
        `${page} shows an answer`,
      );
      await t.test(page, (t) => runPage(t, shown, reader));
    }
    t.match(await server.end('SIGTERM'), { code: 0 });
  },
);
