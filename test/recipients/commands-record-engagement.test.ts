/** An open or click is recorded once, even if the answer of the append is lost. */
import t from 'tap';
import { openEngagementRecorder } from '../../src/commands/recipients/engagement-recorder.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { AppendUnknown } from '../../src/domain/core/errors.js';
import { assertDefined, emailStream, parseEmailId } from '../../src/domain/core/ids.js';
import { openEventLog, startOf } from '../../src/event-log/event-log.js';
import { caller, openWorld } from '../support/command-world.js';
import { accepted, content, EMAIL_ID } from '../support/email-facts.js';
import { memoryLog } from '../support/memory-ports.js';
import { eventually } from '../support/wait.js';

const emailId = assertDefined(parseEmailId(EMAIL_ID), 'email id');

/** Fates of the append whose answer is lost. */
const fates = ['written', 'later', 'never', 'overtaken'] as const;

for (const fate of fates)
  void t.test(`an open whose answer was lost is recorded once: ${fate}`, async (t) => {
    const world = await openWorld();
    const stream = emailStream(emailId);
    const { append, load } = world.deps.eventLog;
    const data = { ...accepted, tracking: { opens: true, clicks: true, url: 'https://mail.example.com' } };
    const cause = causeOf(world.deps, caller);
    await append(stream, startOf(stream), [{ type: 'EmailQueued', data, sealed: content }], cause);
    const late: (() => Promise<unknown>)[] = [];
    let isFirst = true;
    const losing: typeof append = async (stream, version, events, cause) => {
      if (!isFirst) {
        for (const write of late.splice(0)) await write();
        return append(stream, version, events, cause);
      }
      isFirst = false;
      const eventIds = events.map((_, index) => `0b9c2f5e-6d1a-4c0e-9f3b-00000000000${index}`);
      const ids = eventIds.values();
      const written = openEventLog({
        ...world.deps,
        store: world.store,
        keys: world.keys,
        ids: { ...world.deps.ids, uuid: () => ids.next().value! },
      });
      const write = () => written.append(stream, version, events, cause);
      if (fate === 'written') await write();
      if (fate === 'later') late.push(write);
      if (fate === 'overtaken')
        late.push(() =>
          append(stream, version, [{ type: 'EmailReleased', data: { at: data.at, priority: 'normal' } }], cause),
        );
      throw new AppendUnknown(stream, new Error('lost'), { after: version.revision, eventIds });
    };
    const recorder = openEngagementRecorder({
      ...world.deps,
      eventLog: { ...world.deps.eventLog, append: losing },
      clock: world.clock,
      logger: memoryLog(),
    });
    const stop = new AbortController();
    const running = recorder.worker.run(stop.signal);
    const open = () =>
      recorder.note({ emailId, recipient: 0, userAgent: 'Mozilla/5.0', ipAddress: '192.0.2.7', requestId: 'r' });
    const opened = async () =>
      (await load(stream)).flatMap(({ event }) => (event.type === 'EmailOpened' ? [event.data.times ?? 1] : []));
    open();
    await world.clock.whenWaiting(1);
    open();
    t.equal(recorder.waiting(), 1);
    await eventually('it is recorded', async () => {
      await world.clock.advance(1_000);
      return recorder.waiting() === 0;
    });
    stop.abort();
    await running;
    const times = await opened();
    t.equal(
      times.reduce((sum, count) => sum + count, 0),
      2,
      `each open once: ${times.join(', ')}`,
    );
  });
