/** How much one network may take, and that networks of before are forgotten. */
import t from 'tap';
import { openNetworkLimits } from '../../../src/adapters/feedback/smtp-listener.js';
import { fakeClock } from '../../support/fake-clock.js';

const bounds = { connectionsMax: 2, connectionsPerMinute: 4, commandsPerMinute: 3, messagesPerMinute: 1 };

void t.test('each network has its own minute, and the connections that are open count beyond it', async (t) => {
  const clock = fakeClock();
  const limits = openNetworkLimits(clock, bounds);
  t.ok(limits.open('192.0.2.1'));
  t.ok(limits.open('::ffff:192.0.2.1'), 'the same');
  t.notOk(limits.open('192.0.2.1'), 'two are open');
  t.ok(limits.open('192.0.2.2'));
  limits.close('192.0.2.1');
  t.ok(limits.open('192.0.2.1'));
  limits.close('192.0.2.1');
  t.notOk(limits.open('192.0.2.1'), 'the fifth of this minute');
  t.same(
    [1, 2, 3, 4].map(() => limits.mayCommand('2001:db8::1')),
    [true, true, true, false],
  );
  t.notOk(limits.mayCommand('2001:db8::2'), 'one /64');
  t.ok(limits.mayCommand('2001:db8:0:1::2'));
  t.ok(limits.mayMessage('192.0.2.1'));
  t.notOk(limits.mayMessage('192.0.2.1'));
  await clock.advance(60_000);
  t.ok(limits.mayMessage('192.0.2.1'));
  t.ok(limits.open('192.0.2.1'));
  t.notOk(limits.open('192.0.2.1'), 'one of before is open still');
});

void t.test('networks that are not connected are forgotten after their minute', async (t) => {
  const clock = fakeClock();
  const limits = openNetworkLimits(clock, bounds);
  t.ok(limits.open('192.0.2.1'));
  for (let index = 0; index < 5_000; index += 1) limits.mayMessage(`198.51.${index >> 8}.${index & 255}`);
  await clock.advance(60_000);
  limits.mayMessage('203.0.113.1');
  t.equal(limits.size(), 2, 'that one, and the one that is connected');
});
