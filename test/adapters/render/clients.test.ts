/**
 * The HTML and CSS features of the mails, compared with the support data of caniemail.com: a feature that a large
 * client lacks must be one that a mail can lose.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { caniemail } from 'caniemail';
import t from 'tap';

/** Compiled tests lie four folders deep in the output: build/test/adapters/render. */
const golden = fileURLToPath(new URL('../../../../test/golden/email/', import.meta.url));

const clients = ['gmail.*', 'outlook.*', 'apple-mail.*', 'yahoo.*'] as const;

/**
 * Features that a client may lack, each with the effect of its absence. A feature that carries the meaning or the
 * layout of a mail must not be listed.
 */
const mayBeMissing: Readonly<Record<string, string>> = {
  '<style> element': 'all styles that matter stand inline; it holds dark mode and small screens',
  'Type selector': 'in the style element only',
  'Attribute selector': 'in the style element only',
  '@media': 'dark mode and small screens',
  'color-scheme CSS property': 'the client chooses its own dark colours',
  'color-scheme meta tag': 'the same',
  '<body> element': 'its background stands on a table as well',
  'overflow-wrap': 'words that are too long stand in elements of their own, which break',
  'word-break': 'a single word of more than 30 letters, such as a whole link, widens its line',
  overflow: 'of the hidden preheader',
  'display:none': 'the preheader is hidden by its height too',
  'max-height property': 'the preheader is hidden by display too',
  opacity: 'what is still to come in a timeline is as dark as the rest',
  'height property': 'heights stand in attributes too',
  'border-radius': 'corners are square',
  'white-space': 'a label may break',
  'aria-label attribute': 'the state of a step is seen, not said',
  'role attribute': 'a reader takes layout tables for tables',
};

void t.test('what large clients lack is what a mail can lose', (t) => {
  const lacking = new Map<string, Set<string>>();
  for (const file of readdirSync(golden).filter((name) => name.endsWith('.html'))) {
    const { issues } = caniemail({ clients: [...clients], html: readFileSync(join(golden, file), 'utf8') });
    for (const [client, found] of issues.errors) {
      for (const { title } of found) lacking.set(title, (lacking.get(title) ?? new Set()).add(`${client} (${file})`));
    }
  }
  t.ok(lacking.size > 5, 'the data is there and is used');
  for (const [title, places] of lacking)
    t.ok(Object.hasOwn(mayBeMissing, title), `${title}: ${[...places].slice(0, 3).join(', ')}`);
  for (const title of Object.keys(mayBeMissing)) t.ok(lacking.has(title), `${title} is used, and lacking somewhere`);
  t.end();
});
