/** The built guide in Chromium, as the service serves it: its search and its choice of a language by keys, and what axe says. */
import t from 'tap';
import { openDashboard, PHONE, picture, violationsOf, WIDE, withoutChromium } from '../dashboard/browser.js';
import { withoutGuide } from '../support/guide.js';

t.setTimeout(300_000);

const WIDER = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

void t.test('the guide in a browser', { skip: withoutChromium || withoutGuide }, async (t) => {
  const { visit, url } = await openDashboard(t, { hasOwner: false });
  const at = (path: string): string => `${url}/docs/guide/${path}`;

  await visit(t, { viewport: PHONE, colorScheme: 'dark' }, async (page) => {
    await page.goto(at('reference/suppressions/'));
    t.same(await violationsOf(page), [], 'the reference');
    t.equal(await page.evaluate(WIDER), 0, 'the reference is not wider than a phone');
    await page.goto(at(''));
    t.equal(await page.evaluate(WIDER), 0, 'the first page is not wider than a phone');

    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(at(''));
    t.same(await violationsOf(page), [], 'the first page');

    // A reader chooses TypeScript once for all pages.
    const example = page.getByText('await sealpost.send({').first();
    t.notOk(await example.isVisible());
    await page.getByRole('radio', { name: 'curl' }).first().focus();
    await page.keyboard.press('ArrowRight');
    await example.waitFor();
    await page.goto(at('first-mail/'));
    await page.getByText('sealpost.templates.preview(').first().waitFor();

    await page.keyboard.press('Control+k');
    await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('rotate DKIM');
    const first = page.getByRole('dialog').getByRole('link').first();
    await first.getByText('Rotate DKIM keys', { exact: true }).waitFor();
    await picture(page, 'guide-search');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(at('domains/#rotate-dkim-keys'));
    await page.getByRole('heading', { name: 'Rotate DKIM keys' }).waitFor();
  });
});
