/** Some parts on servers and others in files: each mix accepts, delivers, lists, erases, and is sound. */
import t, { type Test } from 'tap';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { serversOfTest, type ServerSetting } from '../support/engines.js';
import { runCommand } from '../support/server-process.js';
import { openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

/**
 * `onServers`: what is not in files; `roles`: those of the processes beside the one that serves and does everything.
 */
type Mix = Readonly<{ name: string; onServers: readonly ServerSetting[]; beside: readonly string[] }>;

const mixes: readonly Mix[] = [
  {
    name: 'all in files, and two processes that share deliveries by NATS',
    onServers: ['BUS_URL'],
    beside: ['process'],
  },
  { name: 'the log on EventStoreDB, all else in files', onServers: ['EVENT_STORE_URL'], beside: ['project'] },
  {
    name: 'the log in a file, all else on servers',
    onServers: ['READ_MODELS_URL', 'KEYS_URL', 'MASTER_KEY', 'FILES_URL', 'LEASES_URL', 'LIMITER_URL', 'BUS_URL'],
    beside: ['process', 'project'],
  },
  {
    name: 'the read models in a file, all else on servers',
    onServers: ['EVENT_STORE_URL', 'KEYS_URL', 'MASTER_KEY', 'FILES_URL', 'LEASES_URL', 'BUS_URL'],
    beside: ['process'],
  },
];

const works = async (t: Test, { onServers, beside }: Mix): Promise<void> => {
  const servers = await serversOfTest(t);
  if (servers === undefined) return;
  const sink = await openSmtpScript();
  t.teardown(() => sink.close());
  const dataDir = temporaryDirectory(t);
  const settings = {
    ...Object.fromEntries(onServers.map((name) => [`SEALPOST_${name}`, servers[`SEALPOST_${name}`]])),
    SEALPOST_SMTP_URL: `${sink.url}?tls=off`,
  };
  const start = async (roles: string) => {
    const app = await startTestApp({ dataDir, settings: { ...settings, SEALPOST_ROLES: roles } });
    t.teardown(() => app.stop());
    return app;
  };
  const main = await start('http,process,project');
  for (const roles of beside) await start(roles);
  const attachments = [
    {
      filename: 'a.txt',
      contentType: 'text/plain',
      content: Buffer.from('attached '.repeat(50_000)).toString('base64'),
    },
  ];
  const sent = await Promise.all(Array.from({ length: 10 }, () => main.send()));
  const last = await main.call<{ id: string; messageId: string }>('POST', '/api/emails/send', {
    templateId: 'sign-in-code',
    to: [{ email: 'grace@navy.example' }],
    variables: { code: '1', firstName: 'Grace', minutesValid: 10 },
    attachments,
  });
  t.equal(last.status, 201, last.text);
  const ids = [...sent.map(({ messageId }) => messageId), last.body.messageId].sort();
  const taken = () =>
    sink
      .accepted()
      .map(({ messageId }) => `<${messageId}>`)
      .sort();
  await eventually('all are delivered', () => taken().length >= ids.length, 60_000);
  t.same(taken(), ids, 'each once');
  const found = async (position: unknown) =>
    (
      await main.call<{ meta: { total: number } }>('GET', '/api/emails?search=grace', undefined, {
        'x-sealpost-position': String(position),
      })
    ).body.meta.total;
  await eventually('it is found', async () => (await found(last.headers['x-sealpost-position'])) === 1);
  await main.whenStatus(last.body.id, 'sent');
  const deleted = await main.call('DELETE', `/api/emails/${last.body.id}`);
  await eventually('it is erased', async () => (await found(deleted.headers['x-sealpost-position'])) === 0);
  const { code, stdout, stderr } = await runCommand(['verify'], { ...settings, SEALPOST_DATA_DIR: dataDir }, 120_000);
  t.equal(code, 0, `${stdout}${stderr}`);
};

for (const mix of mixes) await t.test(mix.name, (t) => works(t, mix));
