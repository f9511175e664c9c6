/** Relays and a program that is killed in the middle of a mail. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sendBody } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { startServer } from '../support/server-process.js';
import { at, hang, openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const from = { email: 'hello@service.test' };

type Body = Readonly<{ id: string; status: string; attempts: readonly Readonly<{ relay?: string }>[] }>;

await t.test('killed while a relay has the content: the mail waits for that relay, and no other gets it', async (t) => {
  const [first, second] = [await openSmtpScript({ script: at('message', hang) }), await openSmtpScript()];
  t.teardown(() => second.close());
  const { port } = first;
  const file = join(temporaryDirectory(t), 'relays.json');
  const urlOf = (of: number): string => `smtp://127.0.0.1:${of}?tls=off`;
  writeFileSync(
    file,
    JSON.stringify({
      relays: [
        { name: 'first', url: urlOf(port) },
        { name: 'second', url: urlOf(second.port) },
      ],
    }),
  );
  const settings = {
    SEALPOST_DATA_DIR: temporaryDirectory(t),
    SEALPOST_RELAYS: file,
    SEALPOST_ACCOUNT_SENDER: 'accounts@service.test',
  };
  let server = startServer(settings);
  t.teardown(() => server.end('SIGKILL'));
  const key = await server.firstKey();
  const call = async (path: string, body?: unknown): Promise<Body> => {
    const answer = await fetch(`${await server.listening}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Body;
  };
  const { id } = await call('/api/emails/send', sendBody({ from }));
  await first.whenReceived(1);
  await server.end('SIGKILL');
  await first.close();
  server = startServer(settings);
  const other = await call('/api/emails/send', sendBody({ from }));
  await eventually('other mail goes by the second relay', async () => {
    const { status, attempts } = await call(`/api/emails/${other.id}`);
    return status === 'sent' && attempts.at(-1)?.relay === 'second';
  });
  await eventually('the mail waits', async () => (await call(`/api/emails/${id}`)).status === 'queued');
  t.equal(second.accepted().length, 1);
  const again = await openSmtpScript({ port });
  t.teardown(() => again.close());
  await eventually('it leaves by the first relay', async () => (await call(`/api/emails/${id}`)).status === 'sent');
  t.match(await call(`/api/emails/${id}`), { attempts: [{ relay: 'first' }, { relay: 'first' }] });
  t.equal(again.accepted().length, 1);
  t.equal(second.accepted().length, 1);
});
