/** A mail of a list over real SMTP: one dialogue for each recipient, signed with its link, and the link works. */
import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';
import { startTestApp } from '../support/app.js';
import { fakeClock } from '../support/fake-clock.js';
import { startServer } from '../support/server-process.js';
import { signatureFault, signaturesOf } from '../support/dkim.js';
import { at, close, held, openSmtpScript, reply } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const people = ['ann@example.org', 'bob@example.org', 'cyd@example.org'];
const template = {
  slug: 'bulletin',
  name: 'News',
  subject: 'News',
  unsubscribeList: 'newsletter',
  publish: true,
  schema: {
    sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>News</p>' }] }],
  },
};
const news = { templateId: 'bulletin', to: people.map((email) => ({ email })), variables: {} };

await t.test('each copy has a dialogue of its own, an outcome of its own, and a link that works', async (t) => {
  // The fate of the second mail is unknown.
  const sink = await openSmtpScript({ script: at('message', close, 2) });
  t.teardown(() => sink.close());
  const app = await startTestApp({
    dataDir: temporaryDirectory(t),
    clock: fakeClock(),
    settings: {
      SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
      SEALPOST_RETRY_DELAYS: '60',
      SEALPOST_PUBLIC_URL: 'https://mail.example.com',
      SEALPOST_DKIM_DOMAIN: 'example.com',
      SEALPOST_DKIM_SELECTOR: 's1',
      SEALPOST_DKIM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    },
  });
  t.teardown(() => app.stop());
  t.equal((await app.call('POST', '/api/templates', template)).status, 201);
  const { id, messageId } = await app.send(news);
  const record = await app.whenStatus(id, 'sent', 15_000);
  t.same(
    record.recipients.map(({ status }) => status),
    ['sent', 'sent', 'sent'],
  );
  t.same(
    sink.received.map(({ envelope }) => envelope.to),
    [['ann@example.org'], ['bob@example.org'], ['cyd@example.org'], ['bob@example.org']],
    'only the one that was cut off leaves again',
  );
  const links = new Map<string, string>();
  for (const mail of sink.received) {
    t.equal(`<${mail.messageId}>`, messageId);
    const raw = mail.raw.toString('latin1');
    t.equal(signatureFault(raw, publicKey), undefined);
    const covered = signaturesOf(raw)[0]!['h']!.toLowerCase().split(':');
    t.ok(covered.includes('list-unsubscribe') && covered.includes('list-unsubscribe-post'), 'both headers are signed');
    const link = /^List-Unsubscribe:\s+<https:\/\/mail\.example\.com(\/u\/[\w-]+)>\r$/m.exec(raw)?.[1];
    const [to] = mail.envelope.to;
    t.ok(link !== undefined && (links.get(to!) ?? link) === link, 'the link is the same in every attempt');
    links.set(to!, link!);
  }
  t.equal(new Set(links.values()).size, 3);

  const form = { 'content-type': 'application/x-www-form-urlencoded', authorization: '' };
  t.equal((await app.call('POST', links.get('bob@example.org')!, 'List-Unsubscribe=One-Click', form)).status, 200);
  sink.setScript(({ step, address }) =>
    step === 'rcpt' && address === 'ann@example.org' ? reply('550 5.1.1 no such user') : undefined,
  );
  const again = await app.send(news);
  const next = await app.whenStatus(again.id, 'sent', 15_000);
  t.same(
    next.recipients.map(({ status }) => status),
    ['bounced', 'suppressed', 'sent'],
  );
  t.match((await app.call('GET', '/api/suppressions?list=newsletter')).body, {
    data: [{ email: 'bob@example.org', list: 'newsletter', reason: 'unsubscribe', emailId: id }],
  });
});

await t.test(
  'a process that is killed between two copies sends neither again, and the one in its dialogue at most once more',
  async (t) => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const sink = await openSmtpScript({ script: at('message', held(released), 2) });
    t.teardown(() => sink.close());
    const settings = {
      SEALPOST_DATA_DIR: temporaryDirectory(t),
      SEALPOST_LOG_LEVEL: 'error',
      SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
      SEALPOST_PUBLIC_URL: 'https://mail.example.com',
    };
    const first = startServer(settings);
    t.teardown(() => first.end('SIGKILL'));
    const call = async (base: string, key: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const answer = await fetch(
        base + path,
        body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
      );
      t.ok(answer.ok, `${path} ${answer.status}`);
      return (await answer.json()) as Record<string, unknown>;
    };
    const [base, key] = [await first.listening, await first.firstKey()];
    await call(base, key, '/api/templates', template);
    const { id } = await call(base, key, '/api/emails/send', news);
    await eventually(
      'the second copy is on its way',
      () => sink.commands.filter((line) => /\bDATA$/.test(line)).length === 2,
    );
    await first.end('SIGKILL');
    release();
    const second = startServer(settings);
    t.teardown(() => second.end('SIGKILL'));
    const again = await second.listening;
    await eventually(
      'all copies have left',
      async () => (await call(again, key, `/api/emails/${String(id)}`))['status'] === 'sent',
    );
    const counts = people.map((person) => sink.commands.filter((line) => line.includes(`RCPT TO:<${person}>`)).length);
    t.same(counts, [1, 2, 1]);
    t.same(
      people.filter((person) => !sink.accepted().some(({ envelope }) => envelope.to[0] === person)),
      [],
      'none is lost',
    );
  },
);
