/**
 * The server of the log goes away and comes back: what is answered meanwhile is true, and what is repeated is done
 * once.
 */
import { join } from 'node:path';
import t from 'tap';
import { storedEvents, startTestApp, sendBody } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { startStandInProcess } from '../support/eventstoredb/process.js';
import { openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

await t.test(
  'while the log is away a send is refused with 503 and nothing of it is kept; repeated later it is done once',
  async (t) => {
    const log = await startStandInProcess(join(temporaryDirectory(t), 'log'));
    t.teardown(() => log.kill());
    const sink = await openSmtpScript();
    t.teardown(() => sink.close());
    const app = await startTestApp({
      dataDir: temporaryDirectory(t),
      settings: { SEALPOST_EVENT_STORE_URL: `${log.url()}&prefix=away`, SEALPOST_SMTP_URL: `${sink.url}?tls=off` },
    });
    t.teardown(() => app.stop());
    const key = { 'idempotency-key': 'once' };
    await log.kill();

    const first = await app.call('POST', '/api/emails/send', sendBody(), key);
    t.match(first, {
      status: 503,
      body: { statusCode: 503, code: 'STORE_AWAY', message: 'Nothing was accepted', retryAfter: 5 },
    });
    t.equal(first.headers['retry-after'], '5');
    t.match(await app.call('POST', '/api/templates', {}), { status: /400|503/ });
    t.match(await app.call('GET', '/api/emails/01a1fceb-7fbd-71a1-a5e6-900036be8e09'), {
      status: 503,
      body: { code: 'STORE_AWAY' },
    });

    await log.start();
    const sent = await eventually('a send is accepted again', async () => {
      const answer = await app.call<{ id: string }>('POST', '/api/emails/send', sendBody(), key);
      return answer.status === 201 ? answer.body.id : undefined;
    });
    await app.whenStatus(sent, 'sent');
    const accepted = (await storedEvents(app.engine)).filter(({ type }) => type.startsWith('EmailQueued'));
    t.same(
      accepted.map(({ stream }) => stream),
      [`email-${sent}`],
    );
    t.equal(sink.accepted().length, 1);
  },
);
