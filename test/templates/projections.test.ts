/** The lists of templates: a write that was torn by a crash is made again, and counts nothing twice. */
import t from 'tap';
import type { EmailDraft, TemplateEvent } from '../../src/domain/templates/events.js';
import {
  ATTACHMENT_TEMPLATES,
  attachmentTemplatesProjection,
  TEMPLATES,
  templatesProjection,
  type TemplateDocument,
} from '../../src/projections/templates/templates.js';
import { at, DAY_MS, T0, TEAM_ID, TEMPLATE_ID } from '../support/email-facts.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';

const emails = templatesProjection(30 * DAY_MS);
const documents = attachmentTemplatesProjection(30 * DAY_MS);

const draft: EmailDraft = {
  name: 'Welcome',
  description: 'Greets people',
  subject: 'Hi',
  from: null,
  variables: [],
  schema: { sections: [] },
  locale: 'en-US',
  timeZone: 'UTC',
};
const saved = (revision: number): TemplateEvent => ({ type: 'TemplateDraftSaved', data: { at: T0, revision, draft } });
const published = (version: number, revision: number): TemplateEvent => ({
  type: 'TemplatePublished',
  data: { at: T0, version, revision },
});
const story: readonly TemplateEvent[] = [
  { type: 'TemplateCreated', data: { at: T0, slug: 'welcome', kind: 'email' } },
  saved(1),
  published(1, 1),
  saved(2),
  published(2, 2),
];

void t.test('a crash between the document and the checkpoint: two versions stay two', async (t) => {
  const { append, recorded } = openLogOfTest();
  await append(`template-${TEMPLATE_ID}`, story);
  const events = await recorded();
  const whole = openDocuments(t);
  await projectIn(whole, emails, events);
  const expected = await documentsOf(whole, emails);
  t.equal((expected[TEMPLATES]![0] as TemplateDocument<'email'>).state.template!.published.length, 2);
  for (const sizes of [[1_000], [1], [2]]) {
    const readModels = openDocuments(t);
    t.equal(await tearWrite(readModels, emails, events, 1), 1);
    await projectIn(readModels, emails, events, { sizes, forgetful: true });
    t.strictSame(await documentsOf(readModels, emails), expected, `cut as ${sizes.join()}`);
  }
});

const deleted: TemplateEvent = { type: 'TemplateDeleted', data: { at: at(60) } };
const restored: TemplateEvent = { type: 'TemplateRestored', data: { at: at(90) } };
const removed: TemplateEvent = { type: 'TemplateRemoved', data: { at: at(31 * 86_400) } };
const { subject: _subject, from: _from, ...document } = draft;
const ofKinds = [
  { kind: 'template', projection: emails, rows: TEMPLATES, timers: 'templateTimers', begin: story },
  {
    kind: 'attachmentTemplate',
    projection: documents,
    rows: ATTACHMENT_TEMPLATES,
    timers: 'attachmentTemplateTimers',
    begin: [
      { type: 'TemplateCreated', data: { at: T0, slug: 'bill', kind: 'attachment', shortId: 'atpl_0000000001' } },
      {
        type: 'TemplateDraftSaved',
        data: { at: T0, revision: 1, draft: { ...document, schema: { outputFormats: ['pdf'], pages: [] } } },
      },
    ] satisfies readonly TemplateEvent[],
  },
] as const;

for (const { kind, projection, rows, timers, begin } of ofKinds) {
  const stream = `${kind}-${TEMPLATE_ID}`;

  void t.test(
    `${kind}: a timer stands from the deletion until it is restored or removed; then nothing is left of the row`,
    async (t) => {
      const { append, recorded } = openLogOfTest();
      const readModels = openDocuments(t);
      const after = async (events: readonly TemplateEvent[]) => {
        await append(stream, events);
        await projectIn(readModels, projection, await recorded());
        return documentsOf(readModels, projection);
      };
      t.same((await after(begin))[timers], []);
      const due = { kind: 'removal', key: stream, priority: 'low', team: TEAM_ID, dueAt: '2030-01-31T12:01:00.001Z' };
      t.match((await after([deleted]))[timers], [due]);
      const living = await after([restored]);
      t.same(living[timers], []);
      t.equal(living[rows]!.length, 1);
      t.match((await after([deleted]))[timers], [due]);
      t.strictSame(await after([removed]), { [timers]: [], [rows]: [] });
    },
  );

  void t.test(`${kind}: a write of the removal that is torn anywhere is made again`, async (t) => {
    const { append, recorded } = openLogOfTest();
    await append(stream, [...begin, deleted, removed]);
    await append(`${kind}-0198f000-0000-7000-8000-000000000099`, begin);
    const events = await recorded();
    const whole = openDocuments(t);
    await projectIn(whole, projection, events);
    const expected = await documentsOf(whole, projection);
    t.equal(expected[rows]!.length, 1);
    for (const known of [1, begin.length, begin.length + 1]) {
      for (let count = 0; count <= 3; count += 1) {
        const readModels = openDocuments(t);
        await projectIn(readModels, projection, events.slice(0, known));
        await tearWrite(readModels, projection, events.slice(known), count);
        await projectIn(readModels, projection, events, { sizes: [1], forgetful: true });
        t.strictSame(await documentsOf(readModels, projection), expected, `${known} events before, ${count} written`);
      }
    }
  });
}
