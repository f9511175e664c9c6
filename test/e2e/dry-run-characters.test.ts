/**
 * A dry run over HTTP tells the characters that no font has, for each recipient, though the documents of most are not
 * drawn.
 */
import t from 'tap';
import type { DryRunResponse } from '../../src/api/bulk.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fontWith } from '../support/gallery-fonts.js';

const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t) });
t.teardown(() => app.stop());

const MA = 'ᜋ';
const LA = 'ᜎ';

const variables = [{ name: 'name', type: 'string', required: true }];
const rich = (id: string, content: string) => ({ id, type: 'rich-text', content });
const { body: mail } = await app.call<{ id: string }>('POST', '/api/templates', {
  name: 'Mail',
  subject: 'Hello',
  publish: true,
  schema: { sections: [{ id: 's', type: 'main', components: [rich('text', '<p>Hello</p>')] }] },
});

type Schema = Readonly<Record<string, unknown>>;

const documentWith = async (
  components: readonly unknown[],
  { outputFormats = ['pdf'], pageSettings, ...schema }: Schema = {},
): Promise<string> => {
  const page = {
    pageId: 'p',
    pageName: 'P',
    ...(pageSettings === undefined ? {} : { pageSettings }),
    sections: [{ id: 's', type: 'main', components }],
  };
  const { body, text } = await app.call<{ id: string }>('POST', '/api/templates/attachment', {
    name: 'Ticket',
    publish: true,
    variables,
    schema: { outputFormats, pages: [page], ...schema },
  });
  t.ok(body.id, text);
  return body.id;
};

const dryRun = async (attachmentTemplateId: string, names: readonly string[]): Promise<DryRunResponse> => {
  const recipients = names.map((name, at) => ({ email: `r${at}@example.com`, variables: { name } }));
  const attachments = [{ attachmentTemplateId, recipientVariableFields: ['name'] }];
  const { body, text } = await app.call<DryRunResponse>('POST', '/api/emails/send/bulk', {
    templateId: mail.id,
    recipients,
    attachments,
    dryRun: true,
  });
  t.ok(body.warnings, text);
  return body;
};

const told = (at: number, characters: string): string =>
  `recipients[${at}]: no font has ${characters}, in whose place names stand in Ticket.pdf`;

void t.test('of the recipient whose document is drawn, and of those whose documents are not', async (t) => {
  const id = await documentWith([rich('text', '<p>{{name}}</p>')]);
  const { valid, warnings } = await dryRun(id, [
    `${MA} Ada`,
    'Ada',
    `Ada ${MA}${LA}${MA}`,
    'Ünsal 名 أحمد 😀',
    '&#5899; <b>',
  ]);
  t.equal(valid, true);
  t.same(warnings, [told(0, `${MA} (U+170B)`), told(2, `${MA} (U+170B), ${LA} (U+170E)`)]);
});

void t.test('wherever a text is drawn, and only there', async (t) => {
  const places: Readonly<Record<string, unknown>> = {
    'rich text': rich('a', '<p title="x">{{name}}</p>'),
    list: { id: 'a', type: 'list', content: '<ul><li>{{name}}</li></ul>' },
    'header of a table': { id: 'a', type: 'table', props: { rows: [['x']], columns: [{ header: '{{name}}' }] } },
    'cell of a table': { id: 'a', type: 'table', props: { rows: [['{{name}}']] } },
    container: { id: 'a', type: 'container', children: [rich('b', '<p>{{name}}</p>')] },
    columns: { id: 'a', type: 'columns', children: [rich('b', '<p>{{name}}</p>')] },
    timeline: { id: 'a', type: 'timeline', props: { items: [{ title: 'x', description: '{{name}}' }] } },
  };
  for (const [place, component] of Object.entries(places)) {
    const id = await documentWith([component]);
    t.same((await dryRun(id, ['Ada', MA])).warnings, [told(1, `${MA} (U+170B)`)], place);
  }
  for (const [place, pageSettings] of Object.entries({
    header: { header: { content: '{{name}}' } },
    watermark: { watermark: { text: '{{name}}' } },
  })) {
    const id = await documentWith([rich('a', '<p>x</p>')], { pageSettings });
    t.same((await dryRun(id, ['Ada', MA])).warnings, [told(1, `${MA} (U+170B)`)], place);
  }
  const hidden = await documentWith([rich('a', '<p title="{{name}}">x</p>')]);
  t.same((await dryRun(hidden, ['Ada', MA])).warnings, [], 'an attribute');
  const workbook = await documentWith([rich('a', '<p>{{name}}</p>')], { outputFormats: ['excel'] });
  t.same((await dryRun(workbook, ['Ada', MA])).warnings, [], 'a workbook');
});

void t.test('where the template says that they are refused, the recipient fails as its email would', async (t) => {
  const id = await documentWith([rich('text', '<p>{{name}}</p>')], { missingCharacters: 'refuse' });
  const { valid, recipientValidation, warnings } = await dryRun(id, ['Ada', 'Ben', MA]);
  t.equal(valid, false);
  t.same(recipientValidation.failing, [2]);
  t.match(warnings, [
    /^recipients\[2\].*No font of this service has the character “ᜋ” \(U\+170B, Tagalog\) of schema\.pages\[0\]\.sections\[0\]\.components\[0\]/,
  ]);
});

void t.test('a font of the gallery has what it has', async (t) => {
  const { body: font, text } = await app.call<{ id: string }>('POST', '/api/assets', {
    filename: 'Brand.ttf',
    content: fontWith(MA).toString('base64'),
  });
  t.ok(font.id, text);
  const fonts = [{ family: 'Brand', regular: `asset:${font.id}` }];
  const id = await documentWith([rich('text', '<p>{{name}}</p>')], { fonts });
  const { valid, warnings } = await dryRun(id, ['Ada', MA, LA, `${MA}${LA}`, MA]);
  t.equal(valid, true);
  t.same(warnings, [told(2, `${LA} (U+170E)`), told(3, `${LA} (U+170E)`)]);
  const strict = await documentWith([rich('text', '<p>{{name}}</p>')], { fonts, missingCharacters: 'refuse' });
  t.same((await dryRun(strict, ['Ada', MA, LA, LA])).recipientValidation.failing, [2, 3]);
});
