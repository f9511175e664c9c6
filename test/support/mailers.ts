/** Mailers of tests, and mailers as tests use them: one message in, one outcome out. */
import type {
  DeliveryOutcome,
  Mailer,
  OutgoingMessage,
  SendMessage as SendOfPort,
} from '../../src/domain/ports/mailer.js';
import type { Priority } from '../../src/domain/ports/bus.js';
import { HOST, said } from './email-facts.js';

export type SendMessage = (...given: Parameters<SendOfPort>) => Promise<DeliveryOutcome> | DeliveryOutcome;

/** It has a connection for every message at once. */
export const mailerBy = (send: SendMessage, more: Partial<Mailer> = {}): Mailer => ({
  final: false,
  host: HOST,
  lend: async ({ signal }, use) =>
    signal.aborted ? { kind: 'given-up' } : { kind: 'used', result: await use(async (...given) => send(...given)) },
  probe: async () => true,
  close: async () => {},
  ...more,
});

export type SendOptions = Readonly<{ signal: AbortSignal; priority?: Priority }>;

/**
 * Sends that message and resolves with its result; the signal ends the waiting and the dialogue. A message that never
 * had a connection has `given-up` as its rule.
 */
export const sendBy = async (
  mailer: Mailer,
  message: OutgoingMessage,
  { signal, priority = 'normal' }: SendOptions,
): Promise<DeliveryOutcome> => {
  const lent = await mailer.lend({ priority, signal }, (send) => send(message, signal));
  const all = (fault: DeliveryOutcome['recipients'][number]) => message.envelope.to.map(() => fault);
  switch (lent.kind) {
    case 'used':
      return lent.result;
    case 'host-away':
      return { host: mailer.host, durationMs: 0, recipients: all(lent.fault), hostAway: true };
    case 'given-up':
      return {
        host: mailer.host,
        durationMs: 0,
        recipients: all({ ...said('deferred'), replyCode: null, enhancedCode: null, rule: lent.kind }),
      };
  }
};
