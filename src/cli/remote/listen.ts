/**
 * `sealpost webhooks listen` from afar: reads the events of a subscription by the API and hands each to a program of
 * this machine, signed as the service signs. Nothing has to reach this machine.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Client, Webhook, WebhookEventList } from '../../../packages/sdk/src/index.js';
import { webhookKinds, type WebhookKind } from '../../domain/core/event.js';
import { isoTime } from '../../domain/core/time.js';
import { deliveryHeaders, formatSecret, SECRET_BYTES, signingKeysOf } from '../../domain/webhooks/delivery.js';
import { openClock } from '../../service/ops/clock.js';
import { print, printFault } from '../core/output.js';
import { connect } from './connection.js';
import { follow, stopSignal } from './emails.js';
import { CliFault, paintOf, printJsonLine, safe, type Paint, type RemoteOptions } from './output.js';

export type ListenFromAfarOptions = RemoteOptions &
  Readonly<{ events?: string; forwardTo?: string; subscription?: string; secret?: string }>;

type Told = WebhookEventList['events'][number];

/** No host has a name below `.invalid`: what the service posts there reaches nobody. */
const NOWHERE = 'https://listener.invalid/';
const DESCRIPTION = 'sealpost webhooks listen';

/** A listener says until when it lives, and says so again before that; one that was killed is removed by the next. */
const LEASE_MS = 60 * 60_000;
const RENEWED_MS = 20 * 60_000;

const PAGE = 100;
const FORWARD_TIMEOUT_MS = 30_000;
const ANSWER_CHARS_MAX = 200;

/** Prints what happens to emails, and forwards it where a program is named, until Ctrl-C. */
export const listenFromAfar = async (options: ListenFromAfarOptions): Promise<void> => {
  const { client, hasColor, url } = connect(options);
  const target = targetOf(options.forwardTo);
  const events = kindsOf(options.events);
  const secret = secretOf(options.secret);
  const keys = signingKeysOf(secret);
  const paint = paintOf(hasColor);
  const isJson = options.json === true;
  const signal = stopSignal();
  const own = options.subscription === undefined ? await openSubscription(client, events) : undefined;
  const id = own?.id ?? options.subscription!;
  try {
    let after = own === undefined ? await newestOf(client, id) : undefined;
    if (!isJson) {
      print(`Listening to ${safe(url)} until Ctrl-C.`);
      if (target !== undefined) print(`Events are posted to ${target.href}, signed with ${secret}`);
    } else printFault(JSON.stringify({ listening: url, subscription: id, secret }));
    const take = async (told: Told): Promise<void> => {
      after = told.id;
      if (told.body === null || !events.includes(told.event as WebhookKind)) return;
      const outcome =
        target === undefined ? undefined : await posted(target, { ...told, body: told.body }, keys, signal);
      if (isJson) printJsonLine({ id: told.id, ...(JSON.parse(told.body) as object), ...(outcome ?? {}) });
      else print(lineOf({ ...told, body: told.body }, outcome, paint));
    };
    await follow(async () => {
      await own?.renew();
      for (let hasMore = true; hasMore && !signal.aborted;) {
        const query = { limit: PAGE, ...(after === undefined ? {} : { after }) };
        const page = await client.webhooks.events(id, query, { signal, retries: 0 });
        for (const told of page.events) {
          if (signal.aborted) return;
          await take(told);
        }
        ({ hasMore } = page);
      }
    }, signal);
  } finally {
    await own?.close();
  }
};

/** Throws OPTION_INVALID. */
const targetOf = (text: string | undefined): URL | undefined => {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new CliFault('OPTION_INVALID', `--forward-to ${text} is no address such as http://localhost:3001/hook`);
  return url;
};

/** Throws OPTION_INVALID. */
const kindsOf = (list: string | undefined): readonly WebhookKind[] =>
  list === undefined
    ? webhookKinds
    : [...new Set(list.split(',').map((text) => text.trim()))].map((name) => {
        const kind = webhookKinds.find((one) => one === name);
        if (kind === undefined)
          throw new CliFault(
            'OPTION_INVALID',
            `--events ${name} is no kind of event; there are ${webhookKinds.join(', ')}`,
          );
        return kind;
      });

/** Throws OPTION_INVALID for a secret that no subscription can have. */
const secretOf = (given: string | undefined): string => {
  if (given === undefined) return formatSecret(randomBytes(SECRET_BYTES));
  if (!/^whsec_[A-Za-z0-9+/]{16,100}={0,2}$/.test(given))
    throw new CliFault('OPTION_INVALID', '--secret is no secret such as whsec_ and 32 bytes in base64');
  return given;
};

type Subscription = Readonly<{ id: string; renew: () => Promise<void>; close: () => Promise<void> }>;

const leaseFrom = (nowMs: number): string =>
  `${DESCRIPTION} on ${hostname().slice(0, 60)}, until ${isoTime(nowMs + LEASE_MS)}`;

/** Makes a subscription for this command alone, and removes those of listeners that were killed. */
const openSubscription = async (client: Client, events: readonly WebhookKind[]): Promise<Subscription> => {
  const clock = openClock();
  for await (const one of client.webhooks.list({ limit: 100 }))
    if (isAbandoned(one, clock.now())) await client.webhooks.delete(one.id, { permanently: true });
  let renewedMs = clock.now();
  const { id } = await client.webhooks.create({ url: NOWHERE, events: [...events], description: leaseFrom(renewedMs) });
  return {
    id,
    renew: async () => {
      const nowMs = clock.now();
      if (nowMs - renewedMs < RENEWED_MS) return;
      await client.webhooks.update(id, { description: leaseFrom(nowMs) }, { retries: 0 });
      renewedMs = nowMs;
    },
    close: async () => {
      // The command ends all the same: the next listener removes it.
      await client.webhooks
        .delete(id, { permanently: true }, { retries: 0, timeoutMs: 5_000 })
        .catch(() => printFault(`sealpost: the subscription ${id} stays until the next listener starts`));
    },
  };
};

const isAbandoned = ({ url, description = '' }: Webhook, nowMs: number): boolean => {
  const until = Date.parse(/, until (\S+)$/.exec(description)?.[1] ?? '');
  return url === NOWHERE && description.startsWith(DESCRIPTION) && until < nowMs;
};

/** The id of the newest event of a subscription: only later ones are told. */
const newestOf = async (client: Client, id: string): Promise<string | undefined> => {
  let after: string | undefined;
  for (;;) {
    const { events, hasMore } = await client.webhooks.events(id, {
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    after = events.at(-1)?.id ?? after;
    if (!hasMore) return after;
  }
};

type Outcome = Readonly<
  { forwarded: number; answer?: string; ms: number } | { forwarded: null; fault: string; ms: number }
>;

type ToPost = Told & Readonly<{ body: string }>;

/** Posts an event as the service would. A program that is not there is told, and the next event is tried. */
const posted = async (
  target: URL,
  { id, previousId, event: kind, body }: ToPost,
  keys: ReturnType<typeof signingKeysOf>,
  signal: AbortSignal,
): Promise<Outcome> => {
  const clock = openClock();
  const startMs = clock.monotonic();
  const ms = (): number => Math.round(clock.monotonic() - startMs);
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: deliveryHeaders({ keys: [keys], id, previousId, kind, body, nowMs: clock.now() }),
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_TIMEOUT_MS)]),
    });
    const answer = (await beginningOf(response)).trim();
    return { forwarded: response.status, ...(response.ok || answer === '' ? {} : { answer }), ms: ms() };
  } catch (fault) {
    const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause : fault;
    return { forwarded: null, fault: cause instanceof Error ? cause.message : 'unknown fault', ms: ms() };
  }
};

const beginningOf = async (response: Response): Promise<string> => {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const { value } = await reader.read();
  await reader.cancel().catch(() => undefined);
  return new TextDecoder().decode(value?.subarray(0, ANSWER_CHARS_MAX));
};

const lineOf = ({ id, event, timestamp, body }: ToPost, outcome: Outcome | undefined, paint: Paint): string => {
  const { data = {} } = JSON.parse(body) as Readonly<{ data?: Readonly<Record<string, unknown>> }>;
  const about = ['recipient', 'batchName', 'subject'].flatMap((field) =>
    typeof data[field] === 'string' ? [safe(data[field])] : [],
  );
  return [
    timestamp,
    event.padEnd(16),
    ...about,
    id,
    ...(outcome === undefined ? [] : [outcomeOf(outcome, paint)]),
  ].join('  ');
};

const outcomeOf = (outcome: Outcome, paint: Paint): string =>
  outcome.forwarded === null
    ? paint('red', `not forwarded: ${safe(outcome.fault)}`)
    : paint(
        outcome.forwarded < 300 ? 'green' : 'yellow',
        `→ ${outcome.forwarded} in ${outcome.ms} ms${outcome.answer === undefined ? '' : `: ${safe(outcome.answer)}`}`,
      );
