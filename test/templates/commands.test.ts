/**
 * Template commands: what is saved, who owns a slug, and what happens when two are at it at once or the program dies in
 * between.
 */
import t from 'tap';
import { makeCommands, type Commands } from '../../src/commands/index.js';
import { assertDefined, parseTemplateId, templateSlugStream, templateStream } from '../../src/domain/core/ids.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import {
  caller,
  openWorld,
  schemaSaying,
  simple,
  stranger,
  TEAM,
  welcome,
  withTemplate,
} from '../support/command-world.js';

const never = new AbortController().signal;

const streamOf = (id: string) => templateStream(assertDefined(parseTemplateId(id), 'template id'));

void t.test('created with its defaults, read by id and by slug', async (t) => {
  const { commands, template } = await withTemplate();
  t.match(template, {
    slug: 'welcome',
    name: 'Welcome',
    description: '',
    from: null,
    status: 'published',
    version: 1,
    publishedVersion: 1,
    locale: 'en-US',
    timeZone: 'UTC',
    createdAt: T0,
    updatedAt: T0,
  });
  t.strictSame(await commands.getTemplate(caller, 'welcome'), template);
  t.strictSame(await commands.getTemplate(caller, template.id), template);
  t.strictSame(await commands.getTemplate(caller, template.id.toUpperCase()), template);
  const draft = await commands.createTemplate(caller, {
    name: 'Grüße & mehr!',
    subject: 'Hi',
    schema: schemaSaying('x'),
  });
  t.match(draft, { status: 'draft', version: 1, publishedVersion: null, variables: [] });
  t.match(draft.slug, /^gru-e-mehr-[0-9a-f]{8}$/);
  t.match(
    (await commands.createTemplate(caller, { name: '汉字', subject: 'Hi', schema: schemaSaying('x') })).slug,
    /^template-[0-9a-f]{8}$/,
  );
});

void t.test(
  'a template that is not valid is refused with the path of each fault, and nothing is written',
  async (t) => {
    const { commands, store } = await openWorld();
    const before = store.events.length;
    const { details } = await refusedWith(
      t,
      commands.createTemplate(caller, {
        name: 'Bad',
        subject: '{{',
        variables: [{ name: '1x', type: 'text' }],
        schema: {
          sections: [
            {
              id: 'main',
              type: 'main',
              components: [
                { id: 'a', type: 'blink' },
                { id: 'a', type: 'spacer' },
              ],
            },
          ],
        },
      }),
      'TEMPLATE_INVALID',
    );
    const fields = details.errors!.map(({ field }) => field);
    for (const field of ['subject', 'variables[0].type', 'schema.sections[0].components[0].type'])
      t.ok(fields.includes(field), `${field} is named in ${fields.join(', ')}`);
    await refusedWith(t, commands.createTemplate(caller, { ...welcome, from: { email: 'nobody' } }), 'ERR_EMAIL_001');
    t.equal(store.events.length, before);
  },
);

void t.test(
  'a change makes a new draft revision; the same again makes none; publish makes it the next version',
  async (t) => {
    const { commands, clock, events, template } = await withTemplate();
    await clock.advance(1_000);
    const changed = await commands.updateTemplate(caller, 'welcome', {
      subject: 'Second {{name}}',
      description: 'New',
    });
    t.match(changed, {
      subject: 'Second {{name}}',
      description: 'New',
      name: 'Welcome',
      status: 'draft',
      version: 2,
      publishedVersion: 1,
      updatedAt: '2030-01-01T12:00:01.000Z',
    });
    t.same(changed.schema, template.schema);
    await commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}' });
    await commands.updateTemplate(caller, 'welcome', { variables: changed.variables, schema: changed.schema });
    t.match(await commands.publishTemplate(caller, 'welcome'), {
      status: 'published',
      version: 2,
      publishedVersion: 2,
    });
    await commands.publishTemplate(caller, 'welcome');
    t.same(
      (await events(streamOf(template.id))).map(({ type }) => type),
      ['TemplateCreated', 'TemplateDraftSaved', 'TemplatePublished', 'TemplateDraftSaved', 'TemplatePublished'],
    );
    t.same(
      (await commands.templateVersions(caller, 'welcome')).map(({ version, subject, current }) => [
        version,
        subject,
        current,
      ]),
      [
        [2, 'Second {{name}}', true],
        [1, 'Hello {{name}}', false],
      ],
    );
    await refusedWith(t, commands.updateTemplate(caller, 'welcome', { subject: '{{#}}' }), 'TEMPLATE_INVALID');
  },
);

void t.test('two changes at once are both kept', async (t) => {
  const { commands } = await withTemplate();
  await Promise.all([
    commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}' }),
    commands.updateTemplate(caller, 'welcome', { description: 'New' }),
  ]);
  t.match(await commands.getTemplate(caller, 'welcome'), { subject: 'Second {{name}}', description: 'New' });
});

void t.test('a preview renders any version, and sends nothing', async (t) => {
  const { commands, store } = await withTemplate();
  await commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}' });
  const before = store.events.length;
  const draft = await commands.previewTemplate(caller, 'welcome', { variables: { name: 'Ann <b>' } }, never);
  t.equal(draft.subject, 'Second Ann <b>');
  t.match(draft.html, /Dear Ann &lt;b&gt;, from Example Ltd/);
  t.match(draft.text, /Dear Ann <b>, from Example Ltd/);
  t.equal(draft.sizeBytes, Buffer.byteLength(draft.html));
  t.equal(
    (await commands.previewTemplate(caller, 'welcome', { variables: { name: 'Ann' }, version: 'published' }, never))
      .subject,
    'Hello Ann',
  );
  const { details } = await refusedWith(t, commands.previewTemplate(caller, 'welcome', {}, never), 'VALIDATION_ERROR');
  t.same(
    details.errors?.map(({ field }) => field),
    ['variables.name'],
  );
  await refusedWith(
    t,
    commands.previewTemplate(caller, 'welcome', { variables: { name: 'Ann' }, version: 7 }, never),
    'TEMPLATE_VERSION_NOT_FOUND',
  );
  t.equal(store.events.length, before);
});

void t.test('deleted, a template is gone for good and its slug is free', async (t) => {
  const { commands, template } = await withTemplate();
  t.same(await commands.deleteTemplate(caller, 'welcome'), { id: template.id, deleted: true });
  for (const reference of ['welcome', template.id]) {
    await refusedWith(t, commands.getTemplate(caller, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(t, commands.deleteTemplate(caller, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(t, commands.sendEmail(caller, simple({ templateId: reference })), 'ERR_TMPL_002');
  }
  const again = await commands.createTemplate(caller, welcome);
  t.not(again.id, template.id);
  t.equal((await commands.getTemplate(caller, 'welcome')).id, again.id);
});

void t.test('a slug has one template in a team, and another in another team', async (t) => {
  const { commands, template } = await withTemplate();
  const { details } = await refusedWith(t, commands.createTemplate(caller, welcome), 'TEMPLATE_SLUG_TAKEN');
  t.same(
    details.errors?.map(({ field }) => field),
    ['slug'],
  );
  const second = await commands.createTemplate(caller, { ...welcome, slug: 'second' });
  await refusedWith(
    t,
    commands.updateTemplate(caller, 'second', { slug: 'welcome', subject: 'Lost {{name}}' }),
    'TEMPLATE_SLUG_TAKEN',
  );
  t.equal((await commands.getTemplate(caller, 'second')).subject, 'Hello {{name}}', 'what was refused changed nothing');
  const theirs = await commands.createTemplate(stranger, welcome);
  t.equal((await commands.getTemplate(stranger, 'welcome')).id, theirs.id);
  t.equal((await commands.getTemplate(caller, 'welcome')).id, template.id);
  t.equal(
    (await commands.updateTemplate(caller, 'second', { slug: 'second' })).id,
    second.id,
    'its own slug is free to a template',
  );
});

void t.test('a slug that changes is free for another at once', async (t) => {
  const { commands, template } = await withTemplate();
  t.equal((await commands.updateTemplate(caller, 'welcome', { slug: 'hello' })).slug, 'hello');
  await refusedWith(t, commands.getTemplate(caller, 'welcome'), 'TEMPLATE_NOT_FOUND');
  t.equal((await commands.getTemplate(caller, 'hello')).id, template.id);
  t.not((await commands.createTemplate(caller, welcome)).id, template.id);
});

void t.test(
  'the same change of a slug by two calls at once is made once, and the slug stays the template’s',
  async (t) => {
    for (const pause of [1, 2, 3, 4, 5, 6]) {
      const { commands, deps, store, template } = await withTemplate();
      const rename = () => commands.updateTemplate(caller, template.id, { slug: 'hello' });
      const calls = [rename()];
      let count = 0;
      store.beforeAppend(async () => {
        if ((count += 1) !== pause) return;
        calls.push(rename());
        await Promise.allSettled(calls.slice(1));
      });
      for (const { slug } of await Promise.all(calls)) t.equal(slug, 'hello', `pause ${pause}`);
      await Promise.all(calls);
      t.equal((await deps.slug(templateSlugStream(TEAM, 'hello'))).state, template.id);
      t.equal((await deps.slug(templateSlugStream(TEAM, 'welcome'))).state, undefined);
    }
  },
);

const dieAfter = (store: Awaited<ReturnType<typeof openWorld>>['store'], appends: number): void => {
  let count = 0;
  store.beforeAppend(() => ((count += 1) > appends ? Promise.reject(new Error('died')) : undefined));
};

const ofKinds = {
  emails: { make: (commands: Commands) => commands.createTemplate(caller, welcome), get: 'getTemplate' },
  attachments: {
    make: (commands: Commands) =>
      commands.createAttachmentTemplate(caller, {
        name: 'Welcome',
        slug: 'welcome',
        schema: {
          outputFormats: ['pdf'],
          pages: [
            {
              pageId: 'p',
              pageName: 'P',
              sections: [{ id: 's', type: 'main', components: [{ id: 'a', type: 'spacer' }] }],
            },
          ],
        },
      }),
    get: 'getAttachmentTemplate',
  },
} as const;

for (const [kind, { make, get }] of Object.entries(ofKinds)) {
  void t.test(
    `where the program dies in a creation of ${kind}, the slug names a whole template or can be taken`,
    async (t) => {
      for (let appends = 0; appends <= 3; appends += 1) {
        const { commands, store, elsewhere } = await openWorld();
        dieAfter(store, appends);
        const outcome = await make(commands).then(
          () => 'made',
          () => 'died',
        );
        store.beforeAppend(undefined);
        t.equal(outcome, appends < 3 ? 'died' : 'made', 'a creation is three appends');
        if (outcome === 'made') break;
        const after = makeCommands(elsewhere());
        const found = await after[get](caller, 'welcome').catch(() => undefined);
        if (found === undefined) t.equal((await make(after)).slug, 'welcome', `taken over after ${appends} appends`);
        else await refusedWith(t, make(after), 'TEMPLATE_SLUG_TAKEN');
      }
    },
  );
}

void t.test(
  'where the program dies in a change of slug, at whichever step, a slug names the template that has it, and no other',
  async (t) => {
    for (let appends = 0; appends < 6; appends += 1) {
      const { commands, store, elsewhere, template } = await withTemplate();
      dieAfter(store, appends);
      const outcome = await commands.updateTemplate(caller, 'welcome', { slug: 'hello' }).then(
        () => 'made',
        () => 'died',
      );
      store.beforeAppend(undefined);
      const after = makeCommands(elsewhere());
      const { slug } = await after.getTemplate(caller, template.id);
      const other = slug === 'hello' ? 'welcome' : 'hello';
      t.equal((await after.getTemplate(caller, slug)).id, template.id, `after ${appends} appends it is ${slug}`);
      await refusedWith(t, after.getTemplate(caller, other), 'TEMPLATE_NOT_FOUND');
      t.equal((await after.createTemplate(caller, { ...welcome, slug: other })).slug, other, 'the other can be taken');
      t.equal((await after.getTemplate(caller, slug)).id, template.id);
      if (outcome === 'made') return t.equal(appends, 4, 'a change of slug is four appends');
    }
    return t.fail('the change of slug never came to an end');
  },
);

void t.test('of many creations at once with one slug, one has it', async (t) => {
  const { commands, store } = await openWorld();
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => commands.createTemplate(caller, welcome)));
  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  t.ok(made.length <= 1, `${made.length} were made`);
  for (const result of results)
    if (result.status === 'rejected') t.match(result.reason, { code: 'TEMPLATE_SLUG_TAKEN' });
  if (made[0] !== undefined) t.equal((await commands.getTemplate(caller, 'welcome')).id, made[0].id);
  t.ok(store.events.length > 0);
});

void t.test(
  'a claim that is taken over while its template is being made loses: never do two templates have a slug',
  async (t) => {
    // The second creation runs whole in each pause of the first.
    for (const pause of [1, 2, 3]) {
      const { commands, store, deps } = await openWorld();
      let count = 0;
      let second: Promise<unknown> | undefined;
      store.beforeAppend(async () => {
        if ((count += 1) !== pause || second !== undefined) return;
        second = commands.createTemplate(caller, { ...welcome, name: 'Second' });
        await Promise.allSettled([second]);
      });
      const [first] = await Promise.allSettled([commands.createTemplate(caller, welcome)]);
      const [other] = await Promise.allSettled([second]);
      t.same([first.status, other.status].sort(), ['fulfilled', 'rejected'], `one of two, in pause ${pause}`);
      const living = await Promise.all(
        [
          ...new Set(store.events.filter(({ stream }) => stream.startsWith('template-')).map(({ stream }) => stream)),
        ].map((stream) => deps.template(stream as Parameters<typeof deps.template>[0])),
      );
      t.equal(
        living.filter(({ state }) => state.template?.deletedAt === null && state.template.slug === 'welcome').length,
        1,
      );
      const { id } = await commands.getTemplate(caller, 'welcome');
      t.equal((await deps.slug(templateSlugStream(TEAM, 'welcome'))).state, id);
    }
  },
);

void t.test('another team neither sees nor touches a template', async (t) => {
  const { commands, template, store } = await withTemplate();
  const before = store.events.length;
  for (const reference of ['welcome', template.id]) {
    await refusedWith(t, commands.getTemplate(stranger, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(t, commands.updateTemplate(stranger, reference, { name: 'Mine' }), 'TEMPLATE_NOT_FOUND');
    await refusedWith(t, commands.publishTemplate(stranger, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(t, commands.templateVersions(stranger, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(
      t,
      commands.previewTemplate(stranger, reference, { variables: { name: 'x' } }, never),
      'TEMPLATE_NOT_FOUND',
    );
    await refusedWith(t, commands.deleteTemplate(stranger, reference), 'TEMPLATE_NOT_FOUND');
  }
  t.equal(store.events.length, before);
});
