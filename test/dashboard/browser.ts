/**
 * The dashboard in Chromium, on a whole service with a data directory of its own. A test that ends with an error on the
 * console, a report of the content policy or a request to another host fails.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { firstTeam } from '../../src/commands/core/caller.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.js';
import { PASSWORD, signedIn } from '../support/people.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const WIDE = { width: 1_280, height: 800 } as const;
export const PHONE = { width: 360, height: 740 } as const;

export const OWNER = { email: 'ada@example.com', password: PASSWORD, name: 'Ada Example' } as const;

/** Why no browser is there; false: there is one. A machine of CI without one says so in its output. */
export const withoutChromium = ((): string | false => {
  try {
    execFileSync('chromium', ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    console.log('# NOT RUN: chromium is not here, so the dashboard is not tried in a browser');
    return 'chromium is not here';
  }
})();

export type Dashboard = Readonly<{
  app: TestApp;
  /** The address of the service, without a slash at its end. */
  url: string;
  browser: Browser;
  /** Walks through pages in a browser of its own cookies, whose faults fail the test. */
  visit: (t: Test, options: Visit, walk: (page: Page) => Promise<void>) => Promise<void>;
  /** Signs in by the form; the page then shows the path, or the whole address. */
  signIn: (page: Page, path?: string) => Promise<void>;
}>;

/** A busy machine takes seconds for what takes a moment. */
const WAIT_MS = 15_000;

let addresses = 0;

/** `expected`: what the browser may say on its console. */
type Visit = Readonly<{
  viewport?: Readonly<{ width: number; height: number }>;
  colorScheme?: 'light' | 'dark';
  /** The language of the browser. */
  locale?: string;
  expected?: RegExp;
  /** The origin of the pages, if not that of the service. */
  base?: string;
}>;

/** `hasOwner`: the owner of the first team is OWNER, as is the default. */
type Options = Partial<TestAppOptions> & Readonly<{ hasOwner?: boolean }>;

/** Starts the service and one browser; both end with the test. */
export const openDashboard = async (t: Test, options: Options = {}): Promise<Dashboard> => {
  execFileSync(process.execPath, [join(root, 'bin/build-dashboard.js')], { stdio: 'inherit' });
  const { settings, hasOwner = true, ...others } = options;
  const app = await startTestApp({
    ...{ dataDir: t.testdir(), isFounded: true, settings: { SEALPOST_TRUST_PROXY: 'true', ...settings } },
    ...others,
  });
  t.teardown(() => app.stop());
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  if (hasOwner)
    await signedIn(app.engine, { ...OWNER, teamId: assertDefined(await firstTeam(app.engine), 'first team') });
  await app.whenCaughtUp();
  const browser = await chromium.launch({
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(),
    args: ['--no-sandbox', '--disable-gpu'],
  });
  t.teardown(() => browser.close());
  return {
    app,
    url,
    browser,
    visit: async (t, { viewport = WIDE, colorScheme = 'light', locale = 'en-GB', expected, base = url }, walk) => {
      const context = await browser.newContext({
        ...{ viewport, colorScheme, locale, timezoneId: 'UTC' },
        // Attempts to sign in are counted by address.
        extraHTTPHeaders: { 'x-forwarded-for': `198.51.100.${(addresses += 1)}` },
      });
      const page = await context.newPage();
      const faults = faultsOf(context, page, base, expected);
      page.setDefaultTimeout(WAIT_MS);
      try {
        await walk(page);
      } finally {
        await context.close();
        t.same(faults, [], 'no error on the console, no report of the policy, no request to another host');
      }
    },
    signIn: async (page, path = '/app/emails') => {
      await page.goto(new URL(path, url).href);
      await page.getByLabel('Email address').fill(OWNER.email);
      await page.getByLabel('Password').fill(OWNER.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('main#page').waitFor();
    },
  };
};

/** The viewer of PDF files is a part of Chromium. */
const PDF_VIEWER = /^chrome(?:-extension:\/\/mhjfbmdgcfjbbpaeojofohoefgiehjai|:\/\/resources)\//;

const faultsOf = (
  context: BrowserContext,
  page: Page,
  url: string,
  expected: RegExp | undefined,
): readonly string[] => {
  const faults: string[] = [];
  const note = (fault: string): void => {
    if (expected?.test(fault) !== true) faults.push(fault);
  };
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      note(`${message.type()}: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (fault) => note(`error: ${fault.stack ?? fault.message}`));
  context.on('request', (request) => {
    const address = request.url();
    if (PDF_VIEWER.test(address)) return;
    if (!address.startsWith(`${url}/`) && !address.startsWith(`blob:${url}/`) && !address.startsWith('data:'))
      note(`request: ${address}`);
  });
  return faults;
};

type Violation = Readonly<{ id: string; nodes: readonly Readonly<{ html: string; failureSummary: string }>[] }>;

/** The faults that axe finds on the page, a line for each element. */
export const violationsOf = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    // React Aria reads sentences out by a picture that is there for a moment.
    "axe.run({ exclude: ['[data-live-announcer]'] })",
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
};

/** The faults that axe finds light and dark, on a wide screen and on a phone. The page is left light and wide. */
export const violationsEverywhere = async (page: Page): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const colorScheme of ['dark', 'light'] as const)
    for (const viewport of [PHONE, WIDE]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      // Colours of a theme are mixed for a moment; the next frames have the new ones.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      for (const violation of await violationsOf(page)) found.push(`${colorScheme} ${viewport.width}: ${violation}`);
    }
  return found;
};

/** Keeps a picture of the page where SEALPOST_TEST_PICTURES names a folder. */
export const picture = async (page: Page, name: string): Promise<void> => {
  const folder = process.env['SEALPOST_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
};
