/** The sums of unread answers. */
import { EventEmitter } from 'node:events';
import t from 'tap';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import { openUnsentAnswers } from '../../src/http/server/connections.js';
import { fakeClock } from '../support/fake-clock.js';

const MB = 1024 * 1024;
const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

const open = () =>
  openUnsentAnswers({
    limits: { ...defaultLimits, networkUnsentBytesMax: 2 * MB, unsentBytesMax: 5 * MB },
    clock: fakeClock(),
    logger: silent,
  });

class Answer extends EventEmitter {
  ended = false;
  destroy(): this {
    this.ended = true;
    this.emit('close');
    return this;
  }
}

void t.test('a network at its bound is told so, whichever of its addresses asks, until it has read', async (t) => {
  const answers = open();
  const [first, second] = [new Answer(), new Answer()];
  answers.add(first as never, '2001:db8::1', MB);
  t.equal(answers.fault('2001:db8::1'), undefined);
  answers.add(second as never, '2001:db8::2', MB);
  t.match(answers.fault('2001:db8::3'), { code: 'RATE_LIMIT_EXCEEDED', details: { retryAfterS: 5 } });
  t.equal(answers.fault('2001:db8:0:1::1'), undefined, 'another network');
  first.emit('close');
  t.equal(answers.fault('2001:db8::3'), undefined);
});

void t.test('small answers are not counted', async (t) => {
  const answers = open();
  for (let index = 0; index < 1_000; index += 1) answers.add(new Answer() as never, '192.0.2.1', 16 * 1024 - 1);
  t.equal(answers.fault('192.0.2.1'), undefined);
});

void t.test('above the bound of all, the network with most loses its oldest answers', async (t) => {
  const answers = open();
  const [small, old, young, newest] = [new Answer(), new Answer(), new Answer(), new Answer()];
  answers.add(small as never, '192.0.2.1', MB);
  answers.add(old as never, '192.0.2.2', 2 * MB);
  answers.add(young as never, '192.0.2.2', 2 * MB);
  answers.add(newest as never, '192.0.2.3', MB);
  t.same([small.ended, old.ended, young.ended, newest.ended], [false, true, false, false]);
});

void t.test('one answer may be larger than the bound', async (t) => {
  const answers = open();
  const [before, huge] = [new Answer(), new Answer()];
  answers.add(before as never, '192.0.2.1', MB);
  answers.add(huge as never, '192.0.2.1', 6 * MB);
  t.same([before.ended, huge.ended], [true, false]);
});
