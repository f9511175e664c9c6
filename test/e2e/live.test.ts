/**
 * Live events of a service that is killed: what a page was told, with what it is told when it comes back, is what the
 * list shows.
 */
import t from 'tap';
import type { EmailListing } from '../../src/projections/email/read-models.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { openEngineOfTest } from '../support/engines.js';
import { readEvents, type EventReader } from '../support/event-stream.js';
import { createdKey } from '../support/founded.js';
import { freePort } from '../support/free-port.js';
import { signedIn } from '../support/people.js';
import { startServer, type Settings } from '../support/server-process.js';
import { openSmtpScript } from '../support/smtp-script.js';
import { eventually } from '../support/wait.js';
import { firstTeam } from '../../src/commands/core/caller.js';

t.setTimeout(300_000);

type Changes = Readonly<{ emails?: Readonly<{ changed: readonly EmailListing[]; removed: readonly string[] }> }>;

/** Applies what the stream brings, as a page does, and goes on after the last event when it is interrupted. */
const openPage = (url: string, cookie: string) => {
  const shown = new Map<string, EmailListing>();
  const seen = { events: 0, resets: 0, opens: 0, lastId: undefined as string | undefined };
  let reader: EventReader | undefined;
  let applied = 0;
  return {
    ...{ shown, seen },
    connect: async (base: string): Promise<void> => {
      reader = await readEvents(`${base}${url}`, {
        cookie,
        ...(seen.lastId === undefined ? {} : { 'last-event-id': seen.lastId }),
      });
      applied = 0;
      if (reader.status !== 200) throw new Error(JSON.stringify(reader.refused));
    },
    apply: (): void => {
      for (; applied < (reader?.events.length ?? 0); applied += 1) {
        const { event, data, id } = reader!.events[applied]!;
        seen.lastId = id ?? seen.lastId;
        seen.events += 1;
        if (event === 'reset') seen.resets += 1;
        if (event === 'open') seen.opens += 1;
        if (event !== 'changes') continue;
        const { emails } = data as Changes;
        for (const item of emails?.changed ?? []) shown.set(item.id, item);
        for (const gone of emails?.removed ?? []) shown.delete(gone);
      }
    },
    isOver: () => reader?.isOver() ?? true,
    close: () => reader?.close(),
  };
};

void t.test('kill -9 of the service: no change is missed afterwards', async (t) => {
  const dataDir = temporaryDirectory(t);
  const port = String(await freePort());
  const settings: Settings = {
    SEALPOST_DATA_DIR: dataDir,
    SEALPOST_SMTP_URL: 'mailbox:',
    SEALPOST_LOG_LEVEL: 'error',
    PORT: port,
  };
  const app = await startTestApp({ isFounded: true, dataDir, settings });
  const { accessToken } = await signedIn(app.engine, {
    email: 'ada@example.com',
    teamId: (await firstTeam(app.engine))!,
  });
  await app.stop();
  const key = await createdKey(settings, 'live');
  const page = openPage('/api/stream?topics=emails', `sealpost_access_${port}=${accessToken}`);
  t.teardown(() => page.close());
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const content = { subject: 'Hello', html: '<p>Hello</p>' };
  const send = (base: string): Promise<unknown> =>
    fetch(`${base}/api/emails/send`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ from: { email: 'hello@service.test' }, content, to: [{ email: 'kim@example.com' }] }),
    });
  const listed = async (base: string): Promise<readonly EmailListing[]> => {
    const answer = await fetch(`${base}/api/emails?limit=100`, { headers });
    return ((await answer.json()) as { data: EmailListing[] }).data;
  };

  for (let round = 1; round <= 3; round += 1) {
    const server = startServer(settings);
    const base = await server.listening;
    await eventually('it connects', () => page.connect(base).then(() => true));
    await eventually('it is open', () => {
      page.apply();
      return page.seen.opens === round;
    });
    await Promise.all(Array.from({ length: 12 }, () => send(base)));
    // Some changes are told, and others happen while nobody is told anything.
    await eventually('some are told', () => {
      page.apply();
      return page.shown.size > (round - 1) * 12;
    });
    await Promise.all(Array.from({ length: 2 }, () => send(base).catch(() => {})));
    t.match(await server.end('SIGKILL'), { signal: 'SIGKILL' });
    await eventually('the page hears it', page.isOver);
    page.apply();
  }

  const server = startServer(settings);
  const base = await server.listening;
  // Before the page is back, more happens.
  await send(base);
  await page.connect(base);
  await eventually(
    'the page shows what the list shows',
    async () => {
      page.apply();
      const list = await listed(base);
      if (list.some(({ status }) => status === 'queued' || status === 'processing')) return false;
      const byId = (a: EmailListing, b: EmailListing): number => (a.id < b.id ? -1 : 1);
      return JSON.stringify([...list].sort(byId)) === JSON.stringify([...page.shown.values()].sort(byId));
    },
    60_000,
  );
  t.ok(page.shown.size >= 37, `${page.shown.size} emails`);
  t.equal(page.seen.resets, 0);
  t.equal(page.seen.opens, 4);

  const stopped = server.end('SIGTERM');
  await eventually('the stream ends', page.isOver);
  t.match(await stopped, { code: 0 });
});

void t.test('on servers any process tells what another did, and goes on where another has ended', async (t) => {
  const engine = await openEngineOfTest(t, 'distributed');
  if (engine === undefined) return;
  const relay = await openSmtpScript();
  t.teardown(() => relay.close());
  const start = async (roles: string): Promise<Readonly<{ app: TestApp; base: string }>> => {
    const app = await startTestApp({
      settings: { ...engine.stores, SEALPOST_ROLES: roles, SEALPOST_SMTP_URL: `${relay.url}?tls=off` },
      dataDir: temporaryDirectory(t),
    });
    t.teardown(() => app.stop());
    return { app, base: await app.server.listen({ port: 0, host: '127.0.0.1' }) };
  };
  const all = await start('http,process,project');
  const { accessToken } = await signedIn(all.app.engine, {
    email: 'ada@example.com',
    teamId: (await firstTeam(all.app.engine))!,
  });
  const serving = await start('http');
  const page = openPage('/api/stream?topics=emails,queue', `sealpost_access_0=${accessToken}`);
  t.teardown(() => page.close());
  const shows = (what: string, ids: readonly string[]): Promise<unknown> =>
    eventually(what, () => {
      page.apply();
      return ids.every((id) => page.shown.get(id)?.status === 'sent' || page.shown.get(id)?.status === 'delivered');
    });
  const opens = (count: number): Promise<unknown> =>
    eventually('it is open', () => {
      page.apply();
      return page.seen.opens === count;
    });
  await page.connect(serving.base);
  await opens(1);
  const first = (await all.app.send()).id;
  await shows('what another process accepted and sent', [first]);
  page.close();
  await eventually('it is closed', page.isOver);
  const missed = (await serving.app.send()).id;
  await page.connect(all.base);
  await opens(2);
  await shows('what was missed, by another process', [first, missed]);
  t.same(page.shown.get(missed), (await all.app.call<{ data: EmailListing[] }>('GET', '/api/emails')).body.data[0]);
  t.equal(page.seen.resets, 0);
});
