/** What the API accepts, the log takes and gives back: schema, rendering and events count the same characters. */
import t from 'tap';
import fc from 'fast-check';
import type { EmailRecord } from '../../src/api/emails.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';

const EMOJI = '\u{1f600}';

void t.test('every request that is accepted can be appended and read back', async (t) => {
  const app = await startTestApp({ dataDir: temporaryDirectory(t) });
  t.teardown(() => app.stop());
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

  const text = (maxLength: number) =>
    fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength }),
      fc.nat({ max: maxLength }).map((count) => EMOJI.repeat(count + 1)),
    );
  await fc.assert(
    fc.asyncProperty(text(330), text(1_010), text(1_010), async (name, subject, header) => {
      await ask(name, subject.replaceAll('{{', ''), header);
    }),
    { numRuns: 40 },
  );
});
