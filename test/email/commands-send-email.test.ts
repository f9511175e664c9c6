/**
 * The send call as a command: what is pinned, what is refused with which code and path, and what an Idempotency-Key
 * promises.
 */
import t from 'tap';
import type { SendEmailRequest } from '../../src/api/email.js';
import type { DomainEvent } from '../../src/domain/events.js';
import { emailStream, assertDefined, parseEmailId, teamStream } from '../../src/domain/core/ids.js';
import { changeTeam } from '../../src/commands/teams/teams.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { loadAttachments } from '../../src/commands/documents/attachments.js';
import { AppendUnknown, type ErrorCode } from '../../src/domain/core/errors.js';
import { at, T0 } from '../support/email-facts.js';
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
  type World,
} from '../support/command-world.js';

const idOf = (id: string) => assertDefined(parseEmailId(id), 'email id');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const acceptedBy = async (world: World, request: SendEmailRequest) => {
  const { body } = await world.commands.sendEmail(caller, request);
  const [event, ...more] = await world.events(emailStream(idOf(body.id)));
  if (more.length > 0 || (event?.type !== 'EmailQueued' && event?.type !== 'EmailScheduled'))
    throw new Error('a send call is one event');
  return { body, event, sealed: event.sealed! };
};

void t.test('every field of the call is in its event, and the answer is made of it', async (t) => {
  const world = await withTemplate();
  const request: SendEmailRequest = {
    templateId: world.template.id,
    version: 1,
    from: { email: 'Shop@EXAMPLE.com', name: 'The Shop' },
    to: [{ email: 'ann@example.org', name: 'Ann' }, { email: '"b o b"@Example.ORG' }],
    cc: [{ email: 'cyd@bücher.example' }],
    bcc: [{ email: 'dan@example.org' }],
    replyTo: 'Help@Example.com',
    subject: 'Order for {{name}}',
    variables: { name: 'Ann', extra: [1, { deep: null }] },
    attachments: [{ filename: '../terms?.txt', content: base64('the terms'), contentType: 'Text/Plain' }],
    priority: 'high',
    scheduledAt: '2030-01-01T15:00:00+02:00',
    headers: { 'X-Order': '17' },
    tags: ['order', 'vip'],
    metadata: { customer: 4 },
  };
  const { body, event, sealed } = await acceptedBy(world, request);
  t.strictSame(event.data, {
    messageId: `<${body.id}@example.com>`,
    templateId: world.template.id,
    templateName: 'Welcome',
    templateRevision: 1,
    templateVersion: 1,
    priority: 'high',
    tags: ['order', 'vip'],
    roles: ['to', 'to', 'cc', 'bcc'],
    attachmentCount: 1,
    attachmentBytes: { lasting: 9, temporary: 0, temporaryUntil: '2030-01-08T13:00:00.000Z' },
    company: {
      name: 'Example Ltd',
      legalName: '',
      email: '',
      phone: '',
      website: '',
      addressLine1: '',
      city: '',
      state: '',
      postalCode: '',
      country: '',
    },
    at: T0,
    scheduledAt: '2030-01-01T13:00:00.000Z',
  });
  const [file] = [...world.files.stored.keys()];
  t.strictSame(sealed, {
    from: { email: 'Shop@example.com', name: 'The Shop' },
    recipients: [
      { email: 'ann@example.org', name: 'Ann' },
      { email: '"b o b"@example.org' },
      { email: 'cyd@xn--bcher-kva.example' },
      { email: 'dan@example.org' },
    ],
    replyTo: 'Help@example.com',
    subject: 'Order for Ann',
    subjectOverride: 'Order for {{name}}',
    variables: { name: 'Ann', extra: [1, { deep: null }] },
    headers: { 'X-Order': '17' },
    metadata: { customer: 4 },
    attachments: [{ filename: 'terms.txt', contentType: 'text/plain', sizeBytes: 9, file }],
  });
  t.strictSame(body, {
    id: body.id,
    messageId: `<${body.id}@example.com>`,
    status: 'scheduled',
    recipientCount: 4,
    attachmentCount: 1,
    queuedAt: T0,
    estimatedDeliveryAt: '2030-01-01T13:00:05.000Z',
  });
  const recorded = await world.deps.eventLog.load(emailStream(idOf(body.id)));
  t.match(recorded[0]!.metadata, {
    teamId: TEAM,
    actor: 'apiKey:key_1',
    correlationId: 'request-1',
    causationId: 'request-1',
    occurredAt: T0,
  });
  t.notOk(world.files.stored.get(file!)!.includes('the terms'), 'the file is sealed');
  const key = await world.deps.eventLog.existingKey(emailStream(idOf(body.id)));
  t.strictSame(
    (await loadAttachments(world.files, key!, sealed.attachments))!.map(({ bytes }) => bytes.toString()),
    ['the terms'],
  );
});

void t.test('the least there can be takes its defaults', async (t) => {
  const world = await withTemplate();
  const { body, event, sealed } = await acceptedBy(world, simple());
  t.equal(event.type, 'EmailQueued');
  t.match(event.data, {
    priority: 'normal',
    tags: [],
    roles: ['to'],
    attachmentCount: 0,
    templateVersion: 1,
    messageId: `<${body.id}@example.com>`,
  });
  t.strictSame(sealed, {
    from: { email: 'default@example.com', name: 'Default' },
    recipients: [{ email: 'ann@example.org' }],
    subject: 'Hello Ann',
    variables: { name: 'Ann' },
    headers: {},
    metadata: {},
    attachments: [],
  });
  t.match(body, { status: 'queued', queuedAt: T0, estimatedDeliveryAt: at(5) });
  t.equal((await world.commands.getEmail(caller, idOf(body.id))).status, 'queued', 'a caller reads their own write');
});

void t.test('the sender: of the call, else of the template version, else of the team', async (t) => {
  const world = await withTemplate();
  await changeTeam(world.deps, TEAM, { defaultFrom: { email: 'team@example.com' } }, causeOf(world.deps, caller));
  t.equal((await acceptedBy(world, simple())).sealed.from.email, 'team@example.com');
  await world.commands.updateTemplate(caller, 'welcome', { from: { email: 'template@example.com' }, name: 'Renamed' });
  const live = await acceptedBy(world, simple());
  t.equal(live.sealed.from.email, 'team@example.com', 'an unpublished draft changes nothing of what is sent');
  t.equal(live.event.data.templateName, 'Welcome');
  const draft = await acceptedBy(world, simple({ version: 'draft' }));
  t.equal(draft.sealed.from.email, 'template@example.com');
  t.equal(draft.event.data.templateName, 'Renamed');
  await world.commands.publishTemplate(caller, 'welcome');
  const second = await acceptedBy(world, simple());
  t.equal(second.sealed.from.email, 'template@example.com');
  t.equal(second.event.data.messageId.endsWith('@example.com>'), true);
  t.equal((await acceptedBy(world, simple({ version: '1' }))).sealed.from.email, 'team@example.com');
  t.equal(
    (await acceptedBy(world, simple({ from: { email: 'call@example.net' } }))).sealed.from.email,
    'call@example.net',
  );
});

void t.test('the version: published, draft or a number, and its revision is pinned', async (t) => {
  const world = await withTemplate();
  await world.commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}' });
  await world.commands.publishTemplate(caller, 'welcome');
  await world.commands.updateTemplate(caller, 'welcome', { subject: 'Third {{name}}' });
  const pinned = async (version: string | number | undefined) => {
    const { event, sealed } = await acceptedBy(world, simple(version === undefined ? {} : { version }));
    return [event.data.templateRevision, event.data.templateVersion, sealed.subject];
  };
  t.same(await pinned(undefined), [2, 2, 'Second Ann']);
  t.same(await pinned('published'), [2, 2, 'Second Ann']);
  t.same(await pinned(1), [1, 1, 'Hello Ann']);
  t.same(await pinned('1'), [1, 1, 'Hello Ann']);
  t.same(await pinned('draft'), [3, null, 'Third Ann']);
  for (const version of [3, '0', 'newest'])
    await refusedWith(t, world.commands.sendEmail(caller, simple({ version })), 'TEMPLATE_VERSION_NOT_FOUND');
  await world.commands.createTemplate(caller, { ...welcome, slug: 'unpublished', publish: false });
  await refusedWith(
    t,
    world.commands.sendEmail(caller, simple({ templateId: 'unpublished' })),
    'TEMPLATE_NOT_PUBLISHED',
  );
  t.equal(
    (await acceptedBy(world, simple({ templateId: 'unpublished', version: 'draft' }))).event.data.templateVersion,
    null,
  );
});

const recipients = (count: number) => Array.from({ length: count }, (_, index) => ({ email: `r${index}@example.org` }));
const file = (sizeBytes: number) => ({
  filename: 'a.bin',
  content: Buffer.alloc(sizeBytes).toString('base64'),
  contentType: 'application/octet-stream',
});

type Refusal = Readonly<{
  what: string;
  request: SendEmailRequest;
  code: ErrorCode;
  fields?: readonly string[];
  related?: object;
}>;
const refusals: readonly Refusal[] = [
  {
    what: '51 recipients in all',
    request: simple({ to: recipients(40), cc: recipients(6), bcc: recipients(5) }),
    code: 'VALIDATION_ERROR',
    fields: ['to'],
  },
  {
    what: 'addresses',
    request: simple({
      to: [{ email: 'ann@example.org' }, { email: 'no address' }],
      cc: [{ email: 'a@b@c' }],
      bcc: [{ email: 'x@-y.example' }],
      replyTo: 'nobody',
      from: { email: '@example.org' },
    }),
    code: 'ERR_EMAIL_001',
    fields: ['to[1].email', 'cc[0].email', 'bcc[0].email', 'from.email', 'replyTo'],
  },
  {
    what: 'line breaks in an address',
    request: simple({ to: [{ email: 'ann@example.org\r\nBcc: x@example.org' }] }),
    code: 'ERR_EMAIL_001',
    fields: ['to[0].email'],
  },
  {
    what: 'control characters in names',
    request: simple({
      to: [{ email: 'ann@example.org', name: 'Ann\r\nBcc: x@y.example' }],
      from: { email: 'a@example.org', name: '\u0000' },
    }),
    code: 'VALIDATION_ERROR',
    fields: ['to[0].name', 'from.name'],
  },
  {
    what: 'a line break in the subject',
    request: simple({ subject: 'Hello\nthere' }),
    code: 'VALIDATION_ERROR',
    fields: ['subject'],
  },
  {
    what: 'header fields',
    request: simple({
      headers: { 'X-Good': 'yes', 'X-Bad': 'a\r\nb', Subject: 'mine', 'x y': 'z', 'x-good': 'again' },
    }),
    code: 'VALIDATION_ERROR',
    fields: ['headers.X-Bad', 'headers.Subject', 'headers.x y', 'headers.x-good'],
  },
  {
    what: '51 header fields',
    request: simple({ headers: Object.fromEntries(recipients(51).map((_, index) => [`X-${index}`, 'v'])) }),
    code: 'VALIDATION_ERROR',
    fields: ['headers'],
  },
  {
    what: 'a letter beyond ASCII in a URL of a header field',
    request: simple({
      headers: { 'List-Unsubscribe': '<https://example.com/u?n=Müller>', 'List-Id': 'Café <news.example.com>' },
    }),
    code: 'VALIDATION_ERROR',
    fields: ['headers.List-Unsubscribe'],
  },
  {
    what: 'a schedule in the past',
    request: simple({ scheduledAt: T0 }),
    code: 'VALIDATION_ERROR',
    fields: ['scheduledAt'],
  },
  {
    what: 'a schedule more than a year ahead',
    request: simple({ scheduledAt: '2031-01-01T12:00:00.001Z' }),
    code: 'VALIDATION_ERROR',
    fields: ['scheduledAt'],
  },
  {
    what: 'a schedule that is no moment',
    request: simple({ scheduledAt: 'tomorrow' }),
    code: 'VALIDATION_ERROR',
    fields: ['scheduledAt'],
  },
  {
    what: 'large metadata',
    request: simple({ metadata: { text: 'x'.repeat(64 * 1024) } }),
    code: 'VALIDATION_ERROR',
    fields: ['metadata'],
  },
  {
    what: 'attachments that are none',
    request: simple({
      attachments: [
        { filename: '/..', content: 'AAAA', contentType: 'text/plain' },
        { filename: 'a', content: 'AAA', contentType: 'text/plain; name=b' },
        { filename: 'b', content: 'A*==', contentType: 'text' },
      ],
    }),
    code: 'VALIDATION_ERROR',
    fields: [
      'attachments[0].filename',
      'attachments[1].contentType',
      'attachments[1].content',
      'attachments[2].contentType',
      'attachments[2].content',
    ],
  },
  {
    what: 'a large attachment',
    request: simple({ attachments: [file(1), file(1_001)] }),
    code: 'ERR_ATTACH_002',
    related: { actualSizeBytes: 1_001, maxSizeBytes: 1_000 },
  },
  {
    what: 'large attachments together',
    request: simple({ attachments: [file(900), file(900), file(201)] }),
    code: 'ERR_ATTACH_002',
    related: { actualSizeBytes: 2_001, maxSizeBytes: 2_000 },
  },
  {
    what: 'an unknown template',
    request: simple({ templateId: 'nothing' }),
    code: 'ERR_TMPL_002',
    related: { templateId: 'nothing' },
  },
  {
    what: 'an unknown template id',
    request: simple({ templateId: '99999999-9999-4999-8999-999999999999' }),
    code: 'ERR_TMPL_002',
    related: { templateId: '99999999-9999-4999-8999-999999999999' },
  },
  {
    what: 'a missing variable',
    request: simple({ variables: {} }),
    code: 'VALIDATION_ERROR',
    fields: ['variables.name'],
  },
  {
    what: 'a variable of another type',
    request: simple({ variables: { name: 5 } }),
    code: 'VALIDATION_ERROR',
    fields: ['variables.name'],
  },
  {
    what: 'a subject that is too long once rendered',
    request: simple({ variables: { name: 'x'.repeat(1_000) } }),
    code: 'SUBJECT_TOO_LONG',
  },
  {
    what: 'a body that is too long once rendered',
    request: simple({ subject: 'Short', variables: { name: 'x'.repeat(3_000_000) } }),
    code: 'RENDERED_BODY_TOO_LARGE',
  },
  {
    what: 'a header that instructs a relay',
    request: simple({ headers: { 'X-SMTPAPI': '{}' } }),
    code: 'VALIDATION_ERROR',
    fields: ['headers.X-SMTPAPI'],
  },
  {
    what: 'a subject that is empty once filled',
    request: simple({ subject: ' {{nickname}} ' }),
    code: 'SUBJECT_EMPTY',
    fields: ['subject'],
  },
];

void t.test('a body that shows nothing is refused where nothing is attached', async (t) => {
  const world = await withTemplate();
  const content = (text: string) => [
    { id: 'space', type: 'spacer', props: { height: 20 } },
    { id: 'text', type: 'rich-text', content: `<p>&nbsp;${text}</p>` },
  ];
  const saved = await world.commands.createTemplate(caller, {
    ...welcome,
    slug: 'note',
    variables: [{ name: 'note', type: 'string' }],
    schema: {
      props: { preheader: 'Seen beside the subject' },
      sections: [{ id: 'main', type: 'main', components: content('{{note}}') }],
    },
    subject: 'A note',
  });
  const send = (note: string, more: Partial<SendEmailRequest> = {}) =>
    world.commands.sendEmail(caller, simple({ templateId: saved.id, variables: { note }, ...more }));
  for (const note of ['', ' ', '\u200b']) await refusedWith(t, send(note), 'BODY_EMPTY');
  for (const note of ['.', '<b>', '0']) await t.resolves(send(note), note);
  await t.resolves(send('', { attachments: [{ filename: 'a.txt', content: base64('a'), contentType: 'text/plain' }] }));
});

void t.test('every refusal has its code and names the field, and nothing is written', async (t) => {
  const world = await withTemplate({ attachmentSizeBytesMax: 1_000, attachmentsTotalSizeBytesMax: 2_000 });
  const before = world.store.events.length;
  for (const { what, request, code, fields, related } of refusals) {
    const { details, message } = await refusedWith(t, world.commands.sendEmail(caller, request), code);
    if (fields !== undefined)
      t.same(
        details.errors?.map(({ field }) => field),
        fields,
        what,
      );
    if (related !== undefined) t.same(details.relatedInfo, related, what);
    t.ok(
      message.length > 10 && (details.errors ?? []).every((fault) => fault.message.length > 5),
      `${what}: says what would be right`,
    );
  }
  t.equal(world.store.events.length, before);
  t.equal(world.files.stored.size, 0);
  t.same(world.keys.ids(), []);
});

void t.test('just within the bounds is accepted', async (t) => {
  const world = await withTemplate({ attachmentSizeBytesMax: 1_000, attachmentsTotalSizeBytesMax: 2_000 });
  const { event } = await acceptedBy(
    world,
    simple({
      to: recipients(50).slice(0, 40),
      cc: recipients(50).slice(40, 45),
      bcc: recipients(50).slice(45),
      attachments: [file(1_000), file(1_000)],
      scheduledAt: '2031-01-01T12:00:00.000Z',
      headers: Object.fromEntries(recipients(50).map((_, index) => [`X-${index}`, 'v'])),
    }),
  );
  t.equal(event.data.roles.length, 50);
});

void t.test('a template of another team is as unknown as none', async (t) => {
  const world = await withTemplate();
  for (const templateId of ['welcome', world.template.id]) {
    const { details } = await refusedWith(
      t,
      world.commands.sendEmail(stranger, simple({ templateId })),
      'ERR_TMPL_002',
    );
    t.same(details.relatedInfo, { templateId });
  }
});

const queuedEvents = (events: readonly { type: string }[]) =>
  events.filter(({ type }) => type.startsWith('EmailQueued') || type.startsWith('EmailScheduled')).length;

void t.test('a disk that refuses is no answer, and leaves nothing behind', async (t) => {
  const world = await withTemplate();
  world.store.beforeAppend(() => Promise.reject(new Error('disk full')));
  await t.rejects(world.commands.sendEmail(caller, simple({ attachments: [file(10)] })), { message: 'disk full' });
  world.store.beforeAppend(undefined);
  t.equal(queuedEvents(world.store.events), 0);
  t.equal(world.files.stored.size, 0);
  t.equal((await world.commands.sendEmail(caller, simple())).body.status, 'queued');
});

void t.test('an email whose append lost its answer is accepted, with its attachments', async (t) => {
  for (const deed of ['written', 'not written'] as const) {
    const world = await withTemplate();
    world.store.loseAnswers([deed]);
    const { body } = await world.commands.sendEmail(caller, simple({ attachments: [file(10)] }));
    t.equal(body.status, 'queued');
    t.equal(queuedEvents(world.store.events), 1);
    t.equal(world.files.stored.size, 1);
  }
});

void t.test('where nobody knows whether the email is in the log its attachments stay', async (t) => {
  const world = await withTemplate();
  await world.commands.sendEmail(caller, simple());
  world.store.loseAnswers(['written']);
  world.store.beforeAppend(() => world.store.failReads(Infinity));
  let fault: unknown;
  void world.commands.sendEmail(caller, simple({ attachments: [file(10)] })).catch((error: unknown) => (fault = error));
  while (fault === undefined) await world.clock.advance(10_000);
  t.ok(fault instanceof AppendUnknown);
  t.equal(queuedEvents(world.store.events), 2);
  t.equal(world.files.stored.size, 1);
});

void t.test('the template is compiled once a revision, and what was pinned renders the same later', async (t) => {
  const world = await openWorld();
  await world.commands.createTemplate(caller, { ...welcome, schema: schemaSaying('one {{name}}') });
  const { body } = await world.commands.sendEmail(caller, simple());
  await world.commands.updateTemplate(caller, 'welcome', { schema: schemaSaying('two {{name}}') });
  await world.commands.publishTemplate(caller, 'welcome');
  const [event] = (await world.events(emailStream(idOf(body.id)))) as [Extract<DomainEvent, { type: 'EmailQueued' }>];
  t.equal(event.data.templateRevision, 1);
  const reads = world.store.reads();
  await world.commands.sendEmail(caller, simple());
  await world.commands.sendEmail(caller, simple());
  t.ok(world.store.reads() - reads < 14, 'a send reads the tails of few streams');
  await t.resolves(world.deps.eventLog.load(teamStream(TEAM)));
});
