/** Gmail cuts off mails that are too long: a save, a preview and a dry run say so, and only there. */
import t from 'tap';
import type { CreateTemplateRequest } from '../../src/api/templates/templates.js';
import { caller, openWorld, schemaSaying, welcome } from '../support/command-world.js';

const never = new AbortController().signal;
const saying = (text: string): CreateTemplateRequest => ({ ...welcome, variables: [], schema: schemaSaying(text), publish: true });

/** The warnings that speak of the size. */
const ofSize = ({ warnings = [] }: Readonly<{ warnings?: readonly Readonly<{ message: string }>[] }>): number =>
  warnings.filter(({ message }) => /^makes a mail whose HTML has \d{2,3},\d{3} bytes; Gmail shows the first 104,448 of it/.test(message))
    .length;

void t.test('a mail near 102 KB is told of, a smaller one is not', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  t.equal(ofSize(await commands.createTemplate(caller, saying('word '.repeat(15_000)))), 0);
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', {}, never)), 0);
  t.equal(ofSize(await commands.updateTemplate(caller, 'welcome', { schema: schemaSaying('word '.repeat(20_000)) })), 1);
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', {}, never)), 1);
  await commands.publishTemplate(caller, 'welcome');
  const report = await commands.dryRunBulk(caller, { templateId: 'welcome', recipients: [{ email: 'ada@example.com' }] });
  t.match(report.warnings.join('\n'), /the template makes a mail whose HTML has/);
  const { template } = await commands.importTemplate(caller, { ...saying('word '.repeat(25_000)), slug: 'other' });
  t.equal(ofSize(template), 1);
});

void t.test('what values bring counts', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  t.equal(ofSize(await commands.createTemplate(caller, saying('{{text}}'))), 0);
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', { variables: { text: 'word '.repeat(20_000) } }, never)), 1);
});
