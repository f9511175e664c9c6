/**
 * The senders of the kill test: they send without a pause, and repeat what was not answered when the server is back.
 */
import { seededRandom, type Random } from '../support/random.js';
import { pause } from '../support/wait.js';

export type Accepted = Readonly<{ id: string; messageId: string; text: string; key: string | undefined }>;

/** `emails`: how many emails a call with several has; undefined for a call with one. */
type Request = { readonly key: string | undefined; readonly body: string; readonly emails?: number; sent: number };

type Result = Readonly<{ id?: string; messageId?: string; status: string }>;

export type Clients = Readonly<{
  /** Every 201, by the id of its email. */
  accepted: ReadonlyMap<string, Accepted>;
  counts: () => Readonly<{ requests: number; repeated: number; lostWithoutKey: number; openWithKey: number }>;
  /** Answers that may never occur: another status than 201, two emails for one key, another answer to a repetition. */
  faults: readonly string[];
  /** Makes no new requests, but goes on with those under a key until each has its answer. */
  drain: () => void;
  /** Resolves when every sender has ended. */
  ended: Promise<void>;
}>;

export type ClientOptions = Readonly<{
  senders: number;
  seed: number;
  apiKey: string;
  /** The address of the server, undefined while it is down. */
  base: () => string | undefined;
  /** True while more is accepted than the sink can be expected to take soon. */
  tooFarAhead: () => boolean;
}>;

const ANSWER_WITHIN_MS = 15_000;
const LOOK_AGAIN_MS = 3;

export const startClients = (options: ClientOptions): Clients => {
  const accepted = new Map<string, Accepted>();
  const emailOfKey = new Map<string, string>();
  const unanswered: Request[] = [];
  const faults: string[] = [];
  let requests = 0;
  let repeated = 0;
  let lostWithoutKey = 0;
  let draining = false;

  const noteEmail = (key: string | undefined, id: string, messageId: string, text: string): void => {
    const before = accepted.get(id);
    if (before !== undefined && (key === undefined || before.text !== text))
      faults.push(`email ${id} was answered twice, differently or without a key`);
    if (key !== undefined && (emailOfKey.get(key) ?? id) !== id)
      faults.push(`one Idempotency-Key made the emails ${emailOfKey.get(key)} and ${id}`);
    if (key !== undefined) emailOfKey.set(key, id);
    accepted.set(id, { id, messageId, text, key });
  };

  const note = (request: Request, status: number, text: string): void => {
    if (status !== 201) return void faults.push(`a send call was answered ${status} ${text}`);
    if (request.emails === undefined) {
      const { id, messageId } = JSON.parse(text) as { id: string; messageId: string };
      return noteEmail(request.key, id, messageId, text);
    }
    const { results } = JSON.parse(text) as { results: readonly Result[] };
    if (results.length !== request.emails) faults.push(`${request.emails} emails have ${results.length} results`);
    for (const [place, { id, messageId = '', ...result }] of results.entries()) {
      const key = request.key === undefined ? undefined : `${request.key} ${place}`;
      if (id === undefined) noteRefused(key, JSON.stringify(result));
      else noteEmail(key, id, messageId, JSON.stringify(results[place]));
    }
  };

  const noteRefused = (key: string | undefined, text: string): void => {
    if (!text.includes('"ERR_TMPL_002"')) faults.push(`an email of a call with several was refused: ${text}`);
    if (key === undefined) return;
    if ((emailOfKey.get(key) ?? text) !== text) faults.push(`${key} was answered ${emailOfKey.get(key)} and ${text}`);
    emailOfKey.set(key, text);
  };

  const post = async (base: string, request: Request): Promise<void> => {
    requests += 1;
    if (request.sent > 0) repeated += 1;
    request.sent += 1;
    try {
      const response = await fetch(`${base}/api/emails/${request.emails === undefined ? 'send' : 'batch'}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${options.apiKey}`,
          'content-type': 'application/json',
          ...(request.key === undefined ? {} : { 'idempotency-key': request.key }),
        },
        body: request.body,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      note(request, response.status, await response.text());
    } catch {
      // No whole answer: the server was killed. Without a key nobody can know what became of it.
      if (request.key === undefined) lostWithoutKey += request.emails ?? 1;
      else unanswered.push(request);
    }
  };

  const sender = async (index: number): Promise<void> => {
    const random = seededRandom(options.seed + 1_000 * (index + 1));
    for (let made = 0; !draining || unanswered.length > 0;) {
      const base = options.base();
      if (base === undefined || (!draining && options.tooFarAhead())) {
        await pause(LOOK_AGAIN_MS);
        continue;
      }
      const request = unanswered.shift() ?? makeRequest(random, `${index}-${made}`);
      if (request.sent === 0) made += 1;
      await post(base, request);
      // An answer that came may have been lost on the way to somebody: they repeat it and must get the same.
      if (request.key !== undefined && random.chance(0.1) && options.base() === base) await post(base, request);
    }
  };

  const ended = Promise.all(Array.from({ length: options.senders }, (_, index) => sender(index))).then(() => undefined);
  return {
    accepted,
    counts: () => ({ requests, repeated, lostWithoutKey, openWithKey: unanswered.length }),
    faults,
    drain: () => void (draining = true),
    ended,
  };
};

const priorities = ['high', 'normal', 'normal', 'low'] as const;

const makeRequest = (random: Random, name: string): Request => {
  const keyed = random.chance(0.5);
  if (random.chance(0.15)) return makeSeveral(random, name, keyed);
  const body = makeEmail(random, name, keyed);
  return { key: keyed ? `key-${name}` : undefined, body: JSON.stringify(body), sent: 0 };
};

/** A call with several emails: all or none, or with some that are refused. */
const makeSeveral = (random: Random, name: string, keyed: boolean): Request => {
  const allOrNone = random.chance(0.5);
  const emails = Array.from({ length: random.between(2, 15) }, (_, place) => {
    const email = makeEmail(random, `${name}-${place}`, keyed);
    // The last one is accepted in every call, so that the answer is 201.
    return !allOrNone && place > 0 && random.chance(0.2) ? { ...email, templateId: 'no-such-template' } : email;
  });
  const body = JSON.stringify({ emails: emails.reverse(), allOrNone });
  return { key: keyed ? `several-${name}` : undefined, body, emails: emails.length, sent: 0 };
};

const makeEmail = (random: Random, name: string, keyed: boolean): Readonly<Record<string, unknown>> => {
  // A repeated call must name a time in the future too, so only calls that are never repeated are scheduled.
  const scheduled =
    !keyed && random.chance(0.1)
      ? { scheduledAt: new Date(Date.now() + random.between(2_000, 4_000)).toISOString() }
      : {};
  const attachments = random.chance(0.05)
    ? {
        attachments: [
          { filename: 'note.txt', contentType: 'text/plain', content: Buffer.from(`note ${name}`).toString('base64') },
        ],
      }
    : {};
  const recipients = Array.from({ length: random.between(1, 3) }, (_, index) => ({
    email: `to${index}.${name}@example.com`,
    name: `Recipient ${index}`,
  }));
  return {
    templateId: 'sign-in-code',
    to: recipients,
    variables: { code: String(random.between(100_000, 999_999)), firstName: name },
    priority: random.pick(priorities),
    ...scheduled,
    ...attachments,
  };
};
