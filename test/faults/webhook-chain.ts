/**
 * Computes the posts that subscriptions must get, by the log alone, and checks the posts of an endpoint against them:
 * signed, the same bytes each time, in one chain.
 */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import type { WebhookEvents } from '../../src/api/webhooks.js';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';

/** Every kind that single sends make. */
export const kindsOfSends = [
  'email.queued',
  'email.scheduled',
  'email.sent',
  'email.delivered',
  'email.deferred',
  'email.bounced',
  'email.failed',
] as const;

type Outcome = Readonly<{ result: 'accepted' | 'bounced' | 'refused' | 'deferred' }>;

const ofOutcome = { accepted: 'email.sent', bounced: 'email.bounced', refused: 'email.failed' } as const;

/** The webhook events of one event of the log, computed without the code under test. */
const toldBy = ({ type, data }: StoredEvent): readonly string[] => {
  const name = type.slice(0, type.indexOf('.'));
  const outcomes = (): readonly string[] =>
    (JSON.parse(data) as { outcomes: readonly Outcome[] }).outcomes.map(({ result }) =>
      result === 'deferred' ? (name === 'EmailDeferred' ? 'email.deferred' : 'email.failed') : ofOutcome[result],
    );
  switch (name) {
    case 'EmailQueued':
      return ['email.queued'];
    case 'EmailScheduled':
      return ['email.scheduled'];
    case 'EmailDelivered':
      return (JSON.parse(data) as { recipients: readonly number[] }).recipients.map(() => 'email.delivered');
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed':
      return outcomes();
    default:
      return [];
  }
};

/** In: the data of a server that is down. Out: `<email> <kind>` of everything that is told, in the order of the log. */
export const toldByLog = async (dataDir: string): Promise<readonly string[]> => {
  const store = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  try {
    const told: string[] = [];
    for await (const { events } of store.readAll(0))
      for (const event of events)
        if (event.stream.startsWith('email-'))
          told.push(...toldBy(event).map((kind) => `${event.stream.slice('email-'.length)} ${kind}`));
    return told;
  } finally {
    await store.close();
  }
};

export type Posted = Readonly<{ headers: IncomingHttpHeaders; body: string; status: number | undefined }>;

export const idOfPost = ({ headers }: Posted): string => String(headers['x-service-event-id']);

/** The faults of single posts: wrong signatures, checked in both ways, and repeated posts that differ. */
export const faultsOfPosts = (name: string, posts: readonly Posted[], secret: string): readonly string[] => {
  const faults: string[] = [];
  const first = new Map<string, Posted>();
  for (const post of posts) {
    const { headers, body } = post;
    const id = idOfPost(post);
    const expected = createHmac('sha256', secret)
      .update(`${String(headers['x-service-timestamp'])}.${body}`)
      .digest('hex');
    if (headers['x-service-signature'] !== `v1=${expected}`) faults.push(`${name}: ${id} has a wrong signature`);
    if (!isStandard(post, secret)) faults.push(`${name}: ${id} is refused by standardwebhooks`);
    const before = first.get(id);
    if (before === undefined) first.set(id, post);
    else if (before.body !== body) faults.push(`${name}: ${id} came again with other bytes`);
    else if (before.headers['x-service-previous-event-id'] !== headers['x-service-previous-event-id'])
      faults.push(`${name}: ${id} came again with another event before it`);
  }
  return faults;
};

/**
 * The library refuses what is older than five minutes, and clocks are set in these programs: it is given the time of
 * now.
 */
const isStandard = ({ headers, body }: Posted, secret: string): boolean => {
  const sign = new Webhook(secret).sign(
    String(headers['webhook-id']),
    new Date(Number(headers['webhook-timestamp']) * 1_000),
    body,
  );
  return sign === headers['webhook-signature'];
};

/** The posts one after the other as each names the one before it, from the first on; doubles once. */
const chainOf = (posts: readonly Posted[]): readonly Posted[] => {
  const byPrevious = new Map(posts.map((post) => [String(post.headers['x-service-previous-event-id'] ?? ''), post]));
  const chain: Posted[] = [];
  for (
    let next = byPrevious.get('');
    next !== undefined && chain.length <= posts.length;
    next = byPrevious.get(idOfPost(next))
  )
    chain.push(next);
  return chain;
};

const toldByPost = ({ body }: Posted): string => {
  const { event, data } = JSON.parse(body) as { event: string; data: { emailLogId: string } };
  return `${data.emailLogId} ${event}`;
};

/** Compares a chain with the log and with the list of events that the service shows. */
export const faultsOfChain = (
  name: string,
  posts: readonly Posted[],
  listed: WebhookEvents['events'],
  told: readonly string[],
): readonly string[] => {
  const chain = chainOf(posts);
  const ids = new Set(posts.map(idOfPost));
  const faults: string[] = [];
  if (chain.length !== ids.size) faults.push(`${name}: the chain closes over ${chain.length} of ${ids.size} events`);
  if (ids.size !== told.length) faults.push(`${name}: ${ids.size} events came, the log tells of ${told.length}`);
  const other = told.findIndex((one, at) => chain[at] === undefined || toldByPost(chain[at]) !== one);
  if (other >= 0)
    faults.push(
      `${name}: event ${other} of the log is "${told[other]}", the chain has "${chain[other] && toldByPost(chain[other])}"`,
    );
  const differs = listed.findIndex(
    ({ id, body }, at) => chain[at] === undefined || idOfPost(chain[at]) !== id || chain[at].body !== body,
  );
  if (differs >= 0) faults.push(`${name}: event ${differs} of the list is not what was posted`);
  return [...faults, ...faultsOfList(name, listed, told)];
};

/** The list alone, where the endpoint was never sent all. */
export const faultsOfList = (
  name: string,
  listed: WebhookEvents['events'],
  told: readonly string[],
): readonly string[] => {
  const gap = listed.findIndex(({ previousId }, at) => previousId !== (listed[at - 1]?.id ?? null));
  const wrong = listed.findIndex(
    ({ body, event }, at) =>
      body === null || toldByPost({ headers: {}, body, status: 200 }) !== told[at] || !told[at].endsWith(event),
  );
  return [
    ...(listed.length === told.length
      ? []
      : [`${name}: ${listed.length} events are listed, the log tells of ${told.length}`]),
    ...(gap < 0 ? [] : [`${name}: the list has a gap before event ${gap}`]),
    ...(wrong < 0 ? [] : [`${name}: event ${wrong} of the list is not that of the log`]),
  ];
};
