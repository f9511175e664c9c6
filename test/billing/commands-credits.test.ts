/** Credits under many senders, in one process and in several, with failures between the reservation and its email. */
import t from 'tap';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import type { BillingChanges } from '../../src/domain/teams/decider.js';
import { sendEmail } from '../../src/commands/email/send.js';
import { advanceCredits, balanceOf, noCredits } from '../../src/domain/billing/credits.js';
import type { CreditsEvent } from '../../src/domain/billing/events.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { creditsStream, emailStream, type EmailId, type StreamName } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import {
  caller,
  commandsOfTest,
  simple,
  TEAM,
  withTemplate,
  type World,
  nothingUsed,
} from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { T0 } from '../support/email-facts.js';
import { onDistantPorts } from '../support/ports-of-tests.js';
import { recordingGenerator } from '../support/recording-generator.js';

const CREDITS = creditsStream(TEAM);
const causeAt = (world: Pick<World, 'clock'>) => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'test',
  causationId: 'test',
  at: isoTime(world.clock.now()),
});

/** A team that is billed so, with no more than that balance where it is billed by credits. */
const metered = async (changes: BillingChanges, balance?: number) => {
  const world = await withTemplate();
  await changeBilling(world.deps, TEAM, changes, causeAt(world), nothingUsed);
  if (balance !== undefined)
    await world.deps.credits.reserve(
      TEAM,
      'batch-before' as StreamName,
      { emails: 1_000 - balance, attachments: 0 },
      causeAt(world),
    );
  return world;
};

const balance = async ({ credits }: CommandNeeds): Promise<number | null> =>
  (await credits.quote(TEAM)).creditsRemaining;

const creditsEvents = async (world: World): Promise<readonly CreditsEvent[]> =>
  (await world.events(CREDITS)) as readonly CreditsEvent[];

const codes = (ends: readonly PromiseSettledResult<unknown>[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const end of ends) {
    const code =
      end.status === 'fulfilled' ? 'sent' : end.reason instanceof DomainError ? end.reason.code : String(end.reason);
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
};

void t.test('a team that is not metered has no stream of credits', async (t) => {
  const world = await withTemplate();
  const { body } = await world.commands.sendEmail(caller, simple());
  t.strictSame(await world.events(CREDITS), []);
  const [queued] = await world.events(emailStream(body.id as EmailId));
  t.notOk(queued?.type === 'EmailQueued' && 'charged' in queued.data);
  t.equal((await world.deps.credits.quote(TEAM)).creditsRemaining, null);
  t.equal(
    await world.deps.credits.reserve(TEAM, 'batch-1' as StreamName, { emails: 5, attachments: 0 }, causeAt(world)),
    undefined,
  );
});

void t.test('an email takes one credit before it is there, and says so', async (t) => {
  const world = await metered({ billing: 'credits' });
  t.equal(await balance(world.deps), 1_000, 'the credits of the signup');
  const { body } = await world.commands.sendEmail(caller, simple());
  t.equal(await balance(world.deps), 999);
  const [queued] = await world.events(emailStream(body.id as EmailId));
  t.match(queued?.data, {
    charged: { reference: `email-${body.id}`, month: '2030-01', isByCredits: true, emails: 1, attachments: 0 },
  });
  const stored = world.store.events.filter(({ stream }) => stream === CREDITS || stream === `email-${body.id}`);
  t.ok(
    stored.findIndex(({ type }) => type === 'CreditsReserved.v1') <
      stored.findIndex(({ type }) => type === 'EmailQueued.v1'),
  );
  t.match(JSON.parse(stored.find(({ type }) => type === 'CreditsReserved.v1')!.metadata), {
    correlationId: 'request-1',
  });
});

void t.test('200 senders at the edge: exactly as many are accepted as there are credits', async (t) => {
  const world = await metered({ billing: 'credits' }, 120);
  const ends = await Promise.allSettled(Array.from({ length: 200 }, () => world.commands.sendEmail(caller, simple())));
  t.strictSame(codes(ends), { sent: 120, QUOTA_EXCEEDED: 80 });
  t.equal(await balance(world.deps), 0);
});

void t.test('the same in three processes at once', async (t) => {
  const world = await metered({ billing: 'credits' }, 120);
  const processes = [world.deps, world.elsewhere(), world.elsewhere()];
  const ends = await Promise.allSettled(
    Array.from({ length: 201 }, (_, index) => sendEmail(processes[index % 3]!, caller, simple())),
  );
  t.strictSame(codes(ends), { sent: 120, QUOTA_EXCEEDED: 81 });
  for (const deps of processes) t.equal(await balance(deps), 0);
});

void t.test('200 senders at the edge of a plan', async (t) => {
  const world = await metered({ billing: 'plan', plan: 'free', emailsPerMonth: 50 });
  const ends = await Promise.allSettled(Array.from({ length: 200 }, () => world.commands.sendEmail(caller, simple())));
  t.strictSame(codes(ends), { sent: 50, QUOTA_EXCEEDED: 150 });
  const quota = await world.deps.credits.quote(TEAM);
  t.strictSame(quota.emailQuota, { used: 50, limit: 50, remaining: 0 });
  t.match(quota.wouldRefuse({ emails: 1, attachments: 0 }), { code: 'QUOTA_EXCEEDED' });
  t.match(quota.wouldRefuse({ emails: 1, attachments: 0 })?.details.relatedInfo, {
    of: 'quota',
    needed: 1,
    remaining: 0,
    limit: 50,
    resetsAt: '2030-02-01T00:00:00.000Z',
  });
  await world.clock.set(Date.parse('2030-02-01T00:00:00.000Z'));
  await t.resolves(world.commands.sendEmail(caller, simple()), 'the next month has its own quota');
});

void t.test('credits that another process grants are there for the next call', async (t) => {
  const world = await metered({ billing: 'credits' }, 0);
  await t.rejects(world.commands.sendEmail(caller, simple()), { code: 'QUOTA_EXCEEDED' });
  await world.elsewhere().credits.change(TEAM, { type: 'Grant', at: T0, credits: 1 }, causeAt(world));
  await t.resolves(world.commands.sendEmail(caller, simple()));
});

void t.test(
  'a team that cannot pay for documents is refused before they are made, and one that was granted credits elsewhere is not',
  async (t) => {
    const world = await metered({ billing: 'credits' }, 2);
    const generator = recordingGenerator();
    const commands = commandsOfTest({ ...world.deps, generator });
    await commands.createAttachmentTemplate(caller, {
      ...attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>Bill</p>' }], {
        schema: { outputFormats: ['pdf', 'excel'] },
      }),
      ...{ slug: 'bill', name: 'bill', publish: true },
    } as never);
    const send = () =>
      commands.sendEmail(
        caller,
        simple({ attachments: [{ attachmentTemplateId: 'bill', outputFormats: ['pdf', 'excel'] }] }),
      );
    await t.rejects(send(), { code: 'QUOTA_EXCEEDED', details: { relatedInfo: { needed: 3, remaining: 2 } } });
    t.same(generator.made, []);
    await world.elsewhere().credits.change(TEAM, { type: 'Grant', at: T0, credits: 1 }, causeAt(world));
    await send();
    t.equal(generator.made.length, 2);
    t.equal(await balance(world.deps), 0);
  },
);

void t.test('an email that certainly does not come to be gives its credit back', async (t) => {
  const world = await metered({ billing: 'credits' });
  world.store.beforeAppend((stream) => {
    if (stream.startsWith('email-')) throw new Error('disk full');
  });
  await t.rejects(world.commands.sendEmail(caller, simple()), /disk full/);
  world.store.beforeAppend(undefined);
  t.equal(await balance(world.deps), 1_000);
});

void t.test(
  'where the program dies between reservation and email, the due work returns the credit and the email never comes',
  async (t) => {
    const world = await metered({ billing: 'credits' });
    let letGo: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let isHeld: () => void = () => {};
    const reached = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    let frozen: string | undefined;
    world.store.beforeAppend(async (stream) => {
      if (!stream.startsWith('email-') || frozen !== undefined) return;
      frozen = stream;
      isHeld();
      await held;
    });
    const late = world.commands.sendEmail(caller, simple());
    await reached;
    const other = world.elsewhere();
    await other.credits.settle(TEAM, causeAt(world));
    t.equal(await balance(other), 999, 'not before its time');
    await world.clock.advance(60_000);
    await other.credits.settle(TEAM, causeAt(world));
    t.equal(await balance(other), 1_000);
    letGo();
    await t.rejects(late, 'a process that wakes up after that cannot append it any more');
    t.equal(await balance(other), 1_000, 'nor is it given back twice');
    await other.credits.settle(TEAM, causeAt(world));
    t.equal(await balance(other), 1_000);
  },
);

void t.test('a call under an Idempotency-Key that is repeated after a crash is charged once', async (t) => {
  const world = await metered({ billing: 'credits' });
  const key = { key: 'order-1', body: simple() };
  world.store.beforeAppend((stream) => {
    if (stream.startsWith('email-')) throw new Error('killed');
  });
  await t.rejects(world.commands.sendEmail(caller, simple(), key), /killed/);
  world.store.beforeAppend(undefined);
  t.equal(await balance(world.deps), 999, 'another call of the key may make it at this moment');
  const { body } = await sendEmail(world.elsewhere(), caller, simple(), key);
  t.equal(await balance(world.deps), 999);
  await world.clock.advance(60_000);
  await world.deps.credits.settle(TEAM, causeAt(world));
  t.equal(await balance(world.deps), 999, 'it is there');
  t.equal((await sendEmail(world.elsewhere(), caller, simple(), key)).body.id, body.id);
});

void t.test('a key whose reservation was returned makes another email', async (t) => {
  const world = await metered({ billing: 'credits' });
  const key = { key: 'order-1', body: simple() };
  world.store.beforeAppend((stream) => {
    if (stream.startsWith('email-')) throw new Error('killed');
  });
  await t.rejects(world.commands.sendEmail(caller, simple(), key), /killed/);
  world.store.beforeAppend(undefined);
  await world.clock.advance(60_000);
  await world.deps.credits.settle(TEAM, causeAt(world));
  t.equal(await balance(world.deps), 1_000);
  const first = await world.commands.sendEmail(caller, simple(), key);
  t.equal(await balance(world.deps), 999);
  const again = await world.commands.sendEmail(caller, simple(), key);
  t.strictSame([again.body, again.replayed], [first.body, true]);
  t.equal(await balance(world.deps), 999);
});

void t.test('a part of a batch is given back once, however long ago it was reserved', async (t) => {
  const world = await metered({ billing: 'credits' });
  const batch = 'batch-1' as StreamName;
  const { credits } = world.deps;
  await credits.reserve(TEAM, batch, { emails: 100, attachments: 100 }, causeAt(world));
  await credits.reserve(TEAM, batch, { emails: 100, attachments: 100 }, causeAt(world));
  t.equal(await balance(world.deps), 800);
  await credits.giveBack(TEAM, batch, 'rest', { emails: 10, attachments: 10 }, causeAt(world));
  await credits.giveBack(TEAM, batch, 'rest', { emails: 10, attachments: 10 }, causeAt(world));
  t.equal(await balance(world.deps), 820);
  await world.clock.advance(25 * 60 * 60_000);
  // The batch never came to be, so a day later all that is left of it is returned.
  await credits.settle(TEAM, causeAt(world));
  t.equal(await balance(world.deps), 1_000);
  await world.elsewhere().credits.giveBack(TEAM, batch, 'rest', { emails: 10, attachments: 10 }, causeAt(world));
  t.equal(await balance(world.deps), 1_000);
});

void t.test('cancelled emails are returned in the order of the log, as often as they are told', async (t) => {
  const world = await metered({ billing: 'credits' });
  const later = { scheduledAt: '2030-01-05T00:00:00.000Z' };
  const sent = [
    await world.commands.sendEmail(caller, simple(later)),
    await world.commands.sendEmail(caller, simple(later)),
  ];
  const told: (() => Promise<void>)[] = [];
  for (const { body } of sent) {
    await world.commands.deleteEmail(caller, body.id as EmailId);
    const stream = emailStream(body.id as EmailId);
    const recorded = await world.deps.eventLog.load(stream);
    const [first] = recorded;
    if (first?.event.type !== 'EmailScheduled') throw new Error('it is not scheduled');
    const { charged } = first.event.data;
    const { position } = recorded.find(({ event }) => event.type === 'EmailCancelled')!;
    const cancellation = { part: body.id, fact: stream, position };
    told.push(() => world.deps.credits.returnCancelled(TEAM, charged!, cancellation, causeAt(world)));
  }
  await told[0]!();
  t.equal(await balance(world.deps), 999);
  await told[0]!();
  t.equal(await balance(world.deps), 999);
  await told[1]!();
  await told[0]!();
  await told[1]!();
  t.equal(await balance(world.deps), 1_000);
});

void t.test('a long stream is read from its last carried sums, and states agree with the whole stream', async (t) => {
  const world = await metered({ billing: 'credits' });
  const { credits } = world.deps;
  await credits.change(TEAM, { type: 'Buy', at: T0, blocks: 1 }, causeAt(world));
  for (let round = 0; round < 5; round += 1) {
    const references = Array.from({ length: 500 }, (_, index) => `email-${round}-${index}` as StreamName);
    await Promise.all(
      references.map((reference) => credits.reserve(TEAM, reference, { emails: 1, attachments: 0 }, causeAt(world))),
    );
  }
  const events = await creditsEvents(world);
  const whole = noCredits();
  for (const event of events) advanceCredits(whole, event);
  t.equal(balanceOf(whole.sums), 8_500);
  t.equal(await balance(world.elsewhere()), 8_500);
  t.equal(await balance(world.deps), 8_500);
  t.equal(events.filter(({ type }) => type === 'CreditsCarried').length, 2);
});

void t.test('an answer that is lost charges once', { skip: onDistantPorts() }, async (t) => {
  const world = await metered({ billing: 'credits' });
  world.store.loseAnswers(['written', 'not written']);
  await t.resolves(world.commands.sendEmail(caller, simple()));
  t.equal(await balance(world.deps), 999);
});

void t.test('a team that is not metered is granted nothing, and a plan needs a name', async (t) => {
  const world = await withTemplate();
  await t.rejects(world.deps.credits.change(TEAM, { type: 'Grant', at: T0, credits: 5 }, causeAt(world)), {
    code: 'TEAM_NOT_METERED',
  });
  await t.rejects(changeBilling(world.deps, TEAM, { billing: 'plan' }, causeAt(world), nothingUsed), {
    code: 'VALIDATION_ERROR',
  });
});

void t.test('a team that becomes metered begins with what it has used of the month', async (t) => {
  const world = await withTemplate();
  let used = 0;
  const send = async (): Promise<void> => {
    await world.commands.sendEmail(caller, simple());
    used += 1;
  };
  for (let sent = 0; sent < 4; sent += 1) await send();
  const months: string[] = [];
  const usedInMonth = async (month: string) => {
    months.push(month);
    return { emails: used, attachments: 0 };
  };
  const bill = (changes: BillingChanges) => changeBilling(world.deps, TEAM, changes, causeAt(world), usedInMonth);
  await t.rejects(bill({ billing: 'plan' }), { code: 'VALIDATION_ERROR' });
  t.strictSame(await world.events(CREDITS), [], 'a change that is refused counts nothing');
  await bill({ billing: 'plan', plan: 'free', emailsPerMonth: 5 });
  t.strictSame([...new Set(months)], ['2030-01']);
  t.strictSame((await world.deps.credits.quote(TEAM)).emailQuota, { used: 4, limit: 5, remaining: 1 });
  await send();
  await t.rejects(world.commands.sendEmail(caller, simple()), { code: 'QUOTA_EXCEEDED' });

  await bill({ billing: 'unmetered' });
  await send();
  await bill({ billing: 'plan', emailsPerMonth: 7 });
  t.strictSame(
    (await world.deps.credits.quote(TEAM)).emailQuota,
    { used: 6, limit: 7, remaining: 1 },
    'as often as it becomes metered',
  );
  const asked = months.length;
  await bill({ billing: 'credits' });
  t.equal(months.length, asked, 'a team that was metered has counted all along');
  t.equal(await balance(world.deps), 1_000, 'what was sent unmetered takes no credits');
});

void t.test('what is sent unmetered while the change is made counts too', async (t) => {
  const world = await withTemplate();
  let asked = 0;
  // Ten of them are accepted between the first look and the moment from which every process bills.
  const usedInMonth = async () => ({ emails: (asked += 1) === 1 ? 20 : 30, attachments: 0 });
  await changeBilling(
    world.deps,
    TEAM,
    { billing: 'plan', plan: 'free', emailsPerMonth: 30 },
    causeAt(world),
    usedInMonth,
  );
  t.strictSame((await world.deps.credits.quote(TEAM)).emailQuota, { used: 30, limit: 30, remaining: 0 });
});
