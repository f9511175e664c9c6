/** The figures at /metrics: what they count, that they know nobody, and that nothing is measured where nobody asks. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runCommand } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

/** In: the text of the figures. Out: the value of one, summed over its labels where some are left open. */
const valueOf = (text: string, name: string, ...labels: readonly string[]): number | undefined => {
  const lines = text
    .split('\n')
    .filter(
      (line) =>
        (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && labels.every((label) => line.includes(label)),
    );
  return lines.length === 0
    ? undefined
    : lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
};

const figuresOf = async (port: number | undefined): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (answer.status !== 200) throw new Error(`the figures were answered ${answer.status}`);
  return answer.text();
};

await t.test('Figures tell what became of emails, how long each step took, and how the service is', async (t) => {
  const app = await startTestApp({
    isFounded: true,
    dataDir: temporaryDirectory(t),
    settings: { SEALPOST_METRICS_PORT: '0' },
  });
  t.teardown(() => app.stop());
  const { id } = await app.send();
  await app.whenStatus(id, 'delivered');
  await app.call('POST', '/api/emails/send', {
    templateId: 'no-such-template',
    to: [{ email: 'ada@example.com' }],
    variables: {},
  });
  await app.whenCaughtUp();
  const text = await figuresOf(app.metricsPort);

  for (const [name, least, ...labels] of [
    ['sealpost_emails_accepted_total', 1],
    ['sealpost_delivery_attempts_total', 1],
    ['sealpost_emails_sent_total', 1],
    ['sealpost_append_seconds_count', 3, 'outcome="done"'],
    ['sealpost_append_events_count', 3],
    ['sealpost_events_appended_total', 1, 'type="EmailQueued"'],
    ['sealpost_render_seconds_count', 1],
    ['sealpost_compose_seconds_count', 1],
    ['sealpost_smtp_seconds_count', 1, 'outcome="accepted"'],
    ['sealpost_smtp_recipients_total', 1, 'outcome="accepted"'],
    ['sealpost_work_settled_total', 1, 'processor="deliver-email"', 'ending="done"'],
    ['sealpost_http_request_seconds_count', 1, 'route="/api/emails/send"', 'status="201"'],
    ['sealpost_http_request_seconds_count', 1, 'route="/api/emails/send"', 'status="404"'],
    ['sealpost_lease_held', 1, 'lease="dispatch"'],
    ['sealpost_lease_held', 1, 'lease="worker-deliver-email"'],
    ['sealpost_worker_up', 1, 'worker="relay"'],
    ['sealpost_work_in_flight_max', 1, 'processor="deliver-email"'],
    ['sealpost_log_head_position', 3],
    ['sealpost_projection_position', 3, 'projection="emails"'],
    ['sealpost_live_streams', 0],
    ['sealpost_ready', 1],
    ['sealpost_disk_free_bytes', 1],
    ['sealpost_info', 1],
    ['process_cpu_seconds_total', 0.001],
    ['nodejs_eventloop_lag_p99_seconds', 0],
  ] as const)
    t.ok((valueOf(text, name, ...labels) ?? -1) >= least, `${name} ${labels.join()}`);
  for (const [name, ...labels] of [
    ['sealpost_queue_depth', 'priority="high"'],
    ['sealpost_queue_depth', 'priority="normal"'],
    ['sealpost_queue_oldest_age_seconds', 'priority="low"'],
    ['sealpost_deferred_emails', 'priority="normal"'],
    ['sealpost_held_emails', 'priority="normal"'],
    ['sealpost_breaker_open', 'processor="deliver-email"'],
    ['sealpost_work_in_flight', 'processor="deliver-email"'],
    ['sealpost_unreadable_events'],
    ['sealpost_projection_lag_seconds', 'projection="emails"'],
    ['sealpost_worker_restarts', 'worker="relay"'],
    ['sealpost_clock_leap_seconds'],
    ['sealpost_limiter_shared'],
    ['sealpost_documents_under_way'],
  ] as const)
    t.equal(valueOf(text, name, ...labels), 0, `${name} ${labels.join()}`);
  t.ok(new Set(text.match(/^# TYPE sealpost_\w+/gm)).size >= 25, 'at least 25 figures of our own');
  t.notMatch(text, /@|example\.com|Ada Example|482913|sealpost_sk_/, 'no address, no variable, no key');
  t.notMatch(text, new RegExp(id), 'no id');
  const named = ['docs/operating.md', 'deploy/alerts.yml', 'deploy/grafana.json'].map((file) =>
    readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'),
  );
  for (const [name] of named.join('\n').matchAll(/\bsealpost_[a-z_]+[a-z]\b/g))
    t.match(
      text,
      new RegExp(`^# TYPE ${name.replace(/_(?:bucket|count|sum)$/, '')} `, 'm'),
      `${name} is one of the figures`,
    );
});

await t.test(
  'The lag of a read model that does not come along is told in seconds, and falls to none when it has',
  async (t) => {
    const dataDir = temporaryDirectory(t);
    const app = await startTestApp({ isFounded: true, dataDir, settings: { SEALPOST_METRICS_PORT: '0' } });
    t.teardown(() => app.stop());
    for (let sent = 0; sent < 5; sent += 1) await app.send();
    await app.whenCaughtUp();
    await eventually(
      'no lag',
      async () => valueOf(await figuresOf(app.metricsPort), 'sealpost_projection_lag_seconds') === 0,
    );
  },
);

await t.test(
  'Only GET /metrics is answered there, and a port that is taken stops the start with a sentence',
  async (t) => {
    const app = await startTestApp({
      isFounded: true,
      dataDir: temporaryDirectory(t),
      settings: { SEALPOST_METRICS_PORT: '0' },
    });
    t.teardown(() => app.stop());
    const base = `http://127.0.0.1:${app.metricsPort}`;
    t.equal((await fetch(`${base}/`)).status, 404);
    t.equal((await fetch(`${base}/metrics`, { method: 'POST' })).status, 404);
    await t.rejects(
      startTestApp({ dataDir: temporaryDirectory(t), settings: { SEALPOST_METRICS_PORT: String(app.metricsPort) } }),
      {
        message: `SEALPOST_METRICS_PORT=${app.metricsPort} on 127.0.0.1 cannot be listened on (EADDRINUSE); stop what uses it, or set another port.`,
      },
    );
  },
);

await t.test('Without a port nothing listens and nothing is measured', async (t) => {
  const app = await startTestApp({ dataDir: temporaryDirectory(t) });
  t.teardown(() => app.stop());
  t.equal(app.metricsPort, undefined);
});

await t.test('A start that fails ends, whether figures are served or not', async (t) => {
  const dataDir = temporaryDirectory(t);
  writeFileSync(join(dataDir, 'events.db'), 'no database '.repeat(20));
  const ended = await runCommand(['serve'], { SEALPOST_DATA_DIR: dataDir, PORT: '0', SEALPOST_METRICS_PORT: '0' });
  t.match(ended, { code: 1, stderr: /is damaged/ });
});
