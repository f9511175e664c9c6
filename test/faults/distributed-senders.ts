/** A steady load of sends, each repeated under its key at any process until it is answered 201. */
import { sendBody } from '../support/app.js';
import type { Random } from '../support/random.js';
import { seededRandom } from '../support/random.js';
import { pause } from '../support/wait.js';

export type AcceptedSend = Readonly<{ id: string; messageId: string; acceptedMs: number }>;

export type Senders = Readonly<{
  /** Every 201, by the id of its email. */
  accepted: ReadonlyMap<string, AcceptedSend>;
  counts: () => Readonly<{ calls: number; repeated: number; refused: number; lost: number }>;
  /** Answers that may never occur. */
  faults: readonly string[];
  /** Begins nothing new, and resolves when each call that was begun has its 201. */
  end: () => Promise<void>;
}>;

export type SendersOptions = Readonly<{
  senders: number;
  /** Between two calls of a sender, at the mean. */
  pauseMs: number;
  seed: number;
  apiKey: string;
  /** The processes that take calls at this moment. */
  bases: () => readonly string[];
}>;

const ANSWER_WITHIN_MS = 30_000;
const REPEAT_AFTER_MS = 200;
/**
 * A call may be refused while a server is away, and while many are under way; its outcome may be open where a server
 * goes away as it writes.
 */
const mayBe = (status: number, text: string): boolean =>
  [429, 503].includes(status) || text.includes('"OUTCOME_UNKNOWN"');

export const startSenders = ({ senders, pauseMs, seed, apiKey, bases }: SendersOptions): Senders => {
  const accepted = new Map<string, AcceptedSend>();
  const faults: string[] = [];
  const counts = { calls: 0, repeated: 0, refused: 0, lost: 0 };
  let isEnding = false;

  /** Out: the answer's text, undefined where it was not 201. */
  const call = async (random: Random, key: string, body: string): Promise<string | undefined> => {
    const there = bases();
    if (there.length === 0) return undefined;
    counts.calls += 1;
    try {
      const response = await fetch(`${random.pick(there)}/api/emails/send`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': key },
        body,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const text = await response.text();
      if (response.status === 201) return text;
      counts.refused += 1;
      if (!mayBe(response.status, text)) faults.push(`a send call was answered ${response.status} ${text}`);
    } catch {
      counts.lost += 1;
    }
    return undefined;
  };

  const sendOne = async (random: Random, key: string): Promise<void> => {
    const body = JSON.stringify(
      sendBody({ to: [{ email: `${key}@example.com` }], priority: random.pick(['high', 'normal', 'low']) }),
    );
    for (let tries = 1; ; tries += 1) {
      if (tries > 1) counts.repeated += 1;
      const text = await call(random, key, body);
      if (text === undefined) {
        await pause(REPEAT_AFTER_MS);
        continue;
      }
      const { id, messageId } = JSON.parse(text) as { id: string; messageId: string };
      accepted.set(id, { id, messageId, acceptedMs: performance.now() });
      // An answer may be lost on its way to somebody: repeated, at another process too, it says the same.
      const isRepeated = random.chance(0.1);
      if (isRepeated) counts.repeated += 1;
      const again = isRepeated ? await call(random, key, body) : undefined;
      if (again !== undefined && again !== text) faults.push(`${key} was answered ${text} and then ${again}`);
      return;
    }
  };

  const sender = async (index: number): Promise<void> => {
    const random = seededRandom(seed + 1_000 * (index + 1));
    for (let made = 0; !isEnding; made += 1) {
      await sendOne(random, `s${index}-${made}`);
      await pause(random.between(0, 2 * pauseMs));
    }
  };

  const ended = Promise.all(Array.from({ length: senders }, (_, index) => sender(index)));
  return {
    accepted,
    counts: () => counts,
    faults,
    end: async () => {
      isEnding = true;
      await ended;
    },
  };
};
