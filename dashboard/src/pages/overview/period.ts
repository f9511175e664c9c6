/**
 * The days and the filter of the start page, in the forms of its address and of the API. Days are in UTC, as the figures
 * are counted.
 */

/** `days`: the last ones up to today. `from`, `to`: first and last day in their place. The others are filters. */
const names = ['days', 'from', 'to', 'template', 'tag', 'domain'] as const;
export type OverviewSearch = Partial<Record<(typeof names)[number], string>>;

export const lastDaysChoices = [1, 7, 30, 90] as const;
const DAYS_DEFAULT = 30;

/** The API takes five years at most, and lists by template, tag and domain of one year. */
const DAYS_MAX = 1_827;
export const LIST_DAYS_MAX = 366;
/** A longer range has a point for each week, and one of more than two years for each month. */
const POINTS_BY_DAY_MAX = 92;
const POINTS_BY_WEEK_DAYS_MAX = 731;

const DAY_MS = 86_400_000;

export type Range = Readonly<{ startDate: string; endDate: string }>;
export type Filter = Readonly<{ templateId?: string; tag?: string; recipientDomain?: string }>;
export type Interval = 'day' | 'week' | 'month';

/** `choice`: the number of last days, if the address names no first or last day. */
export type Asked = Readonly<{
  range: Range;
  days: number;
  choice: number | undefined;
  interval: Interval;
  filter: Filter;
}>;

/** In: the parameters of an address. Out: those that the start page knows. */
export const overviewSearchOf = (search: Readonly<Record<string, unknown>>): OverviewSearch => {
  const found: OverviewSearch = {};
  for (const name of names) {
    const value = search[name];
    if (typeof value === 'string' && value !== '') found[name] = value;
  }
  return found;
};

/** In: the parameters, and the present day in UTC. Out: what the API is asked for; or, in words, why it cannot be. */
export const askedOf = (search: OverviewSearch, today: string): Asked | Readonly<{ fault: string }> => {
  const { days, from, to, template, tag, domain } = search;
  if ([template, tag, domain].filter((filter) => filter !== undefined).length > 1)
    return { fault: 'Figures are counted by template, by tag and by domain, each alone. Choose one of them.' };
  const filter: Filter = {
    ...(template === undefined ? {} : { templateId: template }),
    ...(tag === undefined ? {} : { tag }),
    ...(domain === undefined ? {} : { recipientDomain: domain }),
  };
  const isCustom = from !== undefined || to !== undefined;
  const choice = isCustom ? undefined : days === undefined ? DAYS_DEFAULT : Number(days);
  if (choice !== undefined && !(lastDaysChoices as readonly number[]).includes(choice))
    return { fault: `Choose the last ${lastDaysChoices.join(', ')} days, or a first and a last day.` };
  for (const day of [from, to])
    if (day !== undefined && !isDay(day)) return { fault: `${day.slice(0, 40)} is no day such as 2026-11-30.` };
  const endDate = to ?? today;
  const startDate = from ?? dayBefore(endDate, (choice ?? DAYS_DEFAULT) - 1);
  const count = daysOf({ startDate, endDate });
  if (count < 1) return { fault: 'The first day lies after the last one.' };
  if (count > DAYS_MAX) return { fault: `Choose at most ${DAYS_MAX.toLocaleString()} days, which are five years.` };
  return { range: { startDate, endDate }, days: count, choice, interval: intervalOf(count), filter };
};

/** A whole day as the calendar has it. */
const isDay = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().startsWith(text) &&
  text >= '1970-01-01';

const dayBefore = (day: string, days: number): string =>
  new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);

export const daysOf = ({ startDate, endDate }: Range): number =>
  Math.round((Date.parse(endDate) - Date.parse(startDate)) / DAY_MS) + 1;

const intervalOf = (days: number): Interval =>
  days <= POINTS_BY_DAY_MAX ? 'day' : days <= POINTS_BY_WEEK_DAYS_MAX ? 'week' : 'month';

/** In: a moment. Out: its day in UTC. */
export const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

/** The parameters of the address with other days and the same filter. */
export const withDays = (
  search: OverviewSearch,
  given: Pick<OverviewSearch, 'days' | 'from' | 'to'>,
): OverviewSearch => {
  const { days: _days, from: _from, to: _to, ...filter } = search;
  return { ...given, ...filter };
};

/** The parameters of the address with the same days and another filter. */
export const withFilter = (
  search: OverviewSearch,
  given: Pick<OverviewSearch, 'template' | 'tag' | 'domain'>,
): OverviewSearch => {
  const { template: _template, tag: _tag, domain: _domain, ...days } = search;
  return { ...days, ...given };
};

const inFull = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' });
const inShort = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', day: 'numeric', month: 'short' });
const ofMonth = new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', month: 'short', year: 'numeric' });

/** Days in words, such as `1–30 Nov 2026`. */
export const rangeInWords = ({ startDate, endDate }: Range): string =>
  startDate === endDate
    ? inFull.format(new Date(startDate))
    : inFull.formatRange(new Date(startDate), new Date(endDate));

/** The shortest name of an interval, for the axis of a chart. */
export const onAxis = ({ startDate }: Range, interval: Interval): string =>
  (interval === 'month' ? ofMonth : inShort).format(new Date(startDate));
