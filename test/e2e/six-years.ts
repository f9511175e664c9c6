/**
 * Reads that the test of six years makes after each step: bytes of every file, readable personal data, and data that is
 * due for removal.
 */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { DAY_MS } from '../../src/domain/core/time.js';
import { deliveryListing, withAnswers } from '../../src/domain/webhooks/delivery.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { makeProjections } from '../../src/projections/index.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { readRetentionLines } from '../../src/projections/retention/retention.js';
import { advanceUntil, type TestApp } from '../support/app.js';
import type { FakeClock } from '../support/fake-clock.js';
import { png } from '../support/pictures.js';
import { traces } from '../support/traces.js';
import { eventually } from '../support/wait.js';

export const START_MS = Date.parse('2026-01-01T00:00:00.000Z');
/** Each thing that is to go is made of a word of its own, so that the word found anywhere tells on it. */
export const marks = {
  sent: 'Zanzibarian',
  deleted: 'Ouagadougou',
  batch: 'Tegucigalpa',
  batchName: 'Nouakchott',
  visitor: 'Popocatepetl',
  answer: 'Antananarivo',
  document: 'Quetzalcoatl',
  template: 'Ulaanbaatar',
  asset: 'Bratislava',
  webhook: 'Lilongwe',
  domain: 'reykjavik',
  team: 'Thimphu',
} as const;

export type World = Readonly<{
  app: TestApp;
  clock: FakeClock;
  dataDir: string;
  settings: Readonly<Record<string, string>>;
}>;

/** Every event of the log with all of it that can still be opened. */
export const opened = async ({ app }: World): Promise<string> => {
  const texts: string[] = [];
  for await (const { events } of app.engine.eventLog.readAll(0)) {
    texts.push(JSON.stringify(events.map(({ event }) => event)));
    const answers = events.flatMap(({ event }) =>
      event.type === 'WebhookAttempted'
        ? event.data.outcomes.map((outcome, at) => ({
            item: deliveryListing(outcome),
            answer: event.sealed?.answers[at],
          }))
        : [],
    );
    texts.push(JSON.stringify(await withAnswers(app.engine.keys, answers)));
  }
  return texts.join('\n');
};

/** Files in which the clear part of the log may be found for ever. */
export const inClear = ['/events.db', '/documents.'];

/**
 * Asserts that the mark cannot be decrypted in the log and is in no file; `but`: files that keep it according to the
 * documentation.
 */
export const assertGone = async (t: Test, world: World, mark: string, but: readonly string[] = []): Promise<void> => {
  const left = () => traces(world.dataDir, mark).filter((file) => !but.some((kept) => file.startsWith(kept)));
  await eventually(`nothing of ${mark} is left in any file`, () => left().length === 0).catch(() => {});
  t.same(left(), [], `nothing of ${mark} is left in any file`);
  if (but.length === 0) t.notOk((await opened(world)).includes(mark), `nothing of ${mark} can be opened any more`);
};

export const assertSound = async (t: Test, { app }: World, when: string): Promise<void> => {
  await app.whenCaughtUp();
  const { finding } = await verifyLog(app.engine.store, undefined);
  t.equal(finding, undefined, `${when}: the log verifies`);
  for (const projection of makeProjections(app.engine.limits)) {
    const { difference, lookupFault } = await compareWithRebuild(projection, app.engine);
    t.same([difference, lookupFault], [undefined, undefined], `${when}: ${projection.name} equals a rebuild`);
  }
};

/** The data that is due for removal, line by line. */
export const due = async ({ app, clock }: World): Promise<Readonly<Record<string, number>>> => {
  await app.whenCaughtUp();
  const lines = await readRetentionLines(app.engine, clock.now());
  return Object.fromEntries(lines.map(({ name, due: count }) => [name, count]));
};

/**
 * Lets the workers do what has become due. A bus on a server keeps its pauses in real time, whatever the clock of the
 * test says.
 */
export const settle = (world: World, ...names: readonly string[]): Promise<boolean> => {
  const gone = async (): Promise<boolean> => {
    const now = await due(world);
    return names.every((name) => now[name] === 0);
  };
  return advanceUntil(world.clock, 2_000, `${names.join(', ')} have gone`, gone, 300_000);
};

/** To so many days after the start, in steps that a running machine makes. */
export const walkTo = async ({ clock }: World, days: number): Promise<void> => {
  const untilMs = START_MS + days * DAY_MS;
  while (clock.now() < untilMs) await clock.advance(Math.min(untilMs - clock.now(), 90 * DAY_MS));
};

const person = { email: 'ada@example.com', password: 'a pelican in the rain', name: 'Ada Example' };

/** A team beside the first, with something in it; its owner deletes it. */
export const makeDeletedTeam = async ({ app }: World): Promise<void> => {
  const call = async (
    method: 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const { status, body: answer, text } = await app.call(method, path, body, headers);
    if (status >= 300) throw new Error(`${path} is answered ${status} ${text}`);
    return answer;
  };
  await call('POST', '/api/auth/register', person, { authorization: '' });
  const { accessToken } = await call('POST', '/api/auth/login', { email: person.email, password: person.password });
  const signedIn = { authorization: `Bearer ${String(accessToken)}` };
  const { id } = await call(
    'POST',
    '/api/teams',
    { name: 'Market', defaultFrom: { email: 'market@example.com' } },
    signedIn,
  );
  const inTeam = { ...signedIn, 'x-team-id': String(id) };
  await call('POST', '/api/suppressions', { email: `${marks.team}-not@private.example` }, inTeam);
  await call('POST', '/api/assets', { filename: `${marks.team}.png`, content: png.toString('base64') }, inTeam);
  await app.whenCaughtUp();
  await call('DELETE', `/api/teams/${String(id)}`, undefined, signedIn);
};

/** A file whose writing was cut off, by a crash at the start of the story. */
export const cutOff = (dataDir: string): string => {
  const directory = join(dataDir, 'files', 'tmp');
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'cut-off');
  writeFileSync(file, 'half of a file');
  utimesSync(file, START_MS / 1_000, START_MS / 1_000);
  return file;
};

/** The daily summaries of the first month. */
export const figuresOf = async ({ app }: World): Promise<unknown> => {
  await app.whenCaughtUp();
  const { body } = await app.call<{ totals: unknown }>(
    'GET',
    '/api/analytics/overview?startDate=2026-01-01&endDate=2026-01-31',
  );
  return body.totals;
};
