/** Mailers of tests, and mailers as tests use them: one message in, one outcome out. */
import type { DeliveryOutcome, Mailer, OutgoingMessage } from '../../src/domain/ports/mailer.js';
import type { Priority } from '../../src/domain/ports/bus.js';
import { HOST, said } from './email-facts.js';

export type SendMessage = (message: OutgoingMessage, signal: AbortSignal) => Promise<DeliveryOutcome> | DeliveryOutcome;

/** It has a connection for every message at once. */
export const mailerBy = (send: SendMessage, more: Partial<Mailer> = {}): Mailer => ({
  final: false,
  host: HOST,
  send: async ({ signal, begin, end }) => {
    if (signal.aborted) return { kind: 'given-up' };
    const dialogue = await begin();
    if (dialogue === undefined) return { kind: 'not-wanted' };
    await end(await send(dialogue.message, dialogue.signal));
    return { kind: 'ended' };
  },
  probe: async () => true,
  close: async () => {},
  ...more,
});

export type SendOptions = Readonly<{ signal: AbortSignal; priority?: Priority }>;

/** Sends that message and resolves with its result; the signal ends the waiting and the dialogue. A message that never had a connection has `given-up` as its rule. */
export const sendBy = async (
  mailer: Mailer,
  message: OutgoingMessage,
  { signal, priority = 'normal' }: SendOptions,
): Promise<DeliveryOutcome> => {
  let ended: DeliveryOutcome | undefined;
  const delivered = await mailer.send({
    priority,
    signal,
    begin: async () => ({ message, signal }),
    end: async (outcome) => void (ended = outcome),
  });
  const all = (fault: DeliveryOutcome['recipients'][number]) => message.envelope.to.map(() => fault);
  switch (delivered.kind) {
    case 'ended':
      if (ended === undefined) throw new Error('it has ended without an outcome');
      return ended;
    case 'host-away':
      return { host: mailer.host, durationMs: 0, recipients: all(delivered.fault), hostAway: true };
    case 'given-up':
    case 'not-wanted':
      return {
        host: mailer.host,
        durationMs: 0,
        recipients: all({ ...said('deferred'), replyCode: null, enhancedCode: null, rule: delivered.kind }),
      };
  }
};
