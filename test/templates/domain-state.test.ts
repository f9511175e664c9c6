/** Attachment templates: what their events add up to, their short ids, and where in them a picture stands. */
import fc from 'fast-check';
import t from 'tap';
import { templateRecord, templateVersions } from '../../src/commands/templates/answers.js';
import {
  imageFieldOf,
  parseShortId,
  SHORT_ID_SIZE_BYTES,
  shortIdOf,
  attachmentTemplateDecider,
  attachmentTemplateRules,
} from '../../src/domain/templates/attachment-template.js';
import type { AttachmentTemplateContent, DocumentComponent } from '../../src/domain/rendering/content.js';
import { findVersion, type TemplateCommandOf } from '../../src/domain/templates/decider.js';
import { decodeEvent } from '../../src/event-log/codec.js';
import {
  attachmentTemplateIdOf,
  assertDefined,
  parseAttachmentTemplateId,
  parseTeamId,
  type TeamId,
} from '../../src/domain/core/ids.js';
import type { AttachmentDraft, EmailDraft, TemplateEvent } from '../../src/domain/templates/events.js';
import { templateDecider } from '../../src/domain/templates/email-template.js';
import { at, T0 } from '../support/email-facts.js';
import { specs } from '../support/given.js';

const template = specs(attachmentTemplateDecider);
const id = assertDefined(parseAttachmentTemplateId('66666666-6666-5666-8666-666666666666'), 'id');
const SHORT_ID = 'atpl_7k3m9q2xw4';
const draft: AttachmentDraft = {
  name: 'Invoice',
  description: 'Of an order',
  variables: [{ name: 'number', type: 'string' }],
  schema: { outputFormats: ['pdf', 'excel'], pages: [{ pageId: 'p' }] },
  locale: 'de-CH',
  timeZone: 'Europe/Zurich',
};
const created: TemplateEvent = {
  type: 'TemplateCreated',
  data: { at: T0, slug: 'invoice', kind: 'attachment', shortId: SHORT_ID },
};
const saved = (revision: number, which: AttachmentDraft | EmailDraft = draft, when = T0): TemplateEvent => ({
  type: 'TemplateDraftSaved',
  data: { at: when, revision, draft: which },
});
const published = (version: number, revision: number, when: string): TemplateEvent => ({
  type: 'TemplatePublished',
  data: { at: when, version, revision },
});

void t.test(
  'created with its short id; changed, published and resolved as every template is, without subject and sender',
  async (t) => {
    const { given } = template(t);
    const create: TemplateCommandOf<'attachment'> = {
      type: 'CreateTemplate',
      at: T0,
      slug: 'invoice',
      shortId: SHORT_ID,
      draft,
      publish: false,
    };
    const state = given().when(create).then(created, saved(1));
    t.strictSame(templateRecord(attachmentTemplateRules, { id, template: state.template!, revision: 1 }), {
      id,
      shortId: SHORT_ID,
      slug: 'invoice',
      name: 'Invoice',
      description: 'Of an order',
      type: 'attachment',
      outputFormats: ['pdf', 'excel'],
      status: 'draft',
      version: 1,
      publishedVersion: null,
      locale: 'de-CH',
      timeZone: 'Europe/Zurich',
      strictVariables: false,
      translations: {},
      createdAt: T0,
      updatedAt: T0,
      revision: 1,
      variables: draft.variables,
      schema: draft.schema,
    });
    const second = { ...draft, name: 'Bill' };
    const live = given(
      created,
      saved(1),
      published(1, 1, at(1)),
      saved(2, second, at(2)),
      published(2, 2, at(3)),
      saved(3, { ...draft, name: 'Third' }, at(4)),
    );
    const found = (version: string) => findVersion(attachmentTemplateRules, live.state.template!, version);
    t.equal(live.state.template!.shortId, SHORT_ID);
    t.strictSame(templateVersions(attachmentTemplateRules, live.state.template!), [
      { version: 2, name: 'Bill', publishedAt: at(3), current: true },
      { version: 1, name: 'Invoice', publishedAt: at(1), current: false },
    ]);
    t.strictSame(found('published'), {
      revision: 2,
      version: 2,
      shown: { version: 2, revision: 2, name: 'Bill', publishedAt: at(3) },
    });
    t.strictSame(found('draft'), { revision: 3, version: null, shown: { name: 'Third' } });
    t.throws(() => found('3'), { code: 'TEMPLATE_VERSION_NOT_FOUND' });
    given(created, saved(1))
      .when({ type: 'SaveDraft', at: at(1), draft: { ...draft } })
      .nothing();
    given().when({ type: 'PublishTemplate', at: T0 }).refused('TEMPLATE_NOT_FOUND');
  },
);

void t.test('a stream holds one kind of template: a draft of the other is a broken log', async (t) => {
  const email: EmailDraft = {
    name: 'Welcome',
    description: '',
    subject: 'Hi',
    from: null,
    variables: [],
    schema: { sections: [] },
    locale: 'en-US',
    timeZone: 'UTC',
  };
  t.throws(
    () => [created, saved(1, email)].reduce(attachmentTemplateDecider.evolve, attachmentTemplateDecider.initialState),
    /another kind/,
  );
  t.throws(() => [created, saved(1)].reduce(templateDecider.evolve, templateDecider.initialState), /another kind/);
});

void t.test('a template whose first event names no kind is an email', async (t) => {
  const first = decodeEvent(
    'TemplateCreated.v1',
    JSON.stringify({ at: T0, slug: 'welcome' }),
    undefined,
  ) as TemplateEvent;
  t.strictSame(templateDecider.evolve(templateDecider.initialState, first).created, { at: T0, slug: 'welcome' });
});

void t.test('short ids: ten characters of Crockford, read as people write them', async (t) => {
  t.equal(shortIdOf(Uint8Array.from([0, 1, 2, 3, 28, 29, 30, 31, 32, 255])), 'atpl_0123wxyz0z');
  t.throws(() => shortIdOf(new Uint8Array(9)), RangeError);
  t.equal(parseShortId('ATPL_7K3M9Q2XW4'), SHORT_ID);
  t.equal(parseShortId('atpl_oOiIlLabcd'), 'atpl_001111abcd');
  for (const wrong of [
    '',
    'atpl_',
    'atpl_7k3m9q2xw',
    'atpl_7k3m9q2xw45',
    'atpl_7k3m9q2xwu',
    'atp1_7k3m9q2xw4',
    'atpl-7k3m9q2xw4',
    'atpl_7k3m9q2xẅ',
    'key_7k3m9q2xw44',
    ' tpl_7k3m9q2xw4',
  ]) {
    t.equal(parseShortId(wrong), undefined, wrong);
  }
  fc.assert(
    fc.property(fc.uint8Array({ minLength: SHORT_ID_SIZE_BYTES, maxLength: SHORT_ID_SIZE_BYTES }), (bytes) => {
      const shortId = shortIdOf(bytes);
      t.equal(parseShortId(shortId), shortId);
      t.equal(parseShortId(shortId.toUpperCase()), shortId);
    }),
  );
});

void t.test('a short id is the name of one template in each team', async (t) => {
  const teams = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'].map((text) =>
    assertDefined(parseTeamId(text), 'team'),
  ) as [TeamId, TeamId];
  const [mine, theirs] = teams.map((team) => attachmentTemplateIdOf(team, SHORT_ID));
  t.equal(mine, attachmentTemplateIdOf(teams[0], SHORT_ID), 'derived the same way at any time');
  t.equal(mine, parseAttachmentTemplateId(mine!), 'a UUID');
  t.not(mine, theirs);
});

void t.test('a picture is found in the template by its address, or where only one can be meant', async (t) => {
  const image = (src: string): DocumentComponent => ({ id: src, type: 'image', props: { src } });
  const content = (...components: readonly DocumentComponent[]): AttachmentTemplateContent => ({
    variables: [],
    schema: {
      outputFormats: ['pdf'],
      pages: [
        { pageId: 'a', pageName: 'A', sections: [] },
        { pageId: 'b', pageName: 'B', sections: [{ id: 's', type: 'main', components }] },
      ],
    },
  });
  const base = 'schema.pages[1].sections[0].components';
  const loop: DocumentComponent = {
    id: 'l',
    type: 'loop',
    props: { dataSource: '{{x}}' },
    children: [
      {
        id: 'c',
        type: 'conditional',
        children: [image('https://a.example/1.png')],
        elseChildren: [image('{{item.photo}}')],
      },
    ],
  };
  t.equal(
    imageFieldOf(content(image('https://a.example/2.png'), loop), 'https://a.example/1.png'),
    `${base}[1].children[0].children[0].props.src`,
  );
  t.equal(
    imageFieldOf(content(loop), 'https://a.example/filled.png'),
    `${base}[0].children[0].elseChildren[0].props.src`,
  );
  t.equal(
    imageFieldOf(content(loop, image('https://a.example/{{x}}')), 'https://a.example/filled.png'),
    undefined,
    'two might be meant',
  );
  t.equal(imageFieldOf(content(), 'https://a.example/1.png'), undefined);
});
