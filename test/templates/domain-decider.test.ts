/** Decisions about templates, and their state. */
import fc from 'fast-check';
import t from 'tap';
import { templateRecord, templateVersions } from '../../src/commands/templates/answers.js';
import { DomainError, type ErrorCode } from '../../src/domain/core/errors.js';
import {
  assertDefined,
  parseTemplateId,
  attachmentTemplateIdOf,
  parseAttachmentTemplateId,
  parseTeamId,
  type TeamId,
} from '../../src/domain/core/ids.js';
import type { AttachmentTemplateContent, DocumentComponent } from '../../src/domain/rendering/content.js';
import {
  imageFieldOf,
  parseShortId,
  SHORT_ID_SIZE_BYTES,
  shortIdOf,
  attachmentTemplateDecider,
  attachmentTemplateRules,
} from '../../src/domain/templates/attachment-template.js';
import {
  evolveSlug,
  findVersion,
  type TemplateCommandOf,
  type TemplateStateOf,
} from '../../src/domain/templates/decider.js';
import { templateDecider, templateRules } from '../../src/domain/templates/email-template.js';
import type { EmailDraft, TemplateEvent, AttachmentDraft } from '../../src/domain/templates/events.js';
import { decodeEvent } from '../../src/event-log/codec.js';
import { at, T0, TEMPLATE_ID } from '../support/email-facts.js';
import { specs } from '../support/given.js';

// Templates: create, draft, publish, versions, delete; and who owns a slug.

const template = specs(templateDecider);
const id = assertDefined(parseTemplateId(TEMPLATE_ID), 'template id');
const draft: EmailDraft = {
  name: 'Welcome',
  description: 'Greets',
  subject: 'Hello {{name}}',
  from: { email: 'hi@example.com', name: 'Hi' },
  variables: [{ name: 'name', type: 'string' }],
  schema: { sections: [] },
  locale: 'en-US',
  timeZone: 'UTC',
};
const second: EmailDraft = { ...draft, name: 'Welcome back', subject: 'Again {{name}}', from: null };

const created: TemplateEvent = { type: 'TemplateCreated', data: { at: T0, slug: 'welcome', kind: 'email' } };
const saved = (revision: number, which: EmailDraft, when = T0): TemplateEvent => ({
  type: 'TemplateDraftSaved',
  data: { at: when, revision, draft: which },
});
const published = (version: number, revision: number, when: string): TemplateEvent => ({
  type: 'TemplatePublished',
  data: { at: when, version, revision },
});

void t.test('created, as a draft or published at once; a second time nothing', async (t) => {
  const { given } = template(t);
  const create = (publish: boolean): TemplateCommandOf<'email'> => ({
    type: 'CreateTemplate',
    at: T0,
    slug: 'welcome',
    draft,
    publish,
  });
  const state = given()
    .when(create(false))
    .then(created, { type: 'TemplateDraftSaved', data: { at: T0, revision: 1, draft } });
  t.strictSame(templateRecord(templateRules, { id, template: state.template!, revision: 1 }), {
    id,
    slug: 'welcome',
    name: 'Welcome',
    description: 'Greets',
    type: 'email',
    subject: 'Hello {{name}}',
    from: { email: 'hi@example.com', name: 'Hi' },
    status: 'draft',
    version: 1,
    publishedVersion: null,
    locale: 'en-US',
    timeZone: 'UTC',
    strictVariables: false,
    translations: {},
    unsubscribeList: null,
    tracking: null,
    createdAt: T0,
    updatedAt: T0,
    updatedBy: null,
    revision: 1,
    variables: draft.variables,
    schema: draft.schema,
  });
  const live = given()
    .when(create(true))
    .then(created, saved(1, draft), { type: 'TemplatePublished', data: { at: T0, version: 1, revision: 1 } });
  t.match(templateRecord(templateRules, { id, template: live.template!, revision: 1 }), {
    status: 'published',
    version: 1,
    publishedVersion: 1,
  });
  given(created, saved(1, draft)).when(create(true)).nothing();
});

void t.test('a draft is saved under the next revision; the same content changes nothing', async (t) => {
  const { given } = template(t);
  const state = given(created, saved(1, draft))
    .when({ type: 'SaveDraft', at: at(1), draft: second })
    .then({ type: 'TemplateDraftSaved', data: { at: at(1), revision: 2, draft: second } });
  t.equal(state.template!.updatedAt, at(1));
  given(created, saved(1, draft))
    .when({ type: 'SaveDraft', at: at(1), draft: { ...draft } })
    .nothing();
});

void t.test('publish makes the draft the next version, once for each revision', async (t) => {
  const { given } = template(t);
  given(created, saved(1, draft))
    .when({ type: 'PublishTemplate', at: at(1) })
    .then({ type: 'TemplatePublished', data: { at: at(1), version: 1, revision: 1 } });
  given(created, saved(1, draft), published(1, 1, at(1)))
    .when({ type: 'PublishTemplate', at: at(2) })
    .nothing();
  const ahead = given(
    created,
    saved(1, draft),
    published(1, 1, at(1)),
    saved(2, second, at(2)),
    saved(3, draft, at(3)),
  );
  t.match(templateRecord(templateRules, { id, template: ahead.state.template!, revision: 1 }), {
    status: 'draft',
    version: 2,
    publishedVersion: 1,
  });
  const state = ahead
    .when({ type: 'PublishTemplate', at: at(4) })
    .then({ type: 'TemplatePublished', data: { at: at(4), version: 2, revision: 3 } });
  t.match(templateRecord(templateRules, { id, template: state.template!, revision: 1 }), {
    status: 'published',
    version: 2,
    publishedVersion: 2,
  });
});

void t.test('versions: newest first, and each keeps its own name, subject and sender', async (t) => {
  const { given } = template(t);
  const { state } = given(
    created,
    saved(1, draft),
    published(1, 1, at(1)),
    saved(2, second, at(2)),
    published(2, 2, at(3)),
    saved(3, { ...draft, name: 'Third' }, at(4)),
  );
  t.strictSame(templateVersions(templateRules, state.template!), [
    { version: 2, name: 'Welcome back', subject: 'Again {{name}}', publishedAt: at(3), current: true },
    { version: 1, name: 'Welcome', subject: 'Hello {{name}}', publishedAt: at(1), current: false },
  ]);
  const found = (version: string | number) => {
    const { shown, ...rest } = findVersion(templateRules, state.template!, version);
    return { ...rest, name: shown.name, from: shown.from };
  };
  const from = { email: 'hi@example.com', name: 'Hi' };
  t.strictSame(found('published'), { revision: 2, version: 2, name: 'Welcome back', from: null });
  t.strictSame(found(1), { revision: 1, version: 1, name: 'Welcome', from });
  t.strictSame(found('2'), found('published'));
  t.strictSame(found('draft'), { revision: 3, version: null, name: 'Third', from });
});

const refusal = (act: () => unknown): ErrorCode | undefined => {
  try {
    act();
    return undefined;
  } catch (fault) {
    return fault instanceof DomainError ? fault.code : undefined;
  }
};

void t.test('a version that is not there is refused', async (t) => {
  const { given } = template(t);
  const unpublished = given(created, saved(1, draft)).state.template!;
  t.equal(
    refusal(() => findVersion(templateRules, unpublished, 'published')),
    'TEMPLATE_NOT_PUBLISHED',
  );
  const live = given(created, saved(1, draft), published(1, 1, T0)).state.template!;
  for (const version of [0, 2, '2', '01', 'latest', '', '__proto__', 1.5])
    t.equal(
      refusal(() => findVersion(templateRules, live, version)),
      'TEMPLATE_VERSION_NOT_FOUND',
      String(version),
    );
});

void t.test('the slug changes; the same slug changes nothing', async (t) => {
  const { given } = template(t);
  const state = given(created, saved(1, draft))
    .when({ type: 'ChangeSlug', at: at(1), slug: 'hello' })
    .then({ type: 'TemplateSlugChanged', data: { at: at(1), slug: 'hello' } });
  t.equal(state.template!.slug, 'hello');
  given(created, saved(1, draft))
    .when({ type: 'ChangeSlug', at: at(1), slug: 'welcome' })
    .nothing();
});

void t.test('a deleted template, and one that never was, are not found', async (t) => {
  const { given } = template(t);
  const deleted: TemplateEvent = { type: 'TemplateDeleted', data: { at: at(1) } };
  given(created, saved(1, draft))
    .when({ type: 'DeleteTemplate', at: at(1) })
    .then(deleted);
  const commands: TemplateCommandOf<'email'>[] = [
    { type: 'SaveDraft', at: T0, draft: second },
    { type: 'ChangeSlug', at: T0, slug: 'x' },
    { type: 'PublishTemplate', at: T0 },
    { type: 'DeleteTemplate', at: T0 },
    { type: 'RestoreTemplate', at: T0, slug: 'welcome', deletedSince: at(2) },
  ];
  for (const command of commands) {
    given(created, saved(1, draft), deleted).when(command).refused('TEMPLATE_NOT_FOUND');
    given().when(command).refused('TEMPLATE_NOT_FOUND');
  }
  given(created, saved(1, draft), deleted)
    .when({ type: 'CreateTemplate', at: T0, slug: 'welcome', draft, publish: true })
    .nothing();
});

void t.test('a fold is total: events without their first one change nothing', async (t) => {
  const nothing: TemplateStateOf<'email'> = { created: undefined, template: undefined };
  const later: TemplateEvent[] = [
    published(1, 1, T0),
    { type: 'TemplateSlugChanged', data: { at: T0, slug: 'x' } },
    { type: 'TemplateDeleted', data: { at: T0 } },
    { type: 'TemplateRestored', data: { at: T0 } },
    { type: 'TemplateRemoved', data: { at: T0 } },
  ];
  for (const event of later) t.strictSame(templateDecider.evolve(nothing, event), nothing);
});

void t.test(
  'a deleted template is restored as it was, under its slug or another; a living one is left alone',
  async (t) => {
    const { given } = template(t);
    const deleted: TemplateEvent = { type: 'TemplateDeleted', data: { at: at(1) } };
    const restore = (slug: string): TemplateCommandOf<'email'> => ({
      type: 'RestoreTemplate',
      at: at(2),
      slug,
      deletedSince: at(1),
    });
    const restored: TemplateEvent = { type: 'TemplateRestored', data: { at: at(2) } };
    const before = given(created, saved(1, draft), published(1, 1, T0)).state.template!;
    const state = given(created, saved(1, draft), published(1, 1, T0), deleted)
      .when(restore('welcome'))
      .then(restored);
    t.strictSame(state.template, { ...before, updatedAt: at(2) });
    given(created, saved(1, draft), deleted)
      .when(restore('hello'))
      .then(restored, { type: 'TemplateSlugChanged', data: { at: at(2), slug: 'hello' } });
    given(created, saved(1, draft)).when(restore('hello')).nothing();
    given().when(restore('hello')).refused('TEMPLATE_NOT_FOUND');
  },
);

void t.test(
  'a template that was deleted long enough ago is removed, once, and nothing is done to it any more',
  async (t) => {
    const { given } = template(t);
    const deleted: TemplateEvent = { type: 'TemplateDeleted', data: { at: at(1) } };
    const removed: TemplateEvent = { type: 'TemplateRemoved', data: { at: at(9) } };
    const remove = (deletedSince: string): TemplateCommandOf<'email'> => ({
      type: 'RemoveTemplate',
      at: at(9),
      deletedSince,
    });
    const state = given(created, saved(1, draft), published(1, 1, T0), deleted)
      .when(remove(at(2)))
      .then(removed);
    t.strictSame(state, { created: { slug: 'welcome', at: T0 }, template: undefined }, 'no content is kept in memory');
    given(created, saved(1, draft), deleted)
      .when(remove(at(1)))
      .nothing();
    given(created, saved(1, draft))
      .when(remove(at(2)))
      .nothing();
    given(created, saved(1, draft), deleted, { type: 'TemplateRestored', data: { at: at(1) } })
      .when(remove(at(2)))
      .nothing();
    given(created, saved(1, draft), deleted, removed)
      .when(remove(at(2)))
      .nothing();
    given()
      .when(remove(at(2)))
      .nothing();
    const commands: TemplateCommandOf<'email'>[] = [
      { type: 'CreateTemplate', at: T0, slug: 'welcome', draft, publish: true },
      { type: 'SaveDraft', at: T0, draft: second },
      { type: 'PublishTemplate', at: T0 },
      { type: 'DeleteTemplate', at: T0 },
      { type: 'RestoreTemplate', at: T0, slug: 'welcome', deletedSince: at(0) },
    ];
    for (const command of commands)
      given(created, saved(1, draft), deleted, removed).when(command).refused('TEMPLATE_NOT_FOUND');
  },
);

void t.test('a slug is owned by who claimed it last; only the owner releases it', async (t) => {
  const claim = (templateId: string) => ({ type: 'TemplateSlugClaimed' as const, data: { at: T0, templateId } });
  const release = (templateId: string) => ({ type: 'TemplateSlugReleased' as const, data: { at: T0, templateId } });
  t.equal([claim('a')].reduce(evolveSlug, undefined as string | undefined), 'a');
  t.equal([claim('a'), claim('b'), release('a')].reduce(evolveSlug, undefined as string | undefined), 'b');
  t.equal([claim('a'), claim('b'), release('b')].reduce(evolveSlug, undefined as string | undefined), undefined);
});

void t.test(
  'whatever is done to a template, versions count from 1 and each names a revision that was saved',
  async () => {
    const command = fc.oneof(
      fc.record({
        type: fc.constant('SaveDraft' as const),
        at: fc.constant(T0),
        draft: fc.constantFrom(draft, second, { ...draft, subject: 'Third' }),
      }),
      fc.record({ type: fc.constant('PublishTemplate' as const), at: fc.constant(T0) }),
      fc.record({ type: fc.constant('ChangeSlug' as const), at: fc.constant(T0), slug: fc.constantFrom('a', 'b') }),
      fc.record({ type: fc.constant('DeleteTemplate' as const), at: fc.constant(T0) }),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 30 }), (commands) => {
        const events: TemplateEvent[] = [created, saved(1, draft)];
        let state = events.reduce(templateDecider.evolve, templateDecider.initialState);
        for (const next of commands) {
          try {
            const made = templateDecider.decide(next, state);
            events.push(...made);
            state = made.reduce(templateDecider.evolve, state);
          } catch (fault) {
            if (!(fault instanceof DomainError) || state.template?.deletedAt === null) throw fault;
          }
        }
        const drafts = events.flatMap(({ type, data }) =>
          type === 'TemplateDraftSaved' && templateRules.isDraft(data.draft) ? [{ ...data, draft: data.draft }] : [],
        );
        const { template: known } = state;
        if (!drafts.every(({ revision }, index) => revision === index + 1)) throw new Error('revisions count from 1');
        known!.published.forEach(({ version, revision, name, subject, from }, index) => {
          const of = drafts[revision - 1]!.draft;
          if (version !== index + 1 || of.name !== name || of.subject !== subject || of.from !== from)
            throw new Error('a version is not its revision');
        });
        if (known!.revision !== drafts.length) throw new Error('the newest draft is the last that was saved');
      }),
      { numRuns: 300 },
    );
  },
);

// Attachment templates: what their events add up to, their short ids, and where in them a picture stands.

const attachmentTemplate = specs(attachmentTemplateDecider);
const attachmentTemplateId = assertDefined(parseAttachmentTemplateId('66666666-6666-5666-8666-666666666666'), 'id');
const SHORT_ID = 'atpl_7k3m9q2xw4';
const attachmentDraft: AttachmentDraft = {
  name: 'Invoice',
  description: 'Of an order',
  variables: [{ name: 'number', type: 'string' }],
  schema: { outputFormats: ['pdf', 'excel'], pages: [{ pageId: 'p' }] },
  locale: 'de-CH',
  timeZone: 'Europe/Zurich',
};
const attachmentCreated: TemplateEvent = {
  type: 'TemplateCreated',
  data: { at: T0, slug: 'invoice', kind: 'attachment', shortId: SHORT_ID },
};
const attachmentSaved = (
  revision: number,
  which: AttachmentDraft | EmailDraft = attachmentDraft,
  when = T0,
): TemplateEvent => ({
  type: 'TemplateDraftSaved',
  data: { at: when, revision, draft: which },
});

void t.test(
  'created with its short id; changed, published and resolved as every template is, without subject and sender',
  async (t) => {
    const { given } = attachmentTemplate(t);
    const create: TemplateCommandOf<'attachment'> = {
      type: 'CreateTemplate',
      at: T0,
      slug: 'invoice',
      shortId: SHORT_ID,
      draft: attachmentDraft,
      publish: false,
    };
    const state = given().when(create).then(attachmentCreated, attachmentSaved(1));
    t.strictSame(
      templateRecord(attachmentTemplateRules, { id: attachmentTemplateId, template: state.template!, revision: 1 }),
      {
        id: attachmentTemplateId,
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
        updatedBy: null,
        revision: 1,
        variables: attachmentDraft.variables,
        schema: attachmentDraft.schema,
      },
    );
    const second = { ...attachmentDraft, name: 'Bill' };
    const live = given(
      attachmentCreated,
      attachmentSaved(1),
      published(1, 1, at(1)),
      attachmentSaved(2, second, at(2)),
      published(2, 2, at(3)),
      attachmentSaved(3, { ...attachmentDraft, name: 'Third' }, at(4)),
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
    given(attachmentCreated, attachmentSaved(1))
      .when({ type: 'SaveDraft', at: at(1), draft: { ...attachmentDraft } })
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
    () =>
      [attachmentCreated, attachmentSaved(1, email)].reduce(
        attachmentTemplateDecider.evolve,
        attachmentTemplateDecider.initialState,
      ),
    /another kind/,
  );
  t.throws(
    () => [attachmentCreated, attachmentSaved(1)].reduce(templateDecider.evolve, templateDecider.initialState),
    /another kind/,
  );
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
