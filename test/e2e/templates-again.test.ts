/**
 * Templates over HTTP: what GET answers is taken back by PATCH, POST and import, and what was deleted is found and
 * restored.
 */
import t from 'tap';
import fc from 'fast-check';
import type { AttachmentTemplateRecord, TemplateRecord } from '../../src/api/templates/templates.js';
import { readOnlyFields } from '../../src/commands/templates/answers.js';
import type { Json } from '../../src/domain/core/json.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { everyComponent } from '../support/kitchen-sink.js';

type Known = TemplateRecord | AttachmentTemplateRecord;
const app = await startTestApp({
  isFounded: true,
  dataDir: temporaryDirectory(t),
  clock: fakeClock(Date.parse('2030-01-01T12:00:00.000Z')),
});
t.teardown(() => app.stop());

const line = (maxLength: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength })
    .map((text) => text.replace(/[\p{Cc}\u2028\u2029{}]/gu, ' '))
    .filter((text) => text.trim() !== '');

/** A default value for each type of variable. */
const variable = fc.oneof(
  fc.record({ type: fc.constant('string'), defaultValue: fc.string({ unit: 'grapheme' }) }, { requiredKeys: ['type'] }),
  fc.record({
    type: fc.constant('number'),
    defaultValue: fc.double({ noNaN: true, min: -1e9, max: 1e9 }).map((value) => value + 0),
  }),
  fc.record({ type: fc.constant('boolean'), defaultValue: fc.boolean() }),
  fc.record({
    type: fc.constant('array'),
    itemType: fc.constant('object'),
    defaultValue: fc.constant([{ b: 1, a: null, 7: 'x' }]),
  }),
  fc.record({ type: fc.constant('object'), defaultValue: fc.constant({ z: [], a: { 2: 'x', 1: null } }) }),
);
const variables = fc
  .uniqueArray(fc.tuple(fc.stringMatching(/^declared[0-9]{1,4}$/), variable, fc.boolean()), {
    selector: ([name]) => name,
    maxLength: 5,
  })
  .map((all) => all.map(([name, definition, required]) => ({ name, required, ...definition })));

/** The component with new ids. */
const fresh = (component: Json, number: number): Json => {
  let count = 0;
  return JSON.parse(JSON.stringify(component), (key, value: Json) =>
    key === 'id' && typeof value === 'string' ? `c${number}-${(count += 1)}` : value,
  ) as Json;
};
const componentsOf = (names: readonly string[]) =>
  fc
    .array(fc.constantFrom(...names), { maxLength: 6 })
    .map((all) => all.map((name, at) => fresh(everyComponent[name]!, at)));
const section = (names: readonly string[]) =>
  fc.record({
    id: fc.constant('main'),
    type: fc.constantFrom('main', 'header', 'body', 'footer'),
    components: componentsOf(names),
  });

const common = {
  name: line(60),
  description: fc.string({ unit: 'grapheme', maxLength: 40 }),
  variables,
  locale: fc.constantFrom('de-DE', 'en-US'),
};
const mail = fc.record(
  {
    ...common,
    subject: line(40),
    from: fc.option(fc.record({ name: line(30), email: fc.constant('Shop@Example.com') }, { requiredKeys: ['email'] })),
    schema: fc.record({ sections: fc.tuple(section(Object.keys(everyComponent))) }),
    publish: fc.boolean(),
  },
  { requiredKeys: ['name', 'subject', 'schema'] },
);
const inDocuments = Object.keys(everyComponent).filter((name) =>
  /^(?:rich-text|divider|spacer|container|columns)$/.test(name),
);
const document = fc.record(
  {
    ...common,
    schema: fc.record({
      outputFormats: fc.constant(['pdf']),
      pages: fc.tuple(
        fc.record({
          pageId: fc.constant('p'),
          pageName: fc.constant('Page'),
          sections: fc.tuple(section(inDocuments)),
        }),
      ),
    }),
    publish: fc.boolean(),
  },
  { requiredKeys: ['name', 'schema'] },
);

/** An answer to a change tells of paths that nothing declares; a record does not. */
const recordOf = (answer: Known): Known => {
  const { warnings: _, ...record } = answer as Known & { warnings?: unknown };
  return record;
};

/** The fields of a template that its author wrote. */
const written = (record: Known): unknown =>
  Object.fromEntries(
    Object.entries(recordOf(record)).filter(([field]) => !(readOnlyFields as readonly string[]).includes(field)),
  );

const comesBack = async (path: string, body: unknown): Promise<void> => {
  const { status, text } = await app.call('POST', path, body);
  if (status !== 201) throw new Error(`${path} refuses what it should take: ${text}`);
  const { body: record, headers } = await app.call<Known>('GET', `${path}/${(JSON.parse(text) as Known).id}`);
  const patched = await app.call<Known>('PATCH', `${path}/${record.id}`, record, {
    'if-match': String(headers['etag']),
  });
  t.same(
    [patched.status, JSON.stringify(recordOf(patched.body))],
    [200, JSON.stringify(record)],
    'PATCH takes it, and nothing changes',
  );
  const { slug: _slug, ...nameless } = record;
  const copy = await app.call<Known>('POST', path, nameless);
  t.same(
    [copy.status, written({ ...copy.body, slug: record.slug })],
    [201, written(record)],
    'POST takes it without its slug',
  );
  t.equal((await app.call('POST', path, record)).body['code'], 'TEMPLATE_SLUG_TAKEN');
  await app.call('DELETE', `${path}/${record.id}`);
  const again = await app.call<Known>('POST', path, record);
  t.same([again.status, written(again.body)], [201, written(record)], 'POST takes it whole where its slug is free');
  const imported = await app.call<Known>('POST', `${path}/import`, again.body);
  t.same(
    [imported.status, imported.body.id, written(imported.body)],
    [200, again.body.id, written(record)],
    'import takes it',
  );
  t.equal(imported.body.status, 'published');
  const version = await app.call<Known>('GET', `${path}/${again.body.id}/versions/1`);
  t.equal(version.status, 200);
  const patchedByVersion = await app.call<Known>('PATCH', `${path}/${again.body.id}`, version.body);
  t.equal(patchedByVersion.status, 200, patchedByVersion.text);
  const fromVersion = await app.call<Known>('POST', path, { ...version.body, name: 'Copy' });
  t.equal(fromVersion.status, 201, fromVersion.text);
  t.same(
    [fromVersion.body.variables, fromVersion.body.schema],
    [version.body.variables, version.body.schema],
    'what GET answers of a version comes back, too',
  );
  await app.call('DELETE', `${path}/${again.body.id}`);
  const anew = await app.call<Known>('POST', `${path}/import`, imported.body);
  t.same([anew.status, written(anew.body)], [201, written(record)], 'import makes it anew where it is gone');
};

void t.test('what GET answers of a template of an email comes back', () =>
  fc.assert(
    fc.asyncProperty(mail, (body) => comesBack('/api/templates', body)),
    { numRuns: 25 },
  ),
);

void t.test('what GET answers of an attachment template comes back', () =>
  fc.assert(
    fc.asyncProperty(document, (body) => comesBack('/api/templates/attachment', body)),
    { numRuns: 25 },
  ),
);

void t.test('deleted templates are listed while they can be restored, the last deleted first', async (t) => {
  for (const path of ['/api/templates', '/api/templates/attachment']) {
    const own = path.endsWith('attachment')
      ? {
          schema: {
            outputFormats: ['pdf'],
            pages: [
              {
                pageId: 'p',
                pageName: 'P',
                sections: [{ id: 'main', type: 'main', components: [everyComponent['spacer']] }],
              },
            ],
          },
        }
      : {
          subject: 'Hi',
          schema: { sections: [{ id: 'main', type: 'main', components: [everyComponent['rich-text']] }] },
        };
    const ids: string[] = [];
    const deletedIds = async () =>
      (await app.call<{ data: Known[] }>('GET', `${path}?deleted=true&limit=2`)).body.data.map(({ id }) => id);
    for (const name of ['First', 'Twelfth']) {
      const { body, text } = await app.call<Known>('POST', path, { name, ...own });
      t.ok(body.id, text);
      ids.unshift(body.id);
      await app.call('DELETE', `${path}/${body.id}`);
    }
    t.same(await deletedIds(), ids);
    const { body, text } = await app.call<{ data: Known[] }>('GET', `${path}?deleted=true&limit=1`);
    t.match(
      body,
      { data: [{ id: ids[0], name: 'Twelfth', deletedAt: String }], meta: { totalPages: Number, nextCursor: String } },
      text,
    );
    t.equal((await app.call('GET', `${path}?deleted=true&search=Sec`)).status, 400);
    t.equal((await app.call<Known>('POST', `${path}/${ids[0]!}/restore`)).body.name, 'Twelfth');
    t.equal((await deletedIds())[0], ids[1]);
    const living = await app.call<{ data: Known[] }>('GET', `${path}?search=Twelfth`);
    t.same(
      living.body.data.map(({ id }) => id),
      [ids[0]],
    );
    t.notOk('deletedAt' in living.body.data[0]!);
  }
});
