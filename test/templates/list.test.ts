/** The lists of templates: by status, by change, who changed them, and how much they are sent. */
import t from 'tap';
import type { Page } from '../../src/projections/core/pages.js';
import { firstTeam } from '../../src/commands/core/caller.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, startOfToday } from '../support/fake-clock.js';
import { DAY_MS } from '../../src/domain/core/time.js';
import { said } from '../support/email-facts.js';
import { mailerBy } from '../support/mailers.js';
import { signedIn } from '../support/people.js';
import { schemaSaying } from '../support/command-world.js';

type Item = Readonly<{
  slug: string;
  status: string;
  updatedBy: string | null;
  sent30d?: number;
  lastSentOn?: string | null;
}>;

const page = { outputFormats: ['pdf'], pages: [{ pageId: 'p', pageName: 'P', ...schemaSaying('p') }] };

void t.test(
  'templates are listed by status and by change, with who changed them and how much they are sent',
  async (t) => {
    const clock = fakeClock(startOfToday());
    const mailer = mailerBy(async ({ envelope }) => ({
      host: 'test',
      durationMs: 0,
      recipients: envelope.to.map(() => said('accepted')),
    }));
    const app = await startTestApp({ dataDir: temporaryDirectory(t), isFounded: true, clock, mailer });
    t.teardown(() => app.stop());
    const list = async (query: string, path = '/api/templates'): Promise<readonly Item[]> => {
      const { status, text, body } = await app.call<Page<Item>>('GET', `${path}?search=zz&${query}`);
      if (status !== 200) throw new Error(text);
      return body.data;
    };
    const listed = async (query: string, path?: string) => (await list(query, path)).map(({ slug }) => slug);
    const all = async (query: string, path = '/api/templates') =>
      (await app.call<Page<Item>>('GET', `${path}?${query}`)).body;
    for (const [at, slug] of ['zz-one', 'zz-two', 'zz-three'].entries()) {
      clock.shift(1_000);
      const body = { name: slug, slug, publish: at > 0 };
      t.equal(
        (await app.call('POST', '/api/templates', { ...body, subject: 'S', schema: schemaSaying(slug) })).status,
        201,
      );
      t.equal((await app.call('POST', '/api/templates/attachment', { ...body, schema: page })).status, 201);
      const components = [{ id: 'c', type: 'rich-text', content: slug }];
      t.equal((await app.call('POST', '/api/blocks', { ...body, schema: { components } })).status, 201);
    }
    const teamId = (await firstTeam(app.engine))!;
    const ada = await signedIn(app.engine, { email: 'ada@example.org', name: 'Ada', role: 'member', teamId });
    clock.shift(1_000);
    for (const path of ['/api/templates', '/api/templates/attachment', '/api/blocks']) {
      const changed = await app.call<Item>(
        'PATCH',
        `${path}/zz-two`,
        { description: 'x' },
        { authorization: `Bearer ${ada.accessToken}` },
      );
      t.match(changed, { status: 200, body: { updatedBy: `user:${ada.userId}`, status: 'draft' } }, path);
      t.same(await listed('', path), ['zz-three', 'zz-two', 'zz-one'], path);
      t.same(await listed('status=draft', path), ['zz-two', 'zz-one'], path);
      t.same(await listed('status=published', path), ['zz-three'], path);
      const published = await all('status=published&sort=updatedAt&limit=1', path);
      t.match(published, { data: [{ slug: 'zz-three' }] }, path);
      const drafts = await all('status=draft&sort=updatedAt&limit=1', path);
      t.match(drafts, { data: [{ slug: 'zz-two', updatedBy: `user:${ada.userId}` }], meta: { total: 2 } }, path);
      t.match(
        await all(`status=draft&sort=updatedAt&limit=1&cursor=${drafts.meta.nextCursor}`, path),
        { data: [{ slug: 'zz-one', updatedBy: /^apiKey:/ }] },
        path,
      );
      t.match(await all('sort=updatedAt&limit=1', path), { data: [{ slug: 'zz-two' }] }, path);
      t.match(await app.call('GET', `${path}/zz-two`), { body: { updatedBy: `user:${ada.userId}` } }, path);
      for (const query of ['deleted=true&status=draft', 'deleted=true&sort=updatedAt', 'status=old', 'sort=name'])
        t.match(await app.call('GET', `${path}?${query}`), { status: 400, body: { code: 'VALIDATION_ERROR' } }, query);
      const record = await app.call('GET', `${path}/zz-two`);
      t.equal((await app.call('PATCH', `${path}/zz-two`, record.body)).status, 200, 'an answer is sent back as it is');
    }

    const day = (shift: number): string => new Date(clock.now() + shift).toISOString().slice(0, 10);
    const use = async () => (await list('')).map(({ slug, sent30d, lastSentOn }) => [slug, sent30d, lastSentOn]);
    for (let count = 0; count < 2; count += 1) {
      const mail = { templateId: 'zz-three', to: [{ email: 'ann@example.org' }], variables: {} };
      const sent = await app.call<{ id: string }>('POST', '/api/emails/send', mail);
      await app.whenStatus(sent.body.id, 'sent');
    }
    await app.whenCaughtUp();
    t.same(await use(), [
      ['zz-three', 2, day(0)],
      ['zz-two', 0, null],
      ['zz-one', 0, null],
    ]);
    await clock.advance(29 * DAY_MS);
    t.same((await use())[0], ['zz-three', 2, day(-29 * DAY_MS)]);
    await clock.advance(DAY_MS);
    t.same((await use())[0], ['zz-three', 0, null], 'days that are over do not count');
  },
);
