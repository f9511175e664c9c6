/** What the test of six years looks at after each step: bytes of every file, what can still be opened, and what would go. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { DAY_MS } from '../../src/domain/time.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { makeProjections } from '../../src/projections/index.js';
import { compareWithRebuild } from '../../src/projections/rebuild.js';
import { readRetentionLines } from '../../src/projections/retention.js';
import { advanceUntil, type TestApp } from '../support/app.js';
import type { FakeClock } from '../support/fake-clock.js';
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
} as const;

export type World = Readonly<{ app: TestApp; clock: FakeClock; dataDir: string; settings: Readonly<Record<string, string>> }>;

/** As it is, with capitals folded as a search index does, and in base64 at each offset. */
const formsOf = (mark: string): readonly Buffer[] => {
  const inBase64 = [0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + mark)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  );
  return [mark, mark.toLowerCase(), ...inBase64].map((text) => Buffer.from(text));
};

/** The files of the directory in which the mark stands in any form. */
const traces = (directory: string, mark: string): readonly string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file);
      return formsOf(mark).some((form) => bytes.includes(form));
    })
    .map((file) => file.slice(directory.length + 1));

/** Every event of the log with all of it that can still be opened. */
export const opened = async ({ app }: World): Promise<string> => {
  const texts: string[] = [];
  for await (const { events } of app.engine.eventLog.readAll(0)) texts.push(JSON.stringify(events.map(({ event }) => event)));
  return texts.join('\n');
};

/** Where what the log says in clear may be found for ever. */
export const inClear = ['events.db', 'documents.'];

/** Nothing of the mark can be opened in the log, and it stands in no file; `but`: what the documentation says is kept there. */
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

/** What would go now, line by line. */
export const due = async ({ app, clock }: World): Promise<Readonly<Record<string, number>>> => {
  await app.whenCaughtUp();
  const lines = await readRetentionLines(app.engine, clock.now());
  return Object.fromEntries(lines.map(({ name, due: count }) => [name, count]));
};

/** Lets the workers do what has become due. */
export const settle = (world: World, ...names: readonly string[]): Promise<boolean> =>
  advanceUntil(world.clock, 2_000, `${names.join(', ')} have gone`, async () => {
    const now = await due(world);
    return names.every((name) => now[name] === 0);
  });

/** To so many days after the start, in steps that a running machine makes. */
export const walkTo = async ({ clock }: World, days: number): Promise<void> => {
  const untilMs = START_MS + days * DAY_MS;
  while (clock.now() < untilMs) await clock.advance(Math.min(untilMs - clock.now(), 90 * DAY_MS));
};
