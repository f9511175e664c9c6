/**
 * Every text that the API accepts can be logged and read back: schema, rendering and events count the same characters.
 */
import t from 'tap';
import fc from 'fast-check';
import type { EmailRecord } from '../../src/api/email.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { sendBody, startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';

const EMOJI = '\u{1f600}';

const app = await startTestApp({
  isFounded: true,
  dataDir: temporaryDirectory(t),
  settings: { SEALPOST_ALLOWED_RELAY_HEADERS: 'X-MC-*' },
});
t.teardown(() => app.stop());

const text = (maxLength: number) =>
  fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength }),
    fc.nat({ max: maxLength }).map((count) => EMOJI.repeat(count + 1)),
  );

void t.test('every email that is accepted can be appended and read back', async (t) => {
  const ask = async (name: string, subject: string, header: string) => {
    const sent = await app.call<{ id: string }>('POST', '/api/emails/send', {
      templateId: 'sign-in-code',
      to: [{ email: 'ada@example.com', name }],
      from: { email: 'shop@example.com', name },
      subject,
      variables: { code: '1', firstName: name, minutesValid: 10 },
      headers: { 'X-Note': header },
      metadata: { [header]: subject },
    });
    if (sent.status === 400) return sent.status;
    t.equal(sent.status, 201, sent.text);
    const { status, body } = await app.call<EmailRecord>('GET', `/api/emails/${sent.body.id}`);
    t.equal(status, 200);
    t.same(body.metadata.recipients.to, [{ email: 'ada@example.com', name }]);
    t.same(body.from, { email: 'shop@example.com', name });
    t.same(body.metadata.custom, { [header]: subject });
    return sent.status;
  };

  for (const [chars, status] of [
    [600, 201],
    [998, 201],
    [999, 400],
  ] as const)
    t.equal(await ask('Ada', EMOJI.repeat(chars), 'x'), status, `a subject of ${chars}`);
  for (const [chars, status] of [
    [161, 201],
    [320, 201],
    [321, 400],
  ] as const)
    t.equal(await ask(EMOJI.repeat(chars), 'Hello', 'x'), status, `a name of ${chars}`);
  for (const control of ['\u0000', '\r\n', '\u007f', '\u0085', '\u2028']) {
    t.equal(await ask(`A${control}da`, 'Hello', 'x'), 400, 'a name with a control character');
  }

  await fc.assert(
    fc.asyncProperty(text(330), text(1_010), text(1_010), async (name, subject, header) => {
      await ask(name, subject.replaceAll('{{', ''), header);
    }),
    { numRuns: 40 },
  );
});

/** Posts, and reads what was made; a refusal is a 400. */
const madeOf = async (
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>> | undefined> => {
  const made = await app.call<{ id: string }>('POST', path, body);
  if (made.status === 400) return undefined;
  t.equal(made.status, 201, made.text);
  const { status, body: record } = await app.call('GET', `${path}/${made.body.id}`);
  t.equal(status, 200);
  return record;
};

const component = { id: 'text', type: 'rich-text', content: '<p>x</p>' };
const sections = [{ id: 'main', type: 'main', components: [component] }];

void t.test('every template and every key that is accepted can be appended and read back', async (t) => {
  const kinds = {
    '/api/templates': (name: string, description: string) => ({
      name,
      description,
      subject: 'Hi',
      from: { email: 'a@example.com', name },
      schema: { sections },
    }),
    '/api/templates/attachment': (name: string, description: string) => ({
      name,
      description,
      schema: { outputFormats: ['pdf'], pages: [{ pageId: 'p', pageName: name.slice(0, 20), sections }] },
    }),
    '/api/api-keys': (name: string, description: string) => ({ name, description, permissions: ['emails:send'] }),
  };
  for (const [path, bodyOf] of Object.entries(kinds)) {
    const most = path === '/api/api-keys' ? defaultLimits.apiKeyNameCharsMax : defaultLimits.templateNameCharsMax;
    t.match(await madeOf(path, bodyOf(EMOJI.repeat(most), EMOJI.repeat(2_000))), {
      name: EMOJI.repeat(most),
      description: EMOJI.repeat(2_000),
    });
    t.equal(await madeOf(path, bodyOf(EMOJI.repeat(most + 1), 'x')), undefined);
    t.equal(await madeOf(path, bodyOf('x', EMOJI.repeat(2_001))), undefined);
    for (const control of ['\u0000', '\n', '\u0085'])
      t.equal(await madeOf(path, bodyOf(`a${control}b`, 'x')), undefined);
    await fc.assert(
      fc.asyncProperty(text(270), text(2_010), async (name, description) => {
        const record = await madeOf(path, bodyOf(name, description));
        if (record !== undefined) t.same([record['name'], record['description']], [name, description]);
      }),
      { numRuns: 20 },
    );
  }
});

void t.test('of the headers that instruct a relay, those that are allowed reach it', async (t) => {
  t.equal((await app.call('POST', '/api/emails/send', sendBody({ headers: { 'X-PM-Tag': 'a' } }))).status, 400);
  const { id } = await app.send({ headers: { 'X-MC-Tags': 'welcome' } });
  const { messageId } = await app.whenStatus(id, 'delivered');
  const { body } = await app.call<{ data: { id: string }[] }>('GET', '/mailbox/messages');
  const raws = await Promise.all(
    body.data.map(async (message) => (await app.call('GET', `/mailbox/messages/${message.id}/raw`)).text),
  );
  t.match(
    raws.find((raw) => raw.includes(messageId)),
    /^X-MC-Tags: welcome\r$/m,
  );
});
