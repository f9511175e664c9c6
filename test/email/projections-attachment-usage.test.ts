/** The stored attachment bytes of each team: accepted emails add to them; deletion, archiving and age take them off. */
import t from 'tap';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { assertDefined, parseTeamId } from '../../src/domain/core/ids.js';
import { ATTACHMENT_USAGE } from '../../src/projections/email/attachment-usage.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { makeQueries } from '../../src/projections/queries.js';
import { accepted, content, DAY_MS, PERIODS, T0, TEAM_ID } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn } from '../support/projected.js';
import { memoryKeys } from '../support/memory-ports.js';

const OTHER = '22222222-2222-4222-8222-222222222222';
const projection = emailsProjection(PERIODS);
const stream = (n: number): string => `email-0192f0c1-2f6e-7c3a-9d1b-00000000000${n}`;
const later = (days: number): string => new Date(Date.parse(T0) + days * DAY_MS).toISOString();

const withAttachments = (lasting: number, temporary: number, until = later(7)): EmailEvent => ({
  type: 'EmailQueued',
  data: { ...accepted, attachmentBytes: { lasting, temporary, temporaryUntil: until } },
  sealed: content,
});
const without: EmailEvent = { type: 'EmailQueued', data: accepted, sealed: content };
const deleted: EmailEvent = { type: 'EmailDeleted', data: { at: later(1) } };
const archived: EmailEvent = { type: 'EmailArchived', data: { at: later(1) } };

const story = async (): Promise<ReturnType<typeof openLogOfTest>> => {
  const test = openLogOfTest();
  await test.append(stream(1), [withAttachments(1_000, 0)]);
  await test.append(stream(2), [withAttachments(20, 300)]);
  await test.append(stream(3), [withAttachments(4, 0)], OTHER);
  await test.append(stream(4), [withAttachments(0, 50, later(9))]);
  await test.append(stream(5), [without]);
  return test;
};

void t.test('a team has what its own emails keep, as long as they keep it', async (t) => {
  const { append, recorded } = await story();
  const readModels = openDocuments(t);
  const clock = fakeClock(Date.parse(T0));
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock,
    limits: defaultLimits,
    awaitOwnWrites: async () => {},
  });
  const stored = async (...teams: readonly string[]): Promise<readonly number[]> => {
    await projectIn(readModels, projection, await recorded());
    return Promise.all(
      teams.map(async (team) => (await queries.storedAttachmentBytes(assertDefined(parseTeamId(team), 'team'))).bytes),
    );
  };
  t.same(await stored(TEAM_ID, OTHER), [1_370, 4], 'one team’s use never counts against another');
  await clock.advance(7 * DAY_MS);
  t.same(await stored(TEAM_ID), [1_370], 'through their last day');
  await clock.advance(DAY_MS);
  t.same(await stored(TEAM_ID), [1_070], 'generated files go by themselves');
  await append(stream(1), [archived]);
  t.same(await stored(TEAM_ID, OTHER), [70, 4]);
  await append(stream(2), [deleted, archived]);
  t.same(await stored(TEAM_ID), [50], 'once, and what had gone by itself is not taken off again');
  await append(stream(4), [deleted]);
  await append(stream(3), [deleted], OTHER);
  t.same(await stored(TEAM_ID, OTHER), [0, 0]);
});

void t.test('an email that is given another time keeps its generated files for longer', async (t) => {
  const { append, recorded } = openLogOfTest();
  const [readModels, single] = [openDocuments(t), openDocuments(t)];
  const attachmentBytes = { lasting: 20, temporary: 300, temporaryUntil: later(9) };
  await append(stream(1), [
    { type: 'EmailScheduled', data: { ...accepted, attachmentBytes, scheduledAt: later(2) }, sealed: content },
  ]);
  await append(stream(2), [withAttachments(0, 50, later(9))]);
  await append(stream(1), [
    {
      type: 'EmailRescheduled',
      data: { at: later(1), scheduledAt: later(30), temporaryUntil: later(37) },
      sealed: { subject: 'S' },
    },
  ]);
  await append(stream(2), [{ type: 'EmailCancelled', data: { at: later(1) } }]);
  await projectIn(readModels, projection, await recorded());
  const days = (name: number): string => later(name).slice(0, 10);
  const usage = (await documentsOf(readModels, projection))[ATTACHMENT_USAGE];
  t.match(usage, [{ lasting: 20, days: { [days(9)]: 50, [days(37)]: 300 } }]);
  await append(stream(1), [{ type: 'EmailDeleted', data: { at: later(3) } }]);
  await projectIn(readModels, projection, await recorded());
  const after = await documentsOf(readModels, projection);
  t.match(after[ATTACHMENT_USAGE], [{ lasting: 0, days: { [days(9)]: 50, [days(37)]: undefined } }]);
  await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
  t.strictSame(await documentsOf(single, projection), after);
});

void t.test(
  'the documents are the same however the events are cut, and an email without attachments has none',
  async (t) => {
    const { append, recorded } = await story();
    await append(stream(2), [deleted]);
    const [whole, single] = [openDocuments(t), openDocuments(t)];
    await projectIn(whole, projection, await recorded());
    await projectIn(single, projection, await recorded(), { sizes: [1], forgetful: true });
    const found = await documentsOf(whole, projection);
    t.strictSame(await documentsOf(single, projection), found);
    t.match(found[ATTACHMENT_USAGE], [
      { id: TEAM_ID, lasting: 1_000, days: { [later(9).slice(0, 10)]: 50 } },
      { id: OTHER, lasting: 4, days: {} },
    ]);
    const plain = openLogOfTest();
    await plain.append(stream(1), [without]);
    const documents = openDocuments(t);
    await projectIn(documents, projection, await plain.recorded());
    t.same((await documentsOf(documents, projection))[ATTACHMENT_USAGE], []);
  },
);
