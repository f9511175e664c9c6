/** Which events a subscription missed, by its settings as they were at each position of the log, and by what was asked for before. */
import type { WebhookEvent } from './events.js';
import { evolveWebhook, type WebhookState } from './decider.js';

/** One event of the stream of a subscription. */
export type SettingsFact = Readonly<{ event: WebhookEvent; position: number }>;

type Asked = Extract<WebhookEvent, { type: 'WebhookBackfillAsked' }>['data'];
export type Window = Readonly<{ since: string; until?: string | undefined; events: readonly string[] }>;

/** The settings from one position on, up to the next. */
type Span = Readonly<{ from: number; at: string; kinds: readonly string[] }>;

const spansOf = (facts: readonly SettingsFact[]): readonly Span[] => {
  let state: WebhookState;
  return facts.map(({ event, position }) => {
    state = evolveWebhook(state, event);
    return { from: position, at: event.data.at, kinds: state?.enabled === true ? state.events : [] };
  });
};

const asksOf = (facts: readonly SettingsFact[]): readonly Readonly<{ asked: Asked; position: number }>[] =>
  facts.flatMap(({ event, position }) => (event.type === 'WebhookBackfillAsked' ? [{ asked: event.data, position }] : []));

const isWithin = ({ since, until, events }: Window, kind: string, at: string): boolean =>
  at >= since && (until === undefined || at < until) && events.includes(kind);

/** What one request brings. Events after `from` and up to `upTo` are looked at. */
export type Missed = Readonly<{
  from: number;
  upTo: number;
  /** Whether an event of that kind, that occurred then and stands there, did not go to it, and no request before this one brings it. */
  isMissed: (kind: string, at: string, position: number) => boolean;
}>;

/** undefined where there is no request with that id. */
export const missedBy = (facts: readonly SettingsFact[], id: string): Missed | undefined => {
  const [spans, asks] = [spansOf(facts), asksOf(facts)];
  const ask = asks.find(({ asked }) => asked.id === id);
  const from = spans[0]?.from;
  if (ask === undefined || from === undefined) return undefined;
  const earlier = asks.filter(({ position }) => position < ask.position);
  const wentThen = (kind: string, position: number): boolean =>
    spans.findLast((span) => span.from < position)?.kinds.includes(kind) === true;
  return {
    from,
    upTo: ask.position,
    isMissed: (kind, at, position) =>
      isWithin(ask.asked, kind, at) &&
      !wentThen(kind, position) &&
      !earlier.some((before) => position < before.position && isWithin(before.asked, kind, at)),
  };
};

/** Events stand in the log in about the order in which they occurred: clocks of several processes differ by less. */
const SKEW_MS = 60_000;
const END_OF_TIME = '~';

const shifted = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

/** Whether it may have missed events of that window that no earlier request brings. */
export const mayHaveMissed = (facts: readonly SettingsFact[], window: Window): boolean => {
  const [spans, asks] = [spansOf(facts), asksOf(facts)];
  return window.events.some((kind) =>
    spans.some(({ at, kinds }, index) => {
      if (kinds.includes(kind)) return false;
      const ended = spans[index + 1];
      const [from, to] = [shifted(at, -SKEW_MS), ended === undefined ? END_OF_TIME : shifted(ended.at, SKEW_MS)];
      const [since, until] = [from > window.since ? from : window.since, least(to, window.until ?? END_OF_TIME)];
      if (since >= until) return false;
      const covers = ({ asked, position }: (typeof asks)[number]): boolean =>
        (ended?.from ?? Number.POSITIVE_INFINITY) <= position &&
        asked.events.includes(kind) &&
        asked.since <= since &&
        (asked.until ?? END_OF_TIME) >= until;
      return !asks.some(covers);
    }),
  );
};

const least = (one: string, other: string): string => (one < other ? one : other);
