/** The lists of templates: a write that was torn by a crash is made again, and counts nothing twice. */
import t from 'tap';
import type { EmailDraft, TemplateEvent } from '../../src/domain/template/events.js';
import { TEMPLATES, templatesProjection, type TemplateDocument } from '../../src/projections/templates.js';
import { T0, TEMPLATE_ID } from '../support/email-facts.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';

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
  await projectIn(whole, templatesProjection, events);
  const expected = await documentsOf(whole, templatesProjection);
  t.equal((expected[TEMPLATES]![0] as TemplateDocument).state.template!.published.length, 2);
  for (const sizes of [[1_000], [1], [2]]) {
    const readModels = openDocuments(t);
    t.equal(await tearWrite(readModels, templatesProjection, events, 1), 1);
    await projectIn(readModels, templatesProjection, events, { sizes, forgetful: true });
    t.strictSame(await documentsOf(readModels, templatesProjection), expected, `cut as ${sizes.join()}`);
  }
});
