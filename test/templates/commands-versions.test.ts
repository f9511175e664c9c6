/** Versions of templates: their languages, and going back to an earlier one. */
import t from 'tap';
import type { CreateTemplateRequest, CreateAttachmentTemplateRequest } from '../../src/api/templates/templates.js';
import { fanOut } from '../../src/commands/bulk/batches.js';
import { makeCommands } from '../../src/commands/index.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  parseEmailId,
  type EmailId,
  parseTemplateId,
  templateSlugStream,
  templateStream,
} from '../../src/domain/core/ids.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { EmailAccepted } from '../../src/domain/email/events.js';
import { prepareMessage, type MessageDeps } from '../../src/processors/email/message.js';
import {
  caller,
  commandsOfTest,
  openWorld,
  TEAM,
  type World,
  schemaSaying,
  simple,
  stranger,
  welcome,
  withTemplate,
} from '../support/command-world.js';
import { at } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator, type RecordingGenerator } from '../support/recording-generator.js';

// The language of a call: what is sent, previewed and tried in it says so in every output, and is the same whenever it
// is made.

const never = new AbortController().signal;

const mail: CreateTemplateRequest = {
  slug: 'order',
  name: 'Order',
  subject: 'Order of {{when}}',
  variables: [
    { name: 'when', type: 'date', format: { style: 'datetime', dateStyle: 'short', timeStyle: 'short' } },
    { name: 'total', type: 'number', format: { style: 'number', minimumFractionDigits: 2 } },
    { name: 'note', type: 'string', fallback: 'nothing' },
  ],
  schema: {
    sections: [
      {
        id: 's',
        type: 'main',
        components: [{ id: 'a', type: 'rich-text', content: '<p>Total: {{total}}, {{note}}</p>' }],
      },
    ],
  },
  translations: {
    de: {
      'Order of {{when}}': 'Bestellung vom {{when}}',
      '<p>Total: {{total}}, {{note}}</p>': '<p>Summe: {{total}}, {{note}}</p>',
      nothing: 'nichts',
    },
    'de-AT': { 'Order of {{when}}': 'Auftrag vom {{when}}' },
  },
  publish: true,
};

const document: CreateAttachmentTemplateRequest = {
  slug: 'invoice',
  name: 'Invoice {{total}}',
  variables: [{ name: 'total', type: 'number', format: { style: 'number', minimumFractionDigits: 2 } }],
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'p',
        pageName: 'Page',
        sections: [{ id: 's', type: 'main', components: [{ id: 'a', type: 'rich-text', content: 'Total {{total}}' }] }],
      },
    ],
    missingCharacters: 'replace',
  },
  translations: {
    de: { 'Invoice {{total}}': 'Rechnung {{total}}', 'Total {{total}}': 'Summe {{total}}', Page: 'Seite' },
  },
  publish: true,
};

const variables = { when: '2026-11-23T23:30:00Z', total: 1234.5 };
const order = { templateId: 'order', to: [{ email: 'ann@example.org' }], variables };

type Opened = World & Readonly<{ generator: RecordingGenerator }>;

const open = async (more: Partial<CommandNeeds> = {}): Promise<Opened> => {
  const world = await openWorld();
  await world.deps.generator.close();
  const generator = recordingGenerator();
  const deps = { ...world.deps, generator, ...more };
  return { ...world, deps, commands: commandsOfTest(deps), generator };
};

const withTemplates = async (): Promise<Opened> => {
  const world = await open();
  t.same((await world.commands.createTemplate(caller, mail)).warnings, []);
  t.same((await world.commands.createAttachmentTemplate(caller, document)).warnings, []);
  return world;
};

/** The mail as it leaves, made from its events alone. */
const sentMail = async ({ deps }: Opened, id: EmailId): Promise<string> => {
  const stream = emailStream(id);
  const events = (await deps.eventLog.load(stream)).map(({ event }) => event);
  let state = emailDecider.initialState;
  for (const event of events) state = emailDecider.evolve(state, event as EmailAccepted);
  const prepared = await prepareMessage(
    { ...deps, domainKeys: async () => undefined } as unknown as MessageDeps,
    { stream, teamId: TEAM },
    assertDefined(state, 'email'),
  );
  if (!('message' in prepared)) throw new Error('not prepared');
  const message = prepared.message(undefined);
  if (!('raw' in message)) throw new Error('not rendered');
  return message.raw.toString('utf8');
};

const idOf = (text: string): EmailId => assertDefined(parseEmailId(text), 'email id');

void t.test('a send call: subject, body, numbers, dates and documents, at once and when it leaves', async (t) => {
  const world = await withTemplates();
  const send = async (more: object) => {
    const { body } = await world.commands.sendEmail(caller, { ...order, ...more });
    const [event] = await world.events(emailStream(idOf(body.id)));
    const record = await world.commands.getEmail(caller, idOf(body.id));
    return { event: event as EmailAccepted, raw: await sentMail(world, idOf(body.id)), record };
  };
  const own = await send({});
  t.equal(own.event.sealed?.subject, 'Order of 11/23/26, 11:30 PM');
  t.match(own.raw, /Total: 1,234.50, nothing/);
  t.notOk('locale' in (own.event.sealed ?? {}), 'nothing is written where nothing is said');
  t.match(own.record, { locale: null, timeZone: null });

  const german = await send({ locale: 'de-de', timeZone: 'europe/berlin' });
  t.match(german.event.sealed, {
    subject: 'Bestellung vom 24.11.26, 00:30',
    locale: 'de-DE',
    timeZone: 'Europe/Berlin',
  });
  t.match(german.record, { locale: 'de-DE', timeZone: 'Europe/Berlin' });
  t.match(german.raw, /Summe: 1.234,50, nichts/);
  t.match(german.raw, /lang=(?:3D)?"de-DE"/);

  const austrian = await send({ locale: 'de-AT' });
  t.equal(austrian.event.sealed?.subject, 'Auftrag vom 23.11.26, 23:30', 'its own text, the zone of the template');
  t.match(austrian.raw, /Summe: 1&#160;234,50, nichts/, 'else that of the shorter tag');
  const zoned = await send({ timeZone: 'Asia/Tokyo' });
  t.equal(zoned.event.sealed?.subject, 'Order of 11/24/26, 8:30 AM');
  const overridden = await send({ locale: 'de', subject: 'Neu: {{total}}' });
  t.equal(overridden.event.sealed?.subject, 'Neu: 1.234,50');

  const withDocument = await send({ locale: 'de', attachments: [{ attachmentTemplateId: 'invoice' }] });
  t.match(withDocument.event.sealed?.attachments, [{ filename: 'Rechnung 1.234,50.pdf' }]);
  t.match(world.generator.made.at(-1), {
    input: {
      content: {
        locale: 'de',
        schema: {
          missingCharacters: 'replace',
          pages: [{ sections: [{ components: [{ content: 'Summe {{total}}' }] }] }],
        },
      },
    },
  });
  const plain = await send({ attachments: [{ attachmentTemplateId: 'invoice' }] });
  t.match(plain.event.sealed?.attachments, [{ filename: 'Invoice 1,234.50.pdf' }]);
  const keys = world.generator.made.map(({ input }) => input.cacheKey);
  t.equal(new Set(keys).size, keys.length, 'what is kept of one language is not taken for another');
});

void t.test('a scheduled email has its language at its new time too', async (t) => {
  const world = await withTemplates();
  const later = (hour: number) => at(hour * 3_600);
  const { body } = await world.commands.sendEmail(caller, { ...order, locale: 'de', scheduledAt: later(10) });
  await world.commands.rescheduleEmail(caller, idOf(body.id), { scheduledAt: later(20) });
  const moved = (await world.events(emailStream(idOf(body.id)))).find(({ type }) => type === 'EmailRescheduled');
  t.match(moved, { sealed: { subject: /^Bestellung vom/ } });
});

void t.test('a bulk send: of all, and of each', async (t) => {
  const world = await withTemplates();
  const request = {
    templateId: 'order',
    baseVariables: variables,
    locale: 'de',
    recipients: [
      { email: 'a@example.org' },
      { email: 'b@example.org', locale: 'en-US' },
      { email: 'c@example.org', locale: 'de-AT', timeZone: 'Europe/Vienna' },
      { email: 'd@example.org', timeZone: 'Asia/Tokyo' },
    ],
    attachments: [{ attachmentTemplateId: 'invoice' }],
  };
  const { body } = await world.commands.sendBulk(caller, request);
  const id = assertDefined(parseBatchId(body.batchId), 'batch id');
  t.match((await world.events(batchStream(id)))[0], {
    sealed: {
      locale: 'de',
      recipients: [{}, { locale: 'en-US' }, { locale: 'de-AT', timeZone: 'Europe/Vienna' }, { timeZone: 'Asia/Tokyo' }],
    },
  });
  const cause = { teamId: TEAM, actor: 'system', correlationId: 'c', causationId: 'c', at: at(0) };
  for (let part = 0; part < 5; part += 1) await fanOut(world.deps, { id, cause, signal: never });
  const made = await Promise.all(
    request.recipients.map(async (_, index) => {
      const [event] = await world.events(emailStream(emailIdInBatch(id, index)));
      const { subject, attachments } = assertDefined((event as EmailAccepted).sealed, 'content');
      return [subject, attachments[0]?.filename];
    }),
  );
  t.same(made, [
    ['Bestellung vom 23.11.26, 23:30', 'Rechnung 1.234,50.pdf'],
    ['Order of 11/23/26, 11:30 PM', 'Invoice 1,234.50.pdf'],
    ['Auftrag vom 24.11.26, 00:30', 'Rechnung 1\u00a0234,50.pdf'],
    ['Bestellung vom 24.11.26, 08:30', 'Rechnung 1.234,50.pdf'],
  ]);
  t.match(await sentMail(world, emailIdInBatch(id, 2)), /Summe: 1&#160;234,50, nichts/);

  const zones = Intl.supportedValuesOf('timeZone').slice(0, 101);
  const many = {
    ...request,
    recipients: zones.map((timeZone, index) => ({ email: `r${index}@example.org`, timeZone })),
  };
  const { details } = await refusedWith(t, world.commands.sendBulk(caller, many), 'VALIDATION_ERROR');
  t.match(details.errors, [{ field: 'recipients', message: /^name 101 pairs of locale and timeZone; at most 100/ }]);
  const wrong = { ...request, locale: 'x_y', recipients: [{ email: 'a@example.org', timeZone: 'Mars/Olympus' }] };
  t.match((await refusedWith(t, world.commands.sendBulk(caller, wrong), 'VALIDATION_ERROR')).details.errors, [
    { field: 'locale' },
  ]);
  t.match(
    (await refusedWith(t, world.commands.sendBulk(caller, { ...wrong, locale: 'de' }), 'VALIDATION_ERROR')).details
      .errors,
    [{ field: 'recipients[0].timeZone', message: /IANA/ }],
  );
});

void t.test('a dry run looks at each recipient in the own language', async (t) => {
  const world = await open();
  const translations = {
    de: {
      'Order of {{when}}': 'Bestellung {{note}}',
      '<p>Total: {{total}}, {{note}}</p>': '<p>Summe</p>',
      nothing: 'nichts',
    },
  };
  await world.commands.createTemplate(caller, { ...mail, variables: [{ name: 'note', type: 'string' }], translations });
  const recipients = [{ email: 'a@example.org', locale: 'de' }];
  const { templateValidation } = await world.commands.dryRunBulk(caller, { templateId: 'order', recipients });
  t.same(templateValidation.emptyPaths, ['note']);
});

void t.test('previews of both kinds', async (t) => {
  const world = await withTemplates();
  const shown = await world.commands.previewTemplate(
    caller,
    'order',
    { variables, locale: 'de', timeZone: 'Asia/Tokyo' },
    never,
  );
  t.match(shown, { subject: 'Bestellung vom 24.11.26, 08:30', text: /Summe: 1\.234,50, nichts/ });
  t.match(await world.commands.previewTemplate(caller, 'order', { variables }, never), {
    subject: 'Order of 11/23/26, 11:30 PM',
  });
  t.match(await world.commands.previewAttachmentTemplate(caller, 'invoice', { variables, locale: 'de' }, never), {
    name: 'Rechnung 1.234,50',
  });
  t.match(world.generator.made.at(-1)?.input, {
    content: { locale: 'de', schema: { pages: [{ pageName: 'Seite' }] } },
  });
  await refusedWith(
    t,
    world.commands.previewTemplate(caller, 'order', { variables, locale: '!' + '!' }, never),
    'VALIDATION_ERROR',
  );
});

void t.test('translations are kept with each version, changed and taken away', async (t) => {
  const world = await withTemplates();
  const record = await world.commands.getTemplate(caller, 'order');
  t.same(record.translations, mail.translations);
  t.same((await world.commands.templateVersion(caller, 'order', '1')).translations, mail.translations);
  t.same((await world.commands.getAttachmentTemplate(caller, 'invoice')).translations, document.translations);
  t.match((await world.commands.getAttachmentTemplate(caller, 'invoice')).schema, { missingCharacters: 'replace' });
  const changed = await world.commands.updateTemplate(caller, 'order', { translations: { fr: {} } });
  t.same(changed.translations, { fr: {} });
  t.match(changed.warnings, [{ field: 'translations.fr', message: /has no text for "Order of/ }, {}, {}]);
  t.same((await world.commands.updateTemplate(caller, 'order', { translations: {} })).translations, {});
  t.same(
    (await world.commands.templateVersion(caller, 'order', '1')).translations,
    mail.translations,
    'what was published stays',
  );
  await refusedWith(
    t,
    world.commands.updateTemplate(caller, 'order', { translations: { de: [] } }),
    'TEMPLATE_INVALID',
  );
  const { body } = await world.commands.sendEmail(caller, { ...order, locale: 'de' });
  t.match(await sentMail(world, idOf(body.id)), /Bestellung vom/);
});

// Earlier versions of a template are read and restored, deleted templates are restored, and changes apply to the
// revision that they name.

const DAY_MS = 86_400_000;

const text = { id: 'text', type: 'rich-text', content: '<p>Invoice</p>' };
const invoice = {
  slug: 'invoice',
  name: 'Invoice',
  schema: {
    outputFormats: ['pdf'],
    pages: [{ pageId: 'p', pageName: 'Page', sections: [{ id: 's', type: 'main', components: [text] }] }],
  },
};

void t.test('a version is read with its content, and becomes the draft again', async (t) => {
  const { commands, template } = await withTemplate();
  await commands.updateTemplate(caller, 'welcome', {
    subject: 'Second {{name}}',
    schema: schemaSaying('second'),
    description: 'New',
  });
  const second = await commands.publishTemplate(caller, 'welcome');
  const { subject, schema, variables, description } = template;
  t.match(await commands.templateVersion(caller, 'welcome', '1'), {
    version: 1,
    current: false,
    subject,
    schema,
    variables,
    description,
  });
  t.match(await commands.templateVersion(caller, 'welcome', '2'), {
    version: 2,
    current: true,
    subject: 'Second {{name}}',
  });
  for (const version of ['0', '3', '01', 'draft', 'published', ''])
    await refusedWith(t, commands.templateVersion(caller, 'welcome', version), 'TEMPLATE_VERSION_NOT_FOUND');
  const restored = await commands.restoreTemplateVersion(caller, 'welcome', '1');
  t.match(restored, {
    subject,
    schema,
    variables,
    description,
    status: 'draft',
    version: 3,
    publishedVersion: 2,
    slug: 'welcome',
  });
  t.ok(restored.revision > second.revision);
  t.equal(
    (await commands.templateVersion(caller, 'welcome', '2')).subject,
    'Second {{name}}',
    'what is published stays',
  );
  t.match(await commands.publishTemplate(caller, 'welcome'), { publishedVersion: 3, subject });
  t.equal(
    (await commands.restoreTemplateVersion(caller, 'welcome', '1')).status,
    'published',
    'the same content changes nothing',
  );
  await refusedWith(t, commands.templateVersion(stranger, template.id, '1'), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.restoreTemplateVersion(stranger, template.id, '1'), 'TEMPLATE_NOT_FOUND');
});

void t.test('a deleted template is taken back within its days, as it was', async (t) => {
  const { commands, clock, template } = await withTemplate();
  await commands.deleteTemplate(caller, 'welcome');
  await refusedWith(t, commands.restoreTemplate(stranger, template.id, {}), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.restoreTemplate(caller, 'welcome', {}), 'TEMPLATE_NOT_FOUND');
  await clock.advance(30 * DAY_MS);
  const restored = await commands.restoreTemplate(caller, template.id, {});
  t.match(restored, { ...template, updatedAt: String, revision: Number });
  t.strictSame(await commands.getTemplate(caller, 'welcome'), restored);
  t.equal((await commands.sendEmail(caller, simple())).body.status, 'queued');
  t.strictSame(await commands.restoreTemplate(caller, template.id, {}), restored, 'nothing is changed of a living one');
  await refusedWith(t, commands.restoreTemplate(caller, template.id, { slug: 'other' }), 'VALIDATION_ERROR');
  await commands.deleteTemplate(caller, template.id);
  await clock.advance(30 * DAY_MS + 1);
  await refusedWith(t, commands.restoreTemplate(caller, template.id, {}), 'TEMPLATE_NOT_FOUND');
});

void t.test('its slug may be taken by now: then another is asked for', async (t) => {
  const { commands, template } = await withTemplate();
  await commands.deleteTemplate(caller, 'welcome');
  const other = await commands.createTemplate(caller, welcome);
  await refusedWith(t, commands.restoreTemplate(caller, template.id, {}), 'TEMPLATE_SLUG_TAKEN');
  await refusedWith(t, commands.getTemplate(caller, template.id), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.restoreTemplate(caller, template.id, { slug: 'attachment' }), 'VALIDATION_ERROR');
  t.equal((await commands.restoreTemplate(caller, template.id, { slug: 'welcome-2' })).slug, 'welcome-2');
  t.equal((await commands.getTemplate(caller, 'welcome-2')).id, template.id);
  t.equal((await commands.getTemplate(caller, 'welcome')).id, other.id);
});

void t.test('where the program dies while a template is taken back, the slug names it or can be taken', async (t) => {
  for (let appends = 0; appends < 4; appends += 1) {
    const { commands, store, elsewhere, template } = await withTemplate();
    await commands.deleteTemplate(caller, 'welcome');
    let count = 0;
    store.beforeAppend(() => ((count += 1) > appends ? Promise.reject(new Error('died')) : undefined));
    const outcome = await commands.restoreTemplate(caller, template.id, {}).then(
      () => 'restored',
      () => 'died',
    );
    store.beforeAppend(undefined);
    const after = makeCommands(elsewhere());
    const found = await after.getTemplate(caller, 'welcome').catch(() => undefined);
    if (outcome === 'restored') {
      t.equal(appends, 3, 'it is three appends');
      return;
    }
    if (found === undefined)
      t.equal((await after.restoreTemplate(caller, template.id, {})).slug, 'welcome', `again after ${appends} appends`);
    else t.equal(found.id, template.id);
  }
  t.fail('it never came to an end');
});

void t.test('two calls at once take a template back once, and each answers what then is so', async (t) => {
  // The second call runs whole in each pause of the first.
  for (const slug of ['welcome', 'welcome-2']) {
    for (const pause of [1, 2, 3, 4, 5, 6]) {
      const { commands, deps, store, template } = await withTemplate();
      await commands.deleteTemplate(caller, 'welcome');
      const calls = [commands.restoreTemplate(caller, template.id, {})];
      let count = 0;
      store.beforeAppend(async () => {
        if ((count += 1) !== pause) return;
        calls.push(commands.restoreTemplate(caller, template.id, { slug }));
        await Promise.allSettled(calls.slice(1));
      });
      await Promise.allSettled(calls);
      store.beforeAppend(undefined);
      const found = await commands.getTemplate(caller, template.id);
      t.equal((await commands.getTemplate(caller, found.slug)).id, template.id);
      t.equal((await deps.slug(templateSlugStream(TEAM, found.slug))).state, template.id);
      const outcomes = await Promise.allSettled(calls);
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') t.strictSame(outcome.value.slug, found.slug, `${slug}, pause ${pause}`);
        else t.match(outcome.reason, { code: 'VALIDATION_ERROR' });
      }
      if (slug === 'welcome') t.ok(outcomes.every(({ status }) => status === 'fulfilled'));
    }
  }
});

void t.test('an attachment template is taken back, and its versions are read, as of an email', async (t) => {
  const { commands } = await openWorld();
  const made = await commands.createAttachmentTemplate(caller, { ...invoice, publish: true });
  await commands.updateAttachmentTemplate(caller, made.id, { name: 'Bill' });
  await commands.publishAttachmentTemplate(caller, made.id);
  t.match(await commands.attachmentTemplateVersion(caller, made.slug, '1'), {
    version: 1,
    name: made.name,
    current: false,
    schema: made.schema,
    outputFormats: made.outputFormats,
  });
  t.match(await commands.restoreAttachmentTemplateVersion(caller, made.shortId, '1'), {
    name: made.name,
    status: 'draft',
    version: 3,
  });
  await commands.deleteAttachmentTemplate(caller, made.id);
  t.match(await commands.restoreAttachmentTemplate(caller, made.shortId, {}), {
    id: made.id,
    slug: made.slug,
    publishedVersion: 2,
  });
});

void t.test('a change for another revision is refused, and nothing is written', async (t) => {
  const { commands, store, events, template } = await withTemplate();
  const { revision } = await commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}' });
  const before = store.events.length;
  const stale = [template.revision];
  const refusals = [
    () => commands.updateTemplate(caller, 'welcome', { subject: 'Lost {{name}}' }, stale),
    () => commands.updateTemplate(caller, 'welcome', { slug: 'lost' }, stale),
    () => commands.updateTemplate(caller, 'welcome', { revision: template.revision, subject: 'Lost {{name}}' }),
    () => commands.updateTemplate(caller, 'welcome', { revision: 'x', subject: 'Lost {{name}}' }),
    () => commands.publishTemplate(caller, 'welcome', stale),
    () => commands.deleteTemplate(caller, 'welcome', stale),
    () => commands.restoreTemplateVersion(caller, 'welcome', '1', []),
  ];
  for (const refusal of refusals)
    t.same((await refusedWith(t, refusal(), 'REVISION_MISMATCH')).details.relatedInfo, { revision });
  t.equal(store.events.length, before);
  const changed = await commands.updateTemplate(caller, 'welcome', { slug: 'hello', subject: 'Third {{name}}' }, [
    0,
    revision,
  ]);
  t.match(changed, { slug: 'hello', subject: 'Third {{name}}' });
  const published = await commands.publishTemplate(caller, 'hello', [changed.revision]);
  t.equal((await commands.publishTemplate(caller, 'hello', [published.revision])).revision, published.revision);
  await commands.deleteTemplate(caller, 'hello', [published.revision]);
  await refusedWith(t, commands.deleteTemplate(caller, 'hello', stale), 'TEMPLATE_NOT_FOUND');
  t.equal(
    (await events(templateStream(assertDefined(parseTemplateId(template.id), 'id')))).at(-1)?.type,
    'TemplateDeleted',
  );
});

void t.test('of changes at once for one revision, one is made', async (t) => {
  const { commands, template } = await withTemplate();
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, (_, at) =>
      commands.updateTemplate(caller, 'welcome', { description: `${at}` }, [template.revision]),
    ),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const result of results) if (result.status === 'rejected') t.match(result.reason, { code: 'REVISION_MISMATCH' });
});

void t.test('a read-only field stands in a change as it is now, or the change is refused', async (t) => {
  const { commands, template, store } = await withTemplate();
  const before = store.events.length;
  t.strictSame(await commands.updateTemplate(caller, 'welcome', template), { ...template, warnings: [] });
  t.equal(store.events.length, before);
  const wrong = {
    id: 'x',
    type: 'attachment',
    status: 'draft',
    version: 2,
    publishedVersion: null,
    createdAt: 'x',
    updatedAt: 'x',
  };
  for (const [field, value] of Object.entries(wrong)) {
    const { details } = await refusedWith(
      t,
      commands.updateTemplate(caller, 'welcome', { name: 'New', [field]: value } as object),
      'VALIDATION_ERROR',
    );
    t.same(
      details.errors?.map((error) => error.field),
      [field],
    );
  }
  t.equal(store.events.length, before);
});

void t.test('a change takes what is answered of a version, of this template alone', async (t) => {
  const { commands, template } = await withTemplate();
  const first = await commands.templateVersion(caller, 'welcome', '1');
  await commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}', description: 'New' });
  await commands.publishTemplate(caller, 'welcome');
  const { subject, schema, variables, description } = template;
  const changed = await commands.updateTemplate(caller, 'welcome', first);
  t.match(changed, { subject, schema, variables, description, status: 'draft', version: 3, publishedVersion: 2 });
  for (const [field, wrong] of [
    ['publishedAt', { ...first, version: 9 }],
    ['publishedAt', { ...first, publishedAt: '2001-01-01T00:00:00.000Z' }],
    ['publishedAt', { name: 'New', publishedAt: first.publishedAt }],
    ['current', { name: 'New', current: true }],
    ['type', { ...first, type: 'attachment' }],
  ] as const) {
    const { details } = await refusedWith(
      t,
      commands.updateTemplate(caller, 'welcome', wrong as object),
      'VALIDATION_ERROR',
    );
    t.same(
      details.errors?.map((error) => error.field),
      [field],
    );
  }
  t.equal((await commands.getTemplate(caller, 'welcome')).revision, changed.revision);
});

void t.test('the address of the schema that an editor goes by is left aside', async (t) => {
  const { commands, store } = await openWorld();
  const $schema = './email-template.json';
  t.notOk('$schema' in (await commands.createTemplate(caller, { ...welcome, $schema })));
  t.match(await commands.updateTemplate(caller, 'welcome', { $schema, description: 'New' }), { description: 'New' });
  const { template } = await commands.importTemplate(caller, { ...welcome, name: 'Imported', $schema });
  t.equal(template.name, 'Imported');
  await commands.createAttachmentTemplate(caller, { ...invoice, $schema });
  await commands.updateAttachmentTemplate(caller, 'invoice', { $schema, description: 'New' });
  t.match((await commands.importAttachmentTemplate(caller, { ...invoice, name: 'Imported', $schema })).template, {
    name: 'Imported',
  });
  const log = JSON.stringify(store.events);
  t.ok(log.includes('Imported'));
  t.notOk(log.includes('$schema'), 'no event holds it');
});

void t.test('a change of an attachment template takes what is answered of a version', async (t) => {
  const { commands } = await openWorld();
  const made = await commands.createAttachmentTemplate(caller, { ...invoice, publish: true });
  const first = await commands.attachmentTemplateVersion(caller, made.id, '1');
  await commands.updateAttachmentTemplate(caller, made.id, { name: 'Bill' });
  await commands.publishAttachmentTemplate(caller, made.id);
  t.match(await commands.updateAttachmentTemplate(caller, made.id, first), {
    name: made.name,
    schema: made.schema,
    version: 3,
  });
});
