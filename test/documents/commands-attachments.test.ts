/**
 * The four kinds of attachment in a send call: what each becomes, what is refused in which words, and that a refusal
 * leaves nothing.
 */
import t from 'tap';
import { loadAttachments } from '../../src/commands/documents/attachments.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { sendEmail } from '../../src/commands/email/send.js';
import type { CreateAttachmentTemplateRequest } from '../../src/api/templates/templates.js';
import type { SendEmailRequest } from '../../src/api/email.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { emailStream, assertDefined, parseAssetId, parseEmailId } from '../../src/domain/core/ids.js';
import { OutboundFault } from '../../src/domain/ports/outbound-http.js';
import { caller, openWorld, simple, stranger, welcome, commandsOfTest } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator } from '../support/recording-generator.js';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const invoice: CreateAttachmentTemplateRequest = {
  slug: 'invoice',
  name: 'Invoice {{number}}',
  variables: [
    { name: 'number', type: 'string', required: true },
    { name: 'net', type: 'number', required: true, format: { style: 'currency', currency: 'EUR' } },
  ],
  schema: {
    outputFormats: ['pdf', 'excel'],
    pages: [
      {
        pageId: 'p',
        pageName: 'Page',
        sections: [
          {
            id: 's',
            type: 'main',
            components: [{ id: 'text', type: 'rich-text', content: '<p>{{number}} {{name}}</p>' }],
          },
        ],
      },
    ],
  },
  publish: true,
};

const outbound: CommandNeeds['outbound'] = {
  get: async (url) => {
    switch (new URL(url).pathname) {
      case '/terms.txt':
        return { bytes: new Uint8Array(Buffer.from('the terms')), contentType: 'text/plain' };
      case '/unknown':
        return { bytes: new Uint8Array([1, 2]), contentType: undefined };
      case '/large':
        throw new OutboundFault('too-large', 'The file has more than 10485760 bytes.');
      default:
        throw new OutboundFault('address-not-allowed', 'The address is not a public one.');
    }
  },
  close: async () => {},
};

const world = async (limits: Parameters<typeof openWorld>[0] = {}) => {
  const opened = await openWorld(limits);
  const generator = recordingGenerator();
  const deps: CommandNeeds = { ...opened.deps, generator, outbound };
  const commands = commandsOfTest(deps);
  await commands.createTemplate(caller, welcome);
  const template = await commands.createAttachmentTemplate(caller, invoice);
  const send = async (
    attachments: NonNullable<SendEmailRequest['attachments']>,
    more: Partial<SendEmailRequest> = {},
  ) => {
    const { body } = await commands.sendEmail(caller, simple({ attachments, ...more }));
    const stream = emailStream(assertDefined(parseEmailId(body.id), 'id'));
    const [event] = await opened.events(stream);
    if (event?.type !== 'EmailQueued' && event?.type !== 'EmailScheduled') throw new Error('not accepted');
    const key = await deps.eventLog.existingKey(stream);
    return {
      body,
      data: event.data,
      attachments: event.sealed!.attachments,
      loaded: (await loadAttachments(opened.files, key!, event.sealed!.attachments))!,
    };
  };
  return { ...opened, deps, commands, generator, template, send };
};

void t.test(
  'generated: both formats give two files, named from the variables that the attachment overrides',
  async (t) => {
    const { send, template, generator } = await world();
    for (const reference of ['invoice', template.id, template.shortId]) {
      const { body, data, attachments } = await send(
        [{ attachmentTemplateId: reference, variables: { number: 'A/7', net: 12.5 } }],
        {
          variables: { name: 'Ann', number: 'overridden' },
        },
      );
      t.same(
        attachments.map(({ filename, contentType }) => [filename, contentType]),
        [
          ['Invoice A-7.pdf', 'application/pdf'],
          ['Invoice A-7.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
        ],
      );
      t.equal(body.attachmentCount, 2);
      t.same(data.generated, { pdf: 1, excel: 1 });
    }
    t.match(generator.made.at(-1), { input: { variables: { name: 'Ann', number: 'A/7', net: 12.5 } } });
  },
);

void t.test('generated: one format, a name of its own with formatted values, without a second extension', async (t) => {
  const { send } = await world();
  const one = await send([
    {
      attachmentTemplateId: 'invoice',
      outputFormats: ['pdf'],
      filename: 'Bill {{number}} of {{net}} for {{name}}.pdf',
      variables: { number: '9', net: 1250 },
    },
  ]);
  t.same(
    one.attachments.map(({ filename }) => filename),
    ['Bill 9 of €1,250.00 for Ann.pdf'],
  );
  t.same(one.data.generated, { pdf: 1, excel: 0 });
  const nameless = await send([
    {
      attachmentTemplateId: 'invoice',
      outputFormats: ['excel'],
      filename: '..{{missing}}',
      variables: { number: '9', net: 1 },
    },
  ]);
  t.equal(nameless.attachments[0]!.filename, 'document.xlsx');
});

void t.test(
  'content, address and asset keep their bytes; types are what is said, else what the server says',
  async (t) => {
    const { send, commands } = await world();
    const asset = await commands.uploadAsset(caller, { filename: 'logo.png', bytes: png }, { count: 0, sizeBytes: 0 });
    const { loaded, attachments, data, body } = await send([
      { filename: 'note {{name}}.txt', content: base64('a note'), contentType: 'Text/Plain' },
      { filename: 'terms.txt', url: 'https://example.com/terms.txt' },
      { filename: 'other', url: 'https://example.com/unknown' },
      { filename: 'said', url: 'https://example.com/unknown', contentType: 'application/x-said' },
      { assetId: asset.id, contentId: 'logo' },
    ]);
    t.same(
      loaded.map(({ filename, contentType, contentId, bytes }) => [
        filename,
        contentType,
        contentId,
        bytes.toString('latin1'),
      ]),
      [
        ['note Ann.txt', 'text/plain', undefined, 'a note'],
        ['terms.txt', 'text/plain', undefined, 'the terms'],
        ['other', 'application/octet-stream', undefined, '\x01\x02'],
        ['said', 'application/x-said', undefined, '\x01\x02'],
        ['logo.png', 'image/png', 'logo', png.toString('latin1')],
      ],
    );
    t.equal(body.attachmentCount, 5);
    t.equal(data.generated, undefined);
    t.ok(attachments.every(({ ofTemplate }) => ofTemplate === undefined));
  },
);

void t.test('a picture of the gallery that the template shows goes with the email, and is not counted', async (t) => {
  const { send, commands } = await world();
  const asset = await commands.uploadAsset(caller, { filename: 'logo.png', bytes: png }, { count: 0, sizeBytes: 0 });
  const schema = {
    sections: [
      { id: 'm', type: 'main', components: [{ id: 'logo', type: 'image', props: { src: `asset:${asset.id}` } }] },
    ],
  };
  await commands.createTemplate(caller, { ...welcome, slug: 'with-logo', schema });
  const { body, loaded, attachments } = await send([], { templateId: 'with-logo' });
  t.equal(body.attachmentCount, 0);
  t.match(attachments, [{ filename: 'logo.png', contentId: `asset-${asset.id}@sealpost`, ofTemplate: true }]);
  t.same(loaded[0]!.bytes, png);
  await commands.deleteAsset(caller, assertDefined(parseAssetId(asset.id), 'id'));
  await refusedWith(t, send([], { templateId: 'with-logo' }), 'ASSET_NOT_FOUND');
});

const generated = { attachmentTemplateId: 'invoice', variables: { number: '1', net: 1 } };
type Given = NonNullable<SendEmailRequest['attachments']>[number];

const refusals: readonly Readonly<{
  what: string;
  given: readonly Given[];
  code: string;
  fields?: readonly string[];
  says: RegExp;
}>[] = [
  {
    what: 'nothing',
    given: [{ filename: 'x' }],
    code: 'VALIDATION_ERROR',
    fields: ['attachments[0]'],
    says: /exactly one of .* it has none/,
  },
  {
    what: 'two kinds',
    given: [{ url: 'https://example.com/terms.txt', content: 'AAAA', filename: 'x', contentType: 'a/b' }],
    code: 'VALIDATION_ERROR',
    fields: ['attachments[0]'],
    says: /content and url/,
  },
  {
    what: 'an address without a name',
    given: [generated, { url: 'https://example.com/terms.txt' }],
    code: 'VALIDATION_ERROR',
    fields: ['attachments[1].filename'],
    says: /required beside url/,
  },
  {
    what: 'content with formats',
    given: [{ content: 'AAAA', filename: 'x', contentType: 'a/b', outputFormats: ['pdf'] }],
    code: 'VALIDATION_ERROR',
    fields: ['attachments[0].outputFormats'],
    says: /does not go with content/,
  },
  {
    what: 'a content id twice',
    given: [1, 2].map(() => ({ content: 'AAAA', filename: 'x', contentType: 'a/b', contentId: 'logo' })),
    code: 'VALIDATION_ERROR',
    fields: ['attachments[1].contentId'],
    says: /already/,
  },
  {
    what: 'an unknown template',
    given: [{ attachmentTemplateId: 'none' }],
    code: 'ERR_ATTACH_001',
    says: /attachments\[0\].*"none"/,
  },
  {
    what: 'a name that is no template',
    given: [{ ...generated, filename: '{{a b}}' }],
    code: 'VALIDATION_ERROR',
    fields: ['attachments[0].filename'],
    says: /has a blank behind "a"/,
  },
  {
    what: 'missing variables',
    given: [{ attachmentTemplateId: 'invoice' }],
    code: 'VALIDATION_ERROR',
    says: /attachments\[0\] \("Invoice/,
  },
  {
    what: 'an unknown asset',
    given: [{ assetId: '99999999-9999-4999-8999-999999999999' }],
    code: 'ASSET_NOT_FOUND',
    says: /attachments\[0\]\.assetId/,
  },
  {
    what: 'an address within',
    given: [generated, { url: 'http://10.0.0.1/x', filename: 'x' }],
    code: 'ATTACHMENT_NOT_AVAILABLE',
    fields: ['attachments[1].url'],
    says: /not a public one/,
  },
  {
    what: 'a large file behind an address',
    given: [{ url: 'https://example.com/large', filename: 'x' }],
    code: 'ERR_ATTACH_002',
    says: /10485760/,
  },
];

void t.test('every refusal names the attachment, and nothing is written', async (t) => {
  const { send, store, files } = await world();
  const before = [store.events.length, files.stored.size];
  for (const { what, given, code, fields, says } of refusals) {
    const fault = await send([...given]).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(fault instanceof DomainError)) {
      t.fail(`${what} was not refused`);
      continue;
    }
    t.equal(fault.code, code, what);
    t.match(`${fault.message} ${(fault.details.errors ?? []).map(({ message }) => message).join(' ')}`, says, what);
    if (fields !== undefined)
      t.same(
        fault.details.errors?.map(({ field }) => field),
        fields,
        what,
      );
    t.same([store.events.length, files.stored.size], before, `${what}: nothing is written`);
  }
});

void t.test('a template of another team, an unpublished one, a format it does not have', async (t) => {
  const { send, commands } = await world();
  await commands.createAttachmentTemplate(stranger, { ...invoice, slug: 'theirs' });
  await refusedWith(t, send([{ attachmentTemplateId: 'theirs' }]), 'ERR_ATTACH_001');
  await commands.createAttachmentTemplate(caller, { ...invoice, slug: 'draft', publish: false });
  await refusedWith(t, send([{ ...generated, attachmentTemplateId: 'draft' }]), 'TEMPLATE_NOT_PUBLISHED');
  await commands.createAttachmentTemplate(caller, {
    ...invoice,
    slug: 'paper',
    schema: { ...(invoice.schema as object), outputFormats: ['pdf'] },
  });
  const { details } = await refusedWith(
    t,
    send([{ ...generated, attachmentTemplateId: 'paper', outputFormats: ['excel'] }]),
    'VALIDATION_ERROR',
  );
  t.match(details.errors, [{ field: 'attachments[0].outputFormats', message: /gives pdf/ }]);
});

void t.test('all together are bounded, and the bound stops the work', async (t) => {
  const { send, generator } = await world({ attachmentsTotalSizeBytesMax: 100 });
  const file = (sizeBytes: number) => ({
    filename: 'x',
    content: Buffer.alloc(sizeBytes, 1).toString('base64'),
    contentType: 'a/b',
  });
  const { details } = await refusedWith(t, send([file(60), file(60), generated]), 'ERR_ATTACH_002');
  t.match(details.relatedInfo, { actualSizeBytes: 120, maxSizeBytes: 100 });
  t.equal(generator.made.length, 0, 'no document is made after that');
});

void t.test('faults inside a generated attachment carry its whole path', async (t) => {
  const { send } = await world();
  const fine = { number: 'A/7', net: 12.5 };
  const fault = await send([
    { attachmentTemplateId: 'invoice', variables: fine },
    { attachmentTemplateId: 'invoice', variables: { ...fine, net: 'much' } },
  ]).catch((thrown: unknown) => thrown);
  t.match(fault, {
    code: 'VALIDATION_ERROR',
    message: /^attachments\[1\]/,
    details: { errors: [{ field: 'attachments[1].variables.net' }] },
  });
});

void t.test('a MIME type may have parameters, but none that the message writes itself', async (t) => {
  const { send } = await world();
  const file = (contentType: string) => ({ filename: 'a.ics', contentType, content: base64('BEGIN:VCALENDAR') });
  const { attachments } = await send([file('Text/Calendar;METHOD=REQUEST ; charset="utf-8"'), file('text/x; a="b;c"')]);
  t.same(
    attachments.map(({ contentType }) => contentType),
    ['text/calendar; method=REQUEST; charset=utf-8', 'text/x; a="b;c"'],
  );
  for (const wrong of [
    'text',
    'text/',
    'text/calendar;',
    'text/calendar; method',
    'text/calendar; a=b; A=c',
    'text/x; name=y',
    'text/x; a=b\r\nX: y',
    'text/x; a="b',
  ]) {
    await refusedWith(t, send([file(wrong)]), 'VALIDATION_ERROR');
  }
});

void t.test('a file name holds no control characters, and base64 has one form', async (t) => {
  const { send } = await world();
  const { details } = await refusedWith(
    t,
    send([{ filename: 'a.txt', contentType: 'text/plain', content: 'aGk=\n' }]),
    'VALIDATION_ERROR',
  );
  t.match(details.errors, [{ field: 'attachments[0].content', message: /in one line, with its padding/ }]);
  for (const control of ['\u0000', '\n', '\u0085', '\u202e']) {
    await refusedWith(
      t,
      send([{ filename: `a${control}.txt`, contentType: 'text/plain', content: base64('x') }]),
      'VALIDATION_ERROR',
    );
  }
});

void t.test('a slug may not look like an id', async (t) => {
  const { commands } = await world();
  const slug = '0192f0c1-2f6e-7c3a-9d1b-5e8a7c6b4d21';
  await refusedWith(t, commands.createTemplate(caller, { ...welcome, slug }), 'VALIDATION_ERROR');
  await refusedWith(t, commands.updateTemplate(caller, 'welcome', { slug }), 'VALIDATION_ERROR');
  await refusedWith(t, commands.createAttachmentTemplate(caller, { ...invoice, slug }), 'VALIDATION_ERROR');
});

void t.test(
  'a team whose attachments take as much as they may has no more, and only emails with attachments ask',
  async (t) => {
    const { commands, store, files, generator } = await world({ teamAttachmentBytesMax: 1_000 });
    let asked = 0;
    const sendWith = (stored: number, attachments: NonNullable<SendEmailRequest['attachments']>) =>
      commands.sendEmail(caller, simple({ attachments }), undefined, async () => {
        asked += 1;
        // The stored bytes include everything that was accepted before.
        return { bytes: stored, position: Number.MAX_SAFE_INTEGER };
      });
    const file = (sizeBytes: number) => [
      { filename: 'a.txt', contentType: 'text/plain', content: base64('x'.repeat(sizeBytes)) },
    ];
    await sendWith(1_000, []);
    t.equal(asked, 0, 'nothing is read for an email without attachments');
    await sendWith(900, file(100));
    t.equal(asked, 1);
    const [events, stored] = [store.events.length, files.stored.size];
    const { details, message } = await refusedWith(t, sendWith(900, file(101)), 'ATTACHMENT_STORAGE_EXCEEDED');
    t.match(message, /1,001 bytes, the maximum is 1,000/);
    t.match(details, { relatedInfo: { actualSizeBytes: 1_001, maxSizeBytes: 1_000 }, retryAfterS: 3_600 });
    const made = generator.made.length;
    const invoiced = [{ attachmentTemplateId: 'invoice', variables: { number: '1', net: 1 } }];
    await refusedWith(t, sendWith(1_000, invoiced), 'ATTACHMENT_STORAGE_EXCEEDED');
    t.equal(generator.made.length, made, 'no document is made for a team that is at its bound');
    t.same([store.events.length, files.stored.size], [events, stored], 'nothing is written');
  },
);

void t.test(
  'calls at the same moment share the room that is left, however far the read models are behind',
  async (t) => {
    const { commands, deps } = await world({ teamAttachmentBytesMax: 1_000 });
    let stored = { bytes: 400, position: 0 };
    const attachments = [{ filename: 'a.txt', contentType: 'text/plain', content: base64('x'.repeat(100)) }];
    const send = () => commands.sendEmail(caller, simple({ attachments }), undefined, async () => stored);
    const accepted = async (count: number): Promise<number> =>
      (await Promise.allSettled(Array.from({ length: count }, send))).filter(({ status }) => status === 'fulfilled')
        .length;
    t.equal(await accepted(10), 6);
    t.equal(await accepted(1), 0, 'as long as they are not counted');
    stored = { bytes: 400, position: await deps.eventLog.head() };
    t.equal(await accepted(10), 6, 'four of them are deleted again, the read models say');
    stored = { bytes: 1_000, position: await deps.eventLog.head() };
    t.equal(await accepted(1), 0);
    stored = { bytes: 400, position: await deps.eventLog.head() };
    const failing = { ...deps, eventLog: { ...deps.eventLog, append: () => Promise.reject(new Error('disk full')) } };
    for (let count = 0; count < 20; count += 1)
      await t.rejects(
        sendEmail(failing, caller, simple({ attachments }), undefined, async () => stored),
        { message: 'disk full' },
      );
    t.equal(await accepted(7), 6, 'what did not come to be takes nothing');
  },
);

void t.test(
  'an accepted email says what its attachments take: given ones as long as it, generated ones for seven days',
  async (t) => {
    const { send } = await world();
    const given = [{ filename: 'a.txt', contentType: 'text/plain', content: base64('hello') }];
    const { data } = await send([
      ...given,
      { attachmentTemplateId: 'invoice', outputFormats: ['pdf'], variables: { number: '1', net: 1 } },
    ]);
    t.match(data.attachmentBytes, {
      lasting: 5,
      temporaryUntil: new Date(Date.parse(data.at) + 7 * 86_400_000).toISOString(),
    });
    t.ok(data.attachmentBytes!.temporary > 0);
  },
);

void t.test('characters that no font has are told of in a preview and in the record of the email', async (t) => {
  const { commands } = await openWorld();
  await commands.createTemplate(caller, welcome);
  await commands.createAttachmentTemplate(caller, invoice);
  const variables = { number: '7', net: 1, name: 'ᜋ Ada ᜋ' };
  const preview = (more: object) =>
    commands.previewAttachmentTemplate(
      caller,
      'invoice',
      { variables: { ...variables, ...more } },
      new AbortController().signal,
    );
  t.same((await preview({})).replaced, ['ᜋ']);
  t.same((await preview({ name: 'Ada' })).replaced, []);
  const attachments = [{ attachmentTemplateId: 'invoice', outputFormats: ['pdf' as const], variables }];
  const { body } = await commands.sendEmail(caller, simple({ attachments }));
  const { metadata } = await commands.getEmail(caller, assertDefined(parseEmailId(body.id), 'id'));
  t.match(metadata, {
    attachments: [{ filename: 'Invoice 7.pdf' }],
    replacedCharacters: [{ name: 'Invoice 7.pdf', characters: ['ᜋ'] }],
  });
  const plain = await commands.sendEmail(
    caller,
    simple({ attachments: [{ ...attachments[0]!, variables: { ...variables, name: 'Ada' } }] }),
  );
  t.notOk(
    'replacedCharacters' in
      (await commands.getEmail(caller, assertDefined(parseEmailId(plain.body.id), 'id'))).metadata,
  );
});
