/**
 * A template is designed in a browser: by keys alone, on the canvas, with what the data hide; changes
 * that are not saved come back, and two people lose nothing.
 */
import type { Page } from 'playwright-core';
import t from 'tap';
import type { TestApp } from '../support/app.js';
import { eventually } from '../support/wait.js';
import { openDashboard, OWNER, picture, violationsEverywhere, withoutChromium } from './browser.js';

t.setTimeout(400_000);

const SEEN_WITHIN_MS = 20_000;

const text = (id: string, content: string) => ({ id, type: 'rich-text', content });

const template = {
  slug: 'note',
  name: 'Note',
  subject: 'A note',
  variables: [
    { name: 'seats', type: 'number', defaultValue: 2 },
    {
      name: 'items',
      type: 'array',
      itemType: 'object',
      schema: { itemSchema: { properties: { name: { type: 'string' } } } },
      defaultValue: [{ name: 'Mug' }, { name: 'Kettle' }],
    },
  ],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [
          text('intro', '<p>Hello there</p>'),
          text('second', '<p>The second</p>'),
          {
            id: 'many',
            type: 'conditional',
            props: { condition: '{{seats}}', operator: '>=', value: 10 },
            children: [text('by-invoice', '<p>You pay by invoice</p>')],
            elseChildren: [text('by-card', '<p>You pay by card</p>')],
          },
        ],
      },
      { id: 'foot', type: 'footer', components: [text('end', '<p>The end</p>')] },
    ],
  },
};

type Saved = Readonly<{
  id: string;
  revision: number;
  publishedVersion: number | null;
  subject: string;
  schema: typeof template.schema;
}>;

const make = async (app: TestApp, slug: string): Promise<Saved> => {
  const { body, status } = await app.call<Saved>('POST', '/api/templates', { ...template, slug });
  t.equal(status, 201);
  return body;
};
const saved = async (app: TestApp, { id }: Saved): Promise<Saved> =>
  (await app.call<Saved>('GET', `/api/templates/${id}`)).body;

type Node = Readonly<{ id: string; type: string; children?: readonly Node[]; elseChildren?: readonly Node[] }>;

/** The ids of components, with those inside of each in brackets. */
const shapeOf = (nodes: readonly Node[]): string =>
  nodes
    .map(({ id, children = [], elseChildren = [] }) => {
      const inside = [...children, ...elseChildren];
      return inside.length === 0 ? id : `${id}(${shapeOf(inside)})`;
    })
    .join(' ');
const shape = ({ schema }: Saved): string =>
  schema.sections.map(({ id, components }) => `${id}: ${shapeOf(components as readonly Node[])}`).join('; ');

const tree = (page: Page) => page.getByRole('treegrid', { name: 'Structure' });
const row = (page: Page, name: string | RegExp) => tree(page).getByRole('row', { name }).first();
const toast = (page: Page) => page.getByRole('status').filter({ hasText: /./ });

const open = async (page: Page, { id }: Saved, signIn: (page: Page, path?: string) => Promise<void>): Promise<void> => {
  await signIn(page, `/app/templates/emails/${id}`);
  await row(page, /Hello there/).waitFor();
};

/** Presses Tab until the element in focus has the name. */
const tabTo = (page: Page, name: string): Promise<void> => goTo(page, name, 'Tab');
const backTo = (page: Page, name: string): Promise<void> => goTo(page, name, 'Shift+Tab');

const goTo = async (page: Page, name: string, key: 'Tab' | 'Shift+Tab'): Promise<void> => {
  for (let count = 0; count < 80; count += 1) {
    const found = await page.evaluate<string>(
      "(() => { const at = document.activeElement; return at === null ? '' : (at.getAttribute('aria-label') ?? at.textContent ?? ''); })()",
    );
    if (found.trim() === name) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not lead to ${name}`);
};

/** Adds a component by keys alone; the tree has the focus before and after it. */
const add = async (page: Page, typed: string, where?: string): Promise<void> => {
  await page.keyboard.press('Insert');
  const box = page.getByRole('searchbox', { name: 'Search components' });
  await box.waitFor();
  if (where !== undefined) {
    await page.keyboard.press('Shift+Tab');
    for (let count = 0; count < 3; count += 1) {
      if ((await page.evaluate<string>('document.activeElement.textContent')) === where) break;
      await page.keyboard.press('ArrowLeft');
    }
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.type(typed);
  await page.locator('[role=option][data-focused]').waitFor();
  await page.keyboard.press('Enter');
  await box.waitFor({ state: 'detached' });
};

void t.test('the design of a template', { skip: withoutChromium }, async (t) => {
  const { app, url, visit, signIn } = await openDashboard(t);

  await t.test('a mail with columns, loop and condition is built by keys alone', async (t) => {
    const made = await make(app, 'by-keys');
    await visit(t, {}, async (page) => {
      await open(page, made, signIn);
      await tabTo(page, 'Add');
      await page.keyboard.press('Tab');
      // The tree is behind the buttons of its toolbar.
      for (let count = 0; count < 12; count += 1) {
        if (await page.evaluate("document.activeElement.closest('[role=treegrid]') !== null")) break;
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowDown');
      await row(page, /Hello there/)
        .and(page.locator('[aria-selected=true]'))
        .waitFor();
      await add(page, 'columns');
      await row(page, /^Columns/)
        .and(page.locator('[aria-selected=true]'))
        .waitFor();
      await add(page, 'loop', 'After');
      await row(page, /^For each item of items/)
        .and(page.locator('[aria-selected=true]'))
        .waitFor();
      await add(page, 'condition', 'After');
      await row(page, /^If seats/)
        .and(page.locator('[aria-selected=true]'))
        .waitFor();
      await picture(page, 'design-keys');
      await page.keyboard.press('Alt+ArrowUp');
      await toast(page).filter({ hasText: 'Moved up' }).waitFor();
      await page.keyboard.press('Alt+ArrowRight');
      await toast(page)
        .filter({ hasText: /Moved in: it stands in “Columns”/ })
        .waitFor();
      await page.keyboard.press('Control+s');
      await eventually(
        'it is saved',
        async () =>
          shape(await saved(app, made)).startsWith(
            'main: intro columns(column(text) column-2(text-2) condition(text-4)) loop(text-3) second',
          )
            ? true
            : undefined,
        SEEN_WITHIN_MS,
      );
      const before = shape(await saved(app, made));
      await page.keyboard.press('Control+d');
      await row(page, /^If seats/)
        .nth(0)
        .waitFor();
      await page.keyboard.press('Delete');
      await toast(page).filter({ hasText: 'is deleted' }).waitFor();
      await page.keyboard.press('Control+z');
      await page.keyboard.press('Control+z');
      await page.getByRole('button', { name: 'Save', exact: true }).and(page.locator('[disabled]')).waitFor();
      t.equal(shape(await saved(app, made)), before);
      await page.keyboard.press('Insert');
      await page.getByRole('searchbox', { name: 'Search components' }).waitFor();
      // The arrow keys of the search box scroll the list, which axe does not know.
      t.same(
        (await violationsEverywhere(page)).filter((one) => !one.includes('scrollable-region-focusable')),
        [],
      );
      await page.keyboard.press('Escape');

      await backTo(page, 'Publish…');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await tabTo(page, 'Publish');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      t.equal((await saved(app, made)).publishedVersion, 1);
      await tabTo(page, 'Test');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Send the test' }).waitFor();
      await tabTo(page, 'Send the test');
      await page.keyboard.press('Enter');
      await page.getByText(`The test to ${OWNER.email} is accepted.`).waitFor();
    });
  });

  await t.test('the canvas selects, and shows what the data hide', async (t) => {
    const made = await make(app, 'dragged');
    await visit(t, {}, async (page) => {
      await open(page, made, signIn);
      const frame = page.frameLocator('iframe[title^="Preview"]');
      await frame.getByText('You pay by card').waitFor();
      t.equal(await frame.getByText('You pay by invoice').count(), 0);
      // A chosen component is shown although the data hide it.
      await row(page, /You pay by invoice/).click();
      await frame.getByText('You pay by invoice').waitFor();
      await page.getByRole('radiogroup', { name: 'If seats is at least 10' }).getByText('Otherwise').click();
      await frame.getByText('You pay by card').waitFor();
      await page.getByRole('radiogroup', { name: 'If seats is at least 10' }).getByText('By the data').click();

      /** The frame of what is chosen, which is in the page and not in the mail. */
      const frameOf = async (words: RegExp) => {
        await row(page, words).click();
        await row(page, words).and(page.locator('[aria-selected=true]')).waitFor();
        const box = await page.locator('[class*=_chosen_]').first().boundingBox();
        if (box === null) throw new Error(`${String(words)} has no frame`);
        return box;
      };
      const second = await frameOf(/The second/);
      await row(page, /Hello there/).click();
      await page.mouse.click(second.x + 20, second.y + 10);
      await row(page, /The second/)
        .and(page.locator('[aria-selected=true]'))
        .waitFor();
      await picture(page, 'design');
    });
  });

  await t.test(
    'a component is dragged by keys in the tree, and by the mouse from the tree to the canvas',
    async (t) => {
      const made = await make(app, 'moved');
      const isSaved = async (page: Page, wanted: string): Promise<void> => {
        await page.getByRole('button', { name: 'Save', exact: true }).and(page.locator(':not([disabled])')).click();
        await eventually(
          'it is saved',
          async () => (shape(await saved(app, made)).startsWith(wanted) ? true : undefined),
          SEEN_WITHIN_MS,
        );
      };
      await visit(t, {}, async (page) => {
        await open(page, made, signIn);
        await row(page, /Hello there/).click();
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('Enter');
        const places = page.locator('[aria-label^="Insert"]:focus, [aria-label^="Drop"]:focus');
        await places.first().waitFor();
        for (let count = 0; count < 8; count += 1) {
          const label = await page.evaluate<string>("document.activeElement.getAttribute('aria-label') ?? ''");
          if (/between.*The second.*If seats|after.*The second/i.test(label)) break;
          await page.keyboard.press('ArrowDown');
        }
        await page.keyboard.press('Enter');
        await isSaved(page, 'main: second intro many');

        const frame = page.locator('iframe[title^="Preview"]');
        const box = await frame.boundingBox();
        if (box === null) throw new Error('there is no preview');
        const target = await page.frameLocator('iframe[title^="Preview"]').getByText('The end').boundingBox();
        if (target === null) throw new Error('the end is not shown');
        const handle = await row(page, /Hello there/).boundingBox();
        if (handle === null) throw new Error('there is no row');
        await page.mouse.move(handle.x + 60, handle.y + handle.height / 2);
        await page.mouse.down();
        await page.mouse.move(handle.x + 80, handle.y + 20, { steps: 4 });
        await page.mouse.move(target.x + 20, target.y + target.height - 2, { steps: 12 });
        await picture(page, 'design-drag');
        await page.mouse.up();
        await isSaved(page, 'main: second many');
        t.match(shape(await saved(app, made)), /foot: end intro|foot: intro end/);
      });
    },
  );

  await t.test('changes that are not saved come back, and a sign-out takes them away', async (t) => {
    const made = await make(app, 'kept');
    await visit(t, {}, async (page) => {
      await open(page, made, signIn);
      const head = await app.engine.store.head();
      await row(page, /Hello there/).click();
      for (let count = 0; count < 40; count += 1) await page.keyboard.press('Control+d');
      await row(page, /Hello there/).waitFor();
      await page.getByRole('button', { name: 'Undo', exact: true }).and(page.locator(':not([disabled])')).waitFor();
      await page.reload();
      await page.getByText(/Your changes of .* that were not saved are back/).waitFor();
      const written: string[] = [];
      for await (const { events } of app.engine.store.readAll(head)) written.push(...events.map(({ type }) => type));
      t.same(
        written.filter((type) => type.startsWith('Template')),
        [],
        'nothing is written but by a save',
      );
      await picture(page, 'design-back');
      t.same(await violationsEverywhere(page), []);
      await page.getByRole('button', { name: 'Discard them' }).click();
      await page.getByRole('button', { name: 'Save', exact: true }).and(page.locator('[disabled]')).waitFor();
      await page.getByRole('button', { name: 'Undo', exact: true }).click();
      await page.getByRole('button', { name: 'Save', exact: true }).and(page.locator(':not([disabled])')).waitFor();

      const kept = `new Promise((done) => {
        const request = indexedDB.open('sealpost/templates');
        request.onsuccess = () => {
          const database = request.result;
          const count = database.transaction('drafts').objectStore('drafts').count();
          count.onsuccess = () => { database.close(); done(count.result); };
        };
      })`;
      await eventually(
        'the changes are kept',
        async () => ((await page.evaluate<number>(kept)) === 1 ? true : undefined),
        SEEN_WITHIN_MS,
      );

      // The session ends elsewhere: after the next sign-in the changes are there.
      await page.context().clearCookies();
      await page.reload();
      await page.getByLabel('Email address').fill(OWNER.email);
      await page.getByLabel('Password').fill(OWNER.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText(/that were not saved are back/).waitFor();
      await page.getByRole('button', { name: /^Account of/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByLabel('Email address').waitFor();
      await eventually(
        'nothing is kept',
        async () =>
          (await page.evaluate<number>(
            "indexedDB.databases().then((all) => all.filter(({ name }) => name.includes('templates')).length)",
          )) === 0
            ? true
            : undefined,
        SEEN_WITHIN_MS,
      );
      await open(page, made, signIn);
      t.equal(await page.getByText(/that were not saved are back/).count(), 0);
    });
  });

  await t.test('letters are at once in a save, in another view, after a reload and in an undo', async (t) => {
    const made = await make(app, 'letters');
    await visit(t, {}, async (page) => {
      await open(page, made, signIn);
      const subject = page.locator('[data-field=subject] input').first();
      await subject.click();
      await page.keyboard.press('End');
      await page.keyboard.type(' on');
      await page.keyboard.press('Control+s');
      await eventually(
        'the newest letter is saved',
        async () => ((await saved(app, made)).subject === 'A note on' ? true : undefined),
        SEEN_WITHIN_MS,
      );
      await page.keyboard.type('e');
      await page.reload();
      await page.getByText(/that were not saved are back/).waitFor();
      t.equal(await subject.inputValue(), 'A note one');
      await page.getByRole('link', { name: 'JSON', exact: true }).click();
      await page.getByText('A note one').first().waitFor();
      await page.getByRole('link', { name: 'Design', exact: true }).click();
      await subject.waitFor();
      t.equal(await subject.inputValue(), 'A note one');
      await subject.click();
      await page.keyboard.press('End');
      await page.keyboard.type('s');
      await page.getByRole('button', { name: 'Undo', exact: true }).click();
      t.equal(await subject.inputValue(), 'A note one');
      // The tree and the canvas follow at the pause.
      await row(page, /Hello there/).click();
      await page.locator('[role=textbox][aria-multiline]').first().click();
      await page.keyboard.press('Control+End');
      await page.keyboard.type(', reader');
      await row(page, /Hello there, reader/).waitFor();
      await page.frameLocator('iframe[title^="Preview"]').getByText('Hello there, reader').waitFor();
    });
  });

  await t.test('two people: both versions are shown, and go together where they can', async (t) => {
    const made = await make(app, 'two-people');
    const theirs = (change: (schema: typeof template.schema) => void) => {
      const schema = structuredClone(template.schema);
      change(schema);
      return app.call('PATCH', `/api/templates/${made.id}`, { schema });
    };
    await visit(t, { expected: /status of 400/ }, async (page) => {
      await open(page, made, signIn);
      await row(page, /Hello there/).click();
      await page.keyboard.press('Delete');
      await toast(page).filter({ hasText: 'is deleted' }).waitFor();
      await theirs((schema) => {
        schema.sections[1]!.components = [text('end', '<p>Another end</p>') as never];
      });
      await page.keyboard.press('Control+s');
      const both = page.getByRole('region', { name: 'Two versions' });
      await both.getByText(/saved this template/).waitFor();
      await both.getByRole('region', { name: 'Theirs' }).getByText('Another end', { exact: false }).first().waitFor();
      await both.getByRole('region', { name: 'Yours' }).getByText('intro').first().waitFor();
      await picture(page, 'design-two');
      t.same(await violationsEverywhere(page), []);
      await both.getByRole('button', { name: 'Keep both' }).click();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await eventually(
        'both are saved',
        async () => {
          const now = await saved(app, made);
          return shape(now) === 'main: second many(by-invoice by-card); foot: end' &&
            JSON.stringify(now).includes('Another end')
            ? true
            : undefined;
        },
        SEEN_WITHIN_MS,
      );

      // A hint when the window gets the focus; taking theirs leaves mine one Undo away.
      await row(page, /The second/).click();
      await page.keyboard.press('Delete');
      await theirs((schema) => {
        schema.sections[0]!.components = [text('second', '<p>Their second</p>') as never];
      });
      await eventually(
        'the hint is shown',
        async () => {
          await page.evaluate("window.dispatchEvent(new Event('focus'))");
          await picture(page, 'design-hint');
          return (await page.getByText(/You see your own changes/).count()) > 0 ? true : undefined;
        },
        SEEN_WITHIN_MS,
      );
      await page.getByRole('button', { name: 'Show both' }).click();
      await both.getByText(/Both changed/).waitFor();
      await both.getByRole('button', { name: 'Take theirs' }).click();
      await row(page, /Their second/).waitFor();
      await page.getByRole('button', { name: 'Undo', exact: true }).click();
      await row(page, /^If seats/).waitFor();
      t.equal(await row(page, /Their second/).count(), 0);
    });
    t.ok(url);
  });
});
