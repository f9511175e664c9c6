/** The forms of the editor in a browser: properties, variables, rich text, conditions, blocks and hints. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { eventually } from '../../support/wait.js';
import {
  openDashboard,
  PHONE,
  picture,
  violationsEverywhere,
  violationsOf,
  WIDE,
  withoutChromium,
} from '../browser.js';

t.setTimeout(600_000);

const template = {
  slug: 'forms',
  name: 'Forms',
  subject: 'Order {{order.number}}',
  variables: [
    {
      name: 'order',
      type: 'object',
      defaultValue: { number: 'A-7', items: [{ name: 'Mug', price: 4 }], color: '#0f766e' },
      schema: {
        properties: {
          number: { type: 'string', description: 'Number of the order' },
          color: { type: 'string' },
          items: { type: 'array', itemSchema: { properties: { name: { type: 'string' }, price: { type: 'number' } } } },
        },
      },
    },
  ],
  schema: {
    props: { linkColor: '#0f766e' },
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          {
            id: 'hello',
            type: 'rich-text',
            content: '<h1 style="color:#1e3a8a">Hello</h1><p>Order {{order.number}} is <strong>here</strong>.</p>',
          },
          { id: 'old', type: 'rich-text', content: '<table><tr><td>{{order.number}}</td></tr></table>' },
          { id: 'go', type: 'button', content: 'Look', props: { href: 'https://example.com', padding: '8px 16px' } },
          {
            id: 'each',
            type: 'loop',
            props: { dataSource: '{{order.items}}', itemVariable: 'one' },
            children: [{ id: 'item', type: 'rich-text', content: '<p>{{one.name}}</p>' }],
          },
          {
            id: 'if',
            type: 'conditional',
            props: { condition: 'order.number', operator: 'exists' },
            children: [{ id: 'yes', type: 'spacer', props: { height: 10 } }],
          },
          {
            id: 'table',
            type: 'table',
            props: { dataSource: '{{order.items}}', columns: [{ header: 'Item', content: '{{item.name}}' }] },
          },
          {
            id: 'both',
            type: 'columns',
            children: [
              { id: 'left', type: 'image', props: { src: 'https://example.com/a.webp', alt: 'A' } },
              { id: 'right', type: 'divider' },
            ],
          },
          { id: 'foot', type: 'include', props: { block: 'legal' } },
        ],
      },
    ],
  },
};

const block = {
  slug: 'legal',
  name: 'Legal lines',
  variables: [
    { name: 'reason', type: 'string', defaultValue: 'You have an account.', description: 'Why they get it' },
    { name: 'year', type: 'number', defaultValue: 2026 },
  ],
  schema: { components: [{ id: 'legal', type: 'rich-text', content: '<p>{{reason}} {{year}}</p>' }] },
  publish: true,
};

type Stored = Readonly<{ id: string; schema: { sections: readonly Readonly<{ components: readonly Component[] }>[] } }>;
type Component = Readonly<{
  id: string;
  content?: string;
  props?: Readonly<Record<string, unknown>>;
  children?: readonly Component[];
}>;

/** Shows the form of a component. */
const select = async (page: Page, id: string): Promise<void> => {
  await page.locator(`[role=treegrid] [data-key="${id}"]`).click();
  await page
    .getByRole('region', { name: /^Properties: / })
    .locator('header code', { hasText: new RegExp(`^${id}$`) })
    .waitFor();
};

void t.test('the forms of a template', { skip: withoutChromium }, async (t) => {
  const { app, visit, signIn } = await openDashboard(t);
  const post = async (path: string, body: unknown): Promise<Stored> => {
    const answer = await app.call<Stored>('POST', path, body);
    t.equal(answer.status, 201, answer.text);
    return answer.body;
  };
  await post('/api/blocks', block);
  const { id } = await post('/api/templates', template);
  const stored = async (): Promise<Stored> => (await app.call<Stored>('GET', `/api/templates/${id}`)).body;
  const inStored = async (name: string): Promise<Component> => {
    const walk = (list: readonly Component[] = []): readonly Component[] =>
      list.flatMap((one) => [one, ...walk(one.children)]);
    return walk((await stored()).schema.sections[0]?.components).find((one) => one.id === name)!;
  };
  const save = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: false }).first().waitFor();
  };

  await visit(t, {}, async (page) => {
    await signIn(page, `/app/templates/emails/${id}`);
    const form = page.getByRole('region', { name: /^Properties: / });
    const field = (name: string) => form.getByLabel(name, { exact: true });

    await t.test('the mail itself', async (t) => {
      await form.getByRole('heading', { name: 'Mail', exact: true, level: 2 }).waitFor();
      t.equal(await field('Subject').inputValue(), 'Order {{order.number}}');
      await form.getByRole('button', { name: 'Insert a variable: Preview text' }).click();
      await form.getByRole('option', { name: /order.number/ }).click();
      t.equal(await field('Preview text').inputValue(), '{{order.number}}');
      await field('Preview text').fill('Number {{order.nu');
      await field('Preview text').press('Enter');
      t.equal(await field('Preview text').inputValue(), 'Number {{order.number}}');
      await picture(page, 'form-mail');
      t.same(await violationsOf(page), []);
    });

    await t.test('a button: values, variables and hints', async (t) => {
      await select(page, 'go');
      await form.getByRole('button', { name: 'Background and frame' }).click();
      await form.getByRole('button', { name: 'Size and place' }).click();
      await field('Rounded corners').fill('8');
      await form.getByText(/^Rounded corners are not shown by Outlook on Windows/).waitFor();
      await form.getByRole('button', { name: '#0f766e', exact: true }).first().click();
      await form.getByRole('group', { name: 'Space inside' }).getByLabel('Left').fill('20px');
      await picture(page, 'form-button');
      t.same(await violationsEverywhere(page), []);
      await save(page);
      t.same((await inStored('go')).props, {
        href: 'https://example.com',
        padding: '8px 16px 8px 20px',
        borderRadius: 8,
        backgroundColor: '#0f766e',
      });
      await form.getByRole('button', { name: 'By a variable: Background' }).click();
      await field('Background').fill('{{order.col');
      await field('Background').press('Enter');
      await form.getByRole('button', { name: 'Clear: Rounded corners' }).click();
      await field('Link').fill('htp://x');
      await form.getByText(/^must be an address that begins with/).waitFor();
      t.equal(await field('Link').getAttribute('aria-invalid'), 'true');
      await field('Link').fill('https://example.com/{{order.number}}');
      await form.getByText(/^must be an address that begins with/).waitFor({ state: 'detached' });
      await save(page);
      t.same((await inStored('go')).props, {
        href: 'https://example.com/{{order.number}}',
        padding: '8px 16px 8px 20px',
        backgroundColor: '{{order.color}}',
      });
    });

    await t.test('rich text: formatted, with variables as pieces, and as source where it must be', async (t) => {
      await select(page, 'hello');
      const text = form.getByRole('textbox', { name: 'Text', exact: true });
      await text.waitFor();
      t.equal(await text.locator('[data-variable]').innerText(), 'order.number');
      await text.click();
      await page.keyboard.press('Control+End');
      await page.keyboard.type(' Thanks, {{');
      await field('Variable').waitFor();
      await page.keyboard.type('order.num');
      await page.keyboard.press('Enter');
      await page.keyboard.type('!');
      await picture(page, 'form-text');
      t.same(await violationsOf(page), []);
      await save(page);
      t.equal(
        (await inStored('hello')).content,
        '<h1 style="color:#1e3a8a">Hello</h1><p>Order {{order.number}} is <strong>here</strong>. Thanks, {{order.number}}!</p>',
      );
      await text.click();
      await page.keyboard.press('Control+a');
      await form.getByRole('button', { name: 'Link', exact: true }).click();
      await field('Where the link leads').fill('https://example.com/?a=1&b={{order.number}}');
      await page.keyboard.press('Enter');
      await text.locator('a').first().waitFor();
      await text.click();
      await page.keyboard.press('Control+z');
      await text.locator('a').first().waitFor({ state: 'detached' });
      await form.getByRole('button', { name: 'Edit as HTML' }).click();
      const source = field('Text, as HTML');
      await source.fill('<p>By hand</p>');
      await form.getByRole('button', { name: 'Show formatted' }).click();
      t.equal(await text.innerText(), 'By hand');
      await select(page, 'old');
      await form.getByText(/only its HTML can show unchanged/).waitFor();
      t.equal(await source.inputValue(), '<table><tr><td>{{order.number}}</td></tr></table>');
    });

    await t.test('conditions, loops and tables', async (t) => {
      await select(page, 'if');
      await field('Comparison').selectOption('is at least');
      await field('Kind of the value').selectOption('the number');
      await field('Value').fill('10');
      await picture(page, 'form-condition');
      t.same(await violationsOf(page), []);
      await select(page, 'item');
      await form.getByRole('button', { name: 'Insert a variable', exact: true }).click();
      await form.getByRole('option', { name: /one\.price/ }).waitFor();
      await page.keyboard.press('Escape');
      await select(page, 'each');
      await field('List').fill('');
      await form.getByRole('option', { name: /order\.items/ }).click();
      t.equal(await field('List').inputValue(), 'order.items');
      await select(page, 'table');
      await form.getByRole('button', { name: 'Add a column' }).click();
      await field('Header').fill('Price');
      await field('Content').fill('{{item.pr');
      await field('Content').press('Enter');
      await field('Style: Format').selectOption('Amount of money');
      await picture(page, 'form-table');
      t.same(await violationsEverywhere(page), []);
      await save(page);
      t.same((await inStored('if')).props, { condition: 'order.number', operator: '>=', value: 10 });
      t.same((await inStored('table')).props, {
        dataSource: '{{order.items}}',
        columns: [
          { header: 'Item', content: '{{item.name}}' },
          { header: 'Price', content: '{{item.price}}', format: { style: 'currency', currency: 'EUR' } },
        ],
      });
    });

    await t.test('columns, pictures of the gallery, and blocks', async (t) => {
      await select(page, 'left');
      await form.getByText(/^WebP pictures are not shown/).waitFor();
      await form.getByRole('button', { name: 'Size and place' }).click();
      await field('Unit: Width of this column').selectOption('%');
      await field('Width of this column').fill('30');
      await form.getByRole('button', { name: 'Choose from the gallery: Picture' }).click();
      const dialog = page.getByRole('dialog', { name: 'Choose a picture' });
      await dialog.getByText('Add a picture').waitFor();
      await dialog.locator('input[type=file]').setInputFiles({
        name: 'dot.png',
        mimeType: 'image/png',
        buffer: Buffer.from(
          'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
          'base64',
        ),
      });
      await dialog.waitFor({ state: 'detached' });
      t.match(await field('Picture').inputValue(), /^asset:/);
      await form.getByRole('button', { name: 'Choose from the gallery: Picture' }).click();
      await dialog.getByRole('button', { name: 'dot.png' }).waitFor();
      t.same(await violationsOf(page), []);
      await picture(page, 'form-gallery');
      await page.keyboard.press('Escape');
      await select(page, 'foot');
      await form.getByLabel(/^reason/).fill('You ordered {{order.nu');
      await form.getByLabel(/^reason/).press('Enter');
      await form.getByLabel(/^year/).fill('2027');
      await field('Version').selectOption({ label: 'Stay at version 1, the newest' });
      await picture(page, 'form-block');
      t.same(await violationsOf(page), []);
      await save(page);
      t.same((await inStored('both')).props, { widths: ['30%', '70%'] });
      t.same((await inStored('foot')).props, {
        block: 'legal',
        variables: { reason: 'You ordered {{order.number}}', year: 2027 },
        version: 1,
      });
      await page.setViewportSize(PHONE);
      await picture(page, 'form-phone');
      await page.setViewportSize(WIDE);
    });
  });
  await eventually('the template is as it was saved', async () => t.ok((await stored()).id === id));
});
