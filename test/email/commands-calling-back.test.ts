/** Emails that have not left: another time, or their end; what was asked twice, and what comes at the same moment. */
import t from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { assertDefined, emailStream, parseEmailId, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { caller, simple, stranger, withTemplate, type World } from '../support/command-world.js';
import { DAY_MS, HOST } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';

const idOf = (id: string): EmailId => assertDefined(parseEmailId(id), 'email id');
const inDays = ({ clock }: World, days: number): string => isoTime(clock.now() + days * DAY_MS);
const schedule = async (world: World, days: number, more: Parameters<typeof simple>[0] = {}): Promise<EmailId> =>
  idOf((await world.commands.sendEmail(caller, simple({ ...more, scheduledAt: inDays(world, days) }))).body.id);
const queue = async (world: World): Promise<EmailId> =>
  idOf((await world.commands.sendEmail(caller, simple())).body.id);

const attempt = (world: World, id: EmailId) =>
  handle(
    world.deps.eventLog,
    emailStream(id),
    emailDecider,
    {
      type: 'AttemptDelivery',
      at: isoTime(world.clock.now()),
      host: HOST,
      worker: 'w',
      deadlineAt: isoTime(world.clock.now() + 600_000),
      workerGone: false,
    },
    causeOf(world.deps, caller),
  );

const typesOf = (world: World, id: EmailId): readonly string[] =>
  world.store.events.filter(({ stream }) => stream === emailStream(id)).map(({ type }) => type.split('.')[0]!);

void t.test('a scheduled email gets another time; the answer and the record say which', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10);
  const scheduledAt = inDays(world, 20);
  const answer = await world.commands.rescheduleEmail(caller, id, { scheduledAt });
  t.match(answer, {
    id,
    status: 'scheduled',
    scheduledAt,
    estimatedDeliveryAt: isoTime(Date.parse(scheduledAt) + 5_000),
  });
  t.match(await world.commands.getEmail(caller, id), { status: 'scheduled', scheduledAt, cancelledAt: null });
  const before = world.store.events.length;
  t.same(await world.commands.rescheduleEmail(caller, id, { scheduledAt }), answer);
  t.equal(world.store.events.length, before, 'the same time again is no event');
  const withZone = `${isoTime(Date.parse(scheduledAt) + 2 * 3_600_000).slice(0, -1)}+02:00`;
  t.same(
    await world.commands.rescheduleEmail(caller, id, { scheduledAt: withZone }),
    answer,
    'in whatever zone it is written',
  );
  await refusedWith(t, world.commands.rescheduleEmail(stranger, id, { scheduledAt }), 'EMAIL_NOT_FOUND');
  await refusedWith(
    t,
    world.commands.rescheduleEmail(caller, await queue(world), { scheduledAt }),
    'EMAIL_NOT_SCHEDULED',
  );
});

void t.test('a time that cannot be is refused, on sending and later, and one that can be is exact', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10);
  const wrong: readonly (readonly [string, RegExp])[] = [
    [isoTime(world.clock.now()), /in the past/],
    [inDays(world, -1), /in the past/],
    [inDays(world, 2 * 365), /more than 365 days ahead/],
    [inDays(world, 365.001), /more than 365 days ahead/],
    ['soon', /not a moment/],
  ];
  for (const [scheduledAt, message] of wrong) {
    for (const call of [
      world.commands.rescheduleEmail(caller, id, { scheduledAt }),
      world.commands.sendEmail(caller, simple({ scheduledAt })),
    ]) {
      const { details } = await refusedWith(t, call, 'VALIDATION_ERROR');
      t.match(details.errors, [{ field: 'scheduledAt', message }]);
    }
  }
  const year = new Date(world.clock.now()).getUTCFullYear();
  const right: readonly (readonly [string, string])[] = [
    [inDays(world, 365), inDays(world, 365)],
    // On the night when clocks go from 01:59:59 to 03:00:00 the offset selects the moment.
    [`${year}-03-28T02:30:00+01:00`, `${year}-03-28T01:30:00.000Z`],
    [`${year}-06-30T23:59:60Z`, `${year}-07-01T00:00:00.000Z`],
    [`${year}-06-30T23:59:60.25Z`, `${year}-07-01T00:00:00.250Z`],
    [`${year}-06-30T12:00:00.1239Z`, `${year}-06-30T12:00:00.123Z`],
  ];
  for (const [given, scheduledAt] of right) {
    t.match(await world.commands.rescheduleEmail(caller, id, { scheduledAt: given }), { scheduledAt });
    const { body } = await world.commands.sendEmail(caller, simple({ scheduledAt: given }));
    t.match(await world.commands.getEmail(caller, idOf(body.id)), { scheduledAt });
  }
});

void t.test('the subject says the date of the new time', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10, { subject: 'Of {{__CURRENT_DATE__}}' });
  const first = (await world.commands.getEmail(caller, id)).subject!;
  await world.commands.rescheduleEmail(caller, id, { scheduledAt: inDays(world, 40) });
  const { subject } = await world.commands.getEmail(caller, id);
  t.match(subject, /^Of ./);
  t.not(subject, first);
});

void t.test('a cancelled email does not leave; the call may be repeated under its key', async (t) => {
  const world = await withTemplate();
  const id = await schedule(world, 10);
  const key = { key: 'cancel-1', body: null };
  const both = await Promise.all([
    world.commands.cancelEmail(caller, id, key),
    world.commands.cancelEmail(caller, id, key),
  ]);
  t.same(both.map(({ replayed }) => replayed).sort(), [false, true]);
  t.same(both[0]!.body, both[1]!.body);
  t.match(both[0]!.body, { id, status: 'cancelled', cancelledAt: isoTime(world.clock.now()) });
  t.same(await world.commands.cancelEmail(caller, id, key), { body: both[0]!.body, replayed: true });
  t.match(await world.commands.getEmail(caller, id), {
    status: 'cancelled',
    cancelledAt: isoTime(world.clock.now()),
    recipients: [{ status: 'cancelled' }],
  });
  await refusedWith(t, world.commands.cancelEmail(caller, id), 'EMAIL_NOT_CANCELLABLE');
  await refusedWith(
    t,
    world.commands.cancelEmail(caller, id, { key: 'cancel-2', body: null }),
    'EMAIL_NOT_CANCELLABLE',
  );
  await refusedWith(
    t,
    world.commands.cancelEmail(caller, id, { key: 'cancel-1', body: { other: 1 } }),
    'IDEMPOTENCY_KEY_REUSED',
  );
  await refusedWith(
    t,
    world.commands.rescheduleEmail(caller, id, { scheduledAt: inDays(world, 1) }),
    'EMAIL_NOT_SCHEDULED',
  );
  await refusedWith(t, world.commands.retryEmail(caller, id), 'EMAIL_NOT_RETRYABLE');
  await refusedWith(t, world.commands.cancelEmail(stranger, id), 'EMAIL_NOT_FOUND');
  t.same(await world.commands.deleteEmail(caller, id), { id, deleted: true });
  await refusedWith(t, world.commands.cancelEmail(caller, id, key), 'EMAIL_NOT_FOUND');
});

void t.test('a cancel and an attempt in the same moment: exactly one of them happens', async (t) => {
  const world = await withTemplate();
  const ends = new Set<string>();
  for (let round = 0; round < 40; round += 1) {
    const id = await queue(world);
    const cancelling = (): Promise<unknown> => world.commands.cancelEmail(caller, id).catch((fault: unknown) => fault);
    const attempting = (): Promise<unknown> => attempt(world, id);
    await Promise.all(round % 2 === 0 ? [cancelling(), attempting()] : [attempting(), cancelling()]);
    const types = typesOf(world, id);
    t.equal(types.length, 2, types.join());
    ends.add(types[1]!);
  }
  t.same([...ends].sort(), ['DeliveryAttempted', 'EmailCancelled'], 'each was faster once');
});

void t.test('a new time and the release in the same moment: it leaves at once, or at the new time', async (t) => {
  const world = await withTemplate();
  for (let round = 0; round < 10; round += 1) {
    const id = await schedule(world, 1);
    await world.clock.advance(DAY_MS);
    const release = handle(
      world.deps.eventLog,
      emailStream(id),
      emailDecider,
      { type: 'ReleaseEmail', at: isoTime(world.clock.now()) },
      causeOf(world.deps, caller),
    );
    const moved = world.commands
      .rescheduleEmail(caller, id, { scheduledAt: inDays(world, 2) })
      .catch((fault: unknown) => fault);
    await Promise.all([release, moved]);
    t.equal(typesOf(world, id).length, 2);
    t.match((await moved) instanceof Error, (await world.commands.getEmail(caller, id)).status === 'queued');
  }
});
