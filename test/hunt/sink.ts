/** The host that all mail goes to. It remembers every dialogue and draws what becomes of each recipient. */
import type { Mailer, OutgoingMessage, RecipientOutcome, RecipientResult } from '../../src/domain/ports/mailer.js';
import { HOST, said } from '../support/email-facts.js';
import { mailerBy } from '../support/mailers.js';
import type { Network } from '../support/distant/network.js';
import type { Machine, Scheduler } from '../support/distant/scheduler.js';

export type Dialogue = {
  readonly machine: Machine;
  readonly worker: string;
  readonly messageId: string;
  readonly startMs: number;
  readonly accepted: string[];
  /** The sender had gone before the answer came. */
  isAbandoned: boolean;
};

export type Sink = Readonly<{
  dialogues: Dialogue[];
  /** Messages by recipient: `messageId recipient`. */
  arrived: ReadonlyMap<string, Dialogue>;
  /** Recipients that got a message twice, though the process that had delivered it before was well. */
  doubles: string[];
  /** From now on every recipient is accepted at once. */
  acceptAll: () => void;
  mailerOf: (network: Network, worker: string) => Mailer;
}>;

/** How the host treats recipients: the share of each result. */
const shares: readonly (readonly [RecipientResult, number])[] = [
  ['accepted', 0.72],
  ['deferred', 0.14],
  ['bounced', 0.07],
  ['refused', 0.07],
];

/**
 * `hasLost`: whether the process of a dialogue has lost its hold on it since: then its end may be unknown, and a second
 * one is no fault.
 */
export const makeSink = (scheduler: Scheduler, hasLost: (dialogue: Dialogue) => boolean): Sink => {
  const dialogues: Dialogue[] = [];
  const byRecipient = new Map<string, Dialogue>();
  const doubles: string[] = [];
  let acceptsAll = false;

  const draw = (): RecipientResult => {
    let drawn = acceptsAll ? 0 : scheduler.random.next();
    return shares.find(([, share]) => (drawn -= share) < 0)?.[0] ?? 'accepted';
  };

  /** Most hosts answer at once, some take their time. */
  const durationMs = (): number =>
    acceptsAll || scheduler.random.chance(0.85) ? 5 : scheduler.random.between(100, 20_000);

  const receive = (dialogue: Dialogue, { messageId, envelope }: OutgoingMessage): readonly RecipientOutcome[] =>
    envelope.to.map((recipient) => {
      const key = `${messageId} ${recipient}`;
      const before = byRecipient.get(key);
      // The dialogue that began first may be heard last.
      const earlier = before !== undefined && before.startMs > dialogue.startMs ? dialogue : before;
      if (before !== undefined && earlier !== undefined && !earlier.isAbandoned && !hasLost(earlier))
        doubles.push(
          `${key}: at ${before.startMs} by ${before.machine.name} and at ${dialogue.startMs} by ${dialogue.machine.name}`,
        );
      const result = draw();
      if (result === 'accepted') {
        dialogue.accepted.push(recipient);
        byRecipient.set(key, dialogue);
      }
      return said(result);
    });

  const send = (
    network: Network,
    worker: string,
    message: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<readonly RecipientOutcome[]> =>
    new Promise((resolve) => {
      const { machine } = network;
      const dialogue: Dialogue = {
        machine,
        worker,
        messageId: message.messageId,
        startMs: scheduler.now(),
        accepted: [],
        isAbandoned: false,
      };
      dialogues.push(dialogue);
      const abandon = (): void => {
        dialogue.isAbandoned = true;
        resolve(message.envelope.to.map(() => ({ ...said('deferred'), rule: 'aborted' })));
      };
      if (signal.aborted) return abandon();
      signal.addEventListener('abort', abandon, { once: true });
      scheduler.at(scheduler.now() + durationMs(), undefined, () => {
        const outcomes = receive(dialogue, message);
        scheduler.travel(machine, () => {
          signal.removeEventListener('abort', abandon);
          resolve(outcomes);
        });
      });
    });

  return {
    dialogues,
    arrived: byRecipient,
    doubles,
    acceptAll: () => {
      acceptsAll = true;
    },
    mailerOf: (network, worker) =>
      mailerBy(async (message, signal) => ({
        host: HOST,
        durationMs: 1,
        recipients: await send(network, worker, message, signal),
      })),
  };
};
