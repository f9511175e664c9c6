/**
 * The language of a call: what is sent, previewed and tried in it says so in every output, and is the same whenever it
 * is made.
 */
import t from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import type { CreateTemplateRequest, CreateAttachmentTemplateRequest } from '../../src/api/templates/templates.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { EmailAccepted } from '../../src/domain/email/events.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseBatchId,
  parseEmailId,
  type EmailId,
} from '../../src/domain/core/ids.js';
import { prepareMessage, type MessageDeps } from '../../src/processors/email/message.js';
import { at } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { caller, commandsOfTest, openWorld, TEAM, type World } from '../support/command-world.js';
import { recordingGenerator, type RecordingGenerator } from '../support/recording-generator.js';

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
