/** Checks of webhooks when everything is at rest. */
import { splitStream } from '../../src/domain/core/ids.js';
import type { RoutedEntry, WebhookOutcome } from '../../src/domain/webhooks/events.js';
import type { Clients } from './clients.js';
import { mannerOf, RETRY_AFTER_MS, type HookPost } from './endpoints.js';
import type { Finding, KnownEmail } from './oracles.js';
import {
  isAskedFor,
  isMissed,
  isSignedBy,
  nameOf,
  noticesOf,
  settingsOf,
  subscriptionsOf,
  type Secret,
  type Subscription,
} from './webhook-log.js';
import { replayedFindings } from './webhook-replays.js';
import { isLater, isWorking, sentTo, UNDER_WAY_MS, type Moment, type Sent } from './webhook-sent.js';
import type { World } from './world.js';

/** The contract's. */
const ATTEMPTS_MAX = 4;
const GONE = 410;
const ERASED = 'ERASED';

/** Every event that it asks for has gone to it. */
const isRouted = (world: World, subscription: Subscription): boolean => {
  const names = new Set(subscription.routes.flatMap(({ entries }) => entries.map(nameOf)));
  return noticesOf(world, subscription.team).every(
    (notice) => !isAskedFor(subscription, notice) || names.has(nameOf(notice)),
  );
};

const isBackfilled = ({ asks, routes }: Subscription): boolean => {
  const last = asks.at(-1);
  return last === undefined || routes.some(({ backfill }) => backfill?.id === last.id && backfill.isDone);
};

/** True if no subscription has work left. */
export const webhooksAreAtRest = (world: World): boolean =>
  world.endpoints.underWay() === 0 &&
  [...subscriptionsOf(world).values()].every((subscription) => {
    if (settingsOf(subscription).isDeleted) return true;
    if (!isRouted(world, subscription)) return false;
    if (!isWorking(subscription)) return true;
    return (
      isBackfilled(subscription) &&
      !subscription.isReplaying &&
      sentTo(subscription).every(({ number }) => subscription.isOpen.get(number) === false)
    );
  });

/** When the next delivery is tried again that has failed; undefined where none is. */
export const nextAttemptMs = (world: World): number | undefined => {
  const dues = [...subscriptionsOf(world).values()].filter(isWorking).flatMap(({ attempts, isOpen }) => {
    const last = new Map(attempts.map(({ outcome }) => [outcome.number, outcome.nextRetryAt]));
    return [...last].flatMap(([number, at]) =>
      at === undefined || isOpen.get(number) !== true ? [] : [Date.parse(at)],
    );
  });
  return dues.length === 0 ? undefined : Math.min(...dues);
};

/** `isQuiet`: nothing went wrong in the history by itself. */
export const webhookFindings = (
  world: World,
  clients: Clients,
  emails: readonly KnownEmail[],
  { isQuiet }: Readonly<{ isQuiet: boolean }>,
): readonly Finding[] => {
  if (!world.hasWebhooks) return [];
  const subscriptions = subscriptionsOf(world);
  const byStream = new Map(emails.map((known) => [`email-${known.id}`, known]));
  const strange = world.endpoints.posts.filter(({ sender }) => !subscriptions.has(sender));
  return [
    ...strange.map(({ url, sender }) => ({
      oracle: 'webhook-chain',
      message: `${url} heard of ${sender}, which is no subscription`,
    })),
    ...[...subscriptions.values()].flatMap((subscription) => {
      const sent = sentTo(subscription);
      const posts = world.endpoints.posts.filter(({ sender }) => sender === subscription.id);
      return [
        ...routedFindings(world, subscription),
        ...chainFindings(subscription, sent),
        ...postFindings(world, subscription, sent, posts, byStream),
        ...replayedFindings(subscription, sent, posts),
        ...arrivedFindings(subscription, sent, posts, byStream),
        ...endedFindings(subscription, sent),
        ...(isQuiet ? onceFindings(world, subscription, posts) : []),
      ];
    }),
    ...deletedFindings(world, clients),
  ];
};

/**
 * A subscription got the events that its settings at each position ask for, and those that it asked for later; nothing
 * else, nothing twice, each in its order.
 */
const routedFindings = (world: World, subscription: Subscription): Finding[] => {
  const { id, team, routes } = subscription;
  const isDeleted = settingsOf(subscription).isDeleted;
  const notices = noticesOf(world, team);
  const position = new Map(notices.map((notice) => [nameOf(notice), notice.position]));
  const [asked, missed] = [new Set<string>(), new Set<string>()];
  for (const notice of notices) {
    if (isAskedFor(subscription, notice)) asked.add(nameOf(notice));
    else if (isMissed(subscription, notice)) missed.add(nameOf(notice));
  }
  const found: string[] = [];
  const gone = new Set<string>();
  let last = 0;
  for (const { entries, isMissed: wasMissed } of routes) {
    for (const entry of entries) {
      const name = nameOf(entry);
      if (gone.has(name)) found.push(`${name} went to it twice`);
      gone.add(name);
      if (!(wasMissed === true ? missed : asked).has(name)) found.push(`${name} went to it, and it did not ask for it`);
      const at = position.get(name) ?? 0;
      if (wasMissed !== true && at < last) found.push(`${name} went to it after what occurred later`);
      if (wasMissed !== true) last = at;
    }
  }
  const expected = [...asked, ...(isWorking(subscription) ? missed : [])];
  if (!isDeleted) for (const name of expected) if (!gone.has(name)) found.push(`${name} did not go to it`);
  return found.map((text) => ({ oracle: 'webhook-routed', message: `${id}: ${text}` }));
};

/** Facts follow each other: each says how many events went before, and the id of the last of them. */
const chainFindings = ({ id, routes }: Subscription, sent: readonly Sent[]): Finding[] => {
  let count = 0;
  return routes.flatMap(({ before, previous, entries }) => {
    const follows = before === count && (previous ?? undefined) === sent[before - 1]?.id;
    count = before + entries.length;
    return follows
      ? []
      : [{ oracle: 'webhook-chain', message: `${id}: a gap before number ${before}, after ${previous}` }];
  });
};

/**
 * Each post says what the log says, under the id that its event has, signed, and a double is the same byte for byte.
 */
const postFindings = (
  world: World,
  { id, secrets }: Subscription,
  sent: readonly Sent[],
  posts: readonly HookPost[],
  emails: ReadonlyMap<string, KnownEmail>,
): Finding[] => {
  const byId = new Map(sent.map((one) => [one.id, one]));
  const first = new Map<string, HookPost>();
  return posts.flatMap((post) => {
    const { headers, body } = post;
    const event = headers['x-service-event-id'] ?? '';
    const known = byId.get(event);
    const earlier = first.get(event) ?? post;
    first.set(event, earlier);
    const found: string[] = [];
    if (known === undefined) found.push(`was posted ${event}, which did not go to it`);
    else {
      if (headers['x-service-previous-event-id'] !== known.previous) found.push(`${event} is posted after a wrong id`);
      if (!says(body, known.entry, emails.get(known.entry.stream)))
        found.push(`${event} says ${body}, and is ${nameOf(known.entry)}`);
    }
    if (headers['webhook-id'] !== event) found.push(`${event} has two ids`);
    if (body !== earlier.body) found.push(`${event} was posted with two bodies`);
    // The secrets of one that is gone for good went with it.
    if (secrets.length > 0 && !isSignedBy(textsOf(secrets), headers, body))
      found.push(`${event} is not signed by its secrets`);
    else if (
      secrets.length > 0 &&
      !isSignedBy(textsOf(secrets.filter((secret) => !hasEnded(world, secret, post))), headers, body)
    )
      found.push(`${event} is signed by a secret after its overlap`);
    return found.map((text) => ({ oracle: 'webhook-post', message: `${id}: ${text}` }));
  });
};

const says = (body: string, { kind, at, stream, recipient }: RoutedEntry, email: KnownEmail | undefined): boolean => {
  const { event, timestamp, data } = JSON.parse(body) as {
    event: string;
    timestamp: string;
    data: Record<string, unknown>;
  };
  const recipients = email?.email.content?.recipients;
  const isRight = event === kind && timestamp === at && data['emailLogId'] === splitStream(stream).id;
  return isRight && (recipients === undefined || data['recipient'] === recipients[recipient ?? 0]?.email);
};

const textsOf = (secrets: readonly Secret[]): readonly string[] => secrets.map(({ text }) => text);

/** Whether it signed no more when the post was signed, and its sender can have heard of that. */
const hasEnded = (world: World, { untilMs, endedAtMs }: Secret, post: HookPost): boolean => {
  const signedMs = Number(post.headers['webhook-timestamp']) * 1_000;
  if (signedMs < untilMs + UNDER_WAY_MS) return false;
  return isLater(world, { ms: endedAtMs, jumps: world.jumps(endedAtMs) }, post);
};

/** An endpoint that works has everything that was not erased. */
const arrivedFindings = (
  subscription: Subscription,
  sent: readonly Sent[],
  posts: readonly HookPost[],
  emails: ReadonlyMap<string, KnownEmail>,
): Finding[] => {
  const { id, url } = subscription;
  if (url === undefined || !isWorking(subscription)) return [];
  const heard = new Set(posts.map(({ headers }) => headers['x-service-event-id']));
  const isErased = ({ entry }: Sent): boolean => emails.get(entry.stream)?.email.content === undefined;
  return sent
    .filter((one) => !heard.has(one.id) && !isErased(one))
    .map(({ id: event, entry }) => ({
      oracle: 'webhook-arrived',
      message: `${id}: ${event}, ${nameOf(entry)}, was not posted to ${url}`,
    }));
};

/**
 * No more attempts than there are, each pause as long as it was asked to be; and of a subscription that works all have
 * ended.
 */
const endedFindings = (subscription: Subscription, sent: readonly Sent[]): Finding[] => {
  const { id, attempts, isOpen, isReplaying, url } = subscription;
  const found = attempts.flatMap(({ outcome }) => attemptFaults(outcome, url));
  if (isWorking(subscription)) {
    if (isReplaying) found.push('a replay does not end');
    for (const { number, id: event } of sent)
      if (isOpen.get(number) !== false) found.push(`${event} has not come to an end`);
  }
  return found.map((text) => ({ oracle: 'webhook-ended', message: `${id}: ${text}` }));
};

const attemptFaults = (outcome: WebhookOutcome, url: string | undefined): string[] => {
  const { number, attempt, attemptedAt, result, statusCode, error, nextRetryAt } = outcome;
  const isLast = result === 'success' || attempt >= ATTEMPTS_MAX || statusCode === GONE || error === ERASED;
  const isLater = url !== undefined && mannerOf(url) === 'later' && statusCode === 503;
  const pauseMs = nextRetryAt === undefined ? undefined : Date.parse(nextRetryAt) - Date.parse(attemptedAt);
  return [
    ...(attempt > ATTEMPTS_MAX ? [`number ${number} was tried ${attempt} times`] : []),
    ...(isLast === (pauseMs === undefined)
      ? []
      : [`number ${number} is ${isLast ? '' : 'not '}tried again after attempt ${attempt}`]),
    ...(isLater && pauseMs !== undefined && pauseMs < RETRY_AFTER_MS
      ? [`number ${number} is tried again after ${pauseMs} ms`]
      : []),
  ];
};

/** Without faults each post is recorded, except one for each restart of the work. */
const onceFindings = (world: World, { id, attempts }: Subscription, posts: readonly HookPost[]): Finding[] => {
  const told = new Map<string, number>();
  for (const { outcome } of attempts) {
    const event = `evt_${outcome.number.toString(36)}_${outcome.key}`;
    told.set(event, (told.get(event) ?? 0) + 1);
  }
  const heard = new Map<string, number>();
  for (const { headers } of posts) {
    const event = headers['x-service-event-id'] ?? '';
    heard.set(event, (heard.get(event) ?? 0) + 1);
  }
  const begun = world.leases.rows.get('deliver-webhooks')?.fence ?? 0;
  return [...heard].flatMap(([event, times]) =>
    times > (told.get(event) ?? 0) + begun
      ? [
          {
            oracle: 'webhook-once',
            message: `${id}: ${event} was posted ${times} times, and ${told.get(event) ?? 0} are told of`,
          },
        ]
      : [],
  );
};

/** Asserts that no data of an email leaves after its deletion was answered. */
const deletedFindings = (world: World, { deleted }: Clients): Finding[] => {
  const byEmail = new Map<string, Moment>(deleted);
  return world.endpoints.posts.flatMap((post) => {
    const { body, url } = post;
    const { data } = JSON.parse(body) as { data: Record<string, unknown> };
    const moment = byEmail.get(String(data['emailLogId']));
    if (moment === undefined) return [];
    return isLater(world, moment, post)
      ? [
          {
            oracle: 'webhook-deleted',
            message: `${url} was told of ${String(data['emailLogId'])} after its deletion had been answered`,
          },
        ]
      : [];
  });
};
