/** Warnings of a save and a preview about the mail itself: Gmail clips it, and its HTML loses parts. */
import t from 'tap';
import type { CreateTemplateRequest } from '../../src/api/templates/templates.js';
import { caller, openWorld, schemaSaying, welcome } from '../support/command-world.js';

const never = new AbortController().signal;
const saying = (text: string): CreateTemplateRequest => ({
  ...welcome,
  variables: [],
  schema: schemaSaying(text),
  publish: true,
});

/** The warnings that speak of the size. */
const ofSize = ({ warnings = [] }: Readonly<{ warnings?: readonly Readonly<{ message: string }>[] }>): number =>
  warnings.filter(({ message }) =>
    /^makes a mail whose HTML has \d{2,3},\d{3} bytes; Gmail shows the first 104,448 of it/.test(message),
  ).length;

void t.test('a mail near 102 KB is told of, a smaller one is not', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  t.equal(ofSize(await commands.createTemplate(caller, saying('word '.repeat(15_000)))), 0);
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', {}, never)), 0);
  t.equal(
    ofSize(await commands.updateTemplate(caller, 'welcome', { schema: schemaSaying('word '.repeat(20_000)) })),
    1,
  );
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', {}, never)), 1);
  await commands.publishTemplate(caller, 'welcome');
  const report = await commands.dryRunBulk(caller, {
    templateId: 'welcome',
    recipients: [{ email: 'ada@example.com' }],
  });
  t.match(report.warnings.join('\n'), /the template makes a mail whose HTML has/);
  const { template } = await commands.importTemplate(caller, { ...saying('word '.repeat(25_000)), slug: 'other' });
  t.equal(ofSize(template), 1);
});

void t.test('what values bring counts', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  t.equal(ofSize(await commands.createTemplate(caller, saying('{{text}}'))), 0);
  t.equal(
    ofSize(await commands.previewTemplate(caller, 'welcome', { variables: { text: 'word '.repeat(20_000) } }, never)),
    1,
  );
});

void t.test('what the HTML of the author loses is told by a save and by a preview, a translation apart', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  const lost = ({ warnings = [] }: Readonly<{ warnings?: readonly Readonly<{ field: string; message: string }>[] }>) =>
    warnings.filter(({ message }) => message.startsWith('is shown without what an email does not keep: '));
  const own = { field: 'schema.sections[0].components[0].content', message: /<o:p>$/ };
  const text = '<p>Dear <o:p>Ana</o:p></p>';
  const made = await commands.createTemplate(caller, saying('Dear <o:p>Ana</o:p>'));
  t.match(lost(made), [own]);
  t.match(lost(await commands.previewTemplate(caller, 'welcome', {}, never)), [own]);
  const translated = await commands.updateTemplate(caller, 'welcome', {
    translations: { de: { [text]: '<p style="position:fixed">Liebe Ana</p>' }, fr: { [text]: text } },
  });
  t.match(lost(translated), [own, { field: 'translations.de', message: /the style position$/ }]);
  t.equal(lost(translated).length, 2, 'what all languages lose is told once');
  t.same(
    lost(await commands.updateTemplate(caller, 'welcome', { schema: schemaSaying('<p>fine</p>'), translations: {} })),
    [],
  );
});
