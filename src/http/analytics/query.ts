/** The ranges, counts and filters that the query of an analytics endpoint stands for. */
import type { OverviewQuery, RowsQuery, TimeSeriesQuery } from '../../api/analytics.js';
import { dayNumber, dayOf, dayOfNumber } from '../../domain/core/days.js';
import { emailMilestones, type EmailMilestone } from '../../domain/email/milestones.js';
import { invalid } from '../../domain/core/errors.js';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { DayRange, RowsAsked, SummaryFilter } from '../../projections/analytics/types.js';
import { momentOf } from '../server/query.js';

type Asked = Pick<OverviewQuery, 'startDate' | 'endDate'>;

const DAYS_DEFAULT = 30;

/** Throws VALIDATION_ERROR where the range is empty or has more days than `max`. */
export const rangeOf = ({ startDate, endDate }: Asked, now: number, max: number = limits.analyticsDaysMax): DayRange => {
  const last = endDate === undefined ? dayOf(isoTime(now)) : dayOf(momentOf('endDate', endDate, 'end'));
  const first =
    startDate === undefined ? dayOfNumber(dayNumber(last) - DAYS_DEFAULT + 1) : dayOf(momentOf('startDate', startDate, 'start'));
  const days = dayNumber(last) - dayNumber(first) + 1;
  if (days < 1) throw invalid('query', 'startDate', `must not lie after the last day of the range, which is ${last}`);
  if (days > max) throw invalid('query', 'startDate', `makes a range of ${days} days; ${max} are the most here`);
  return { startDate: first, endDate: last, days };
};

/** A point for each day is for shorter ranges than one for each week or month. */
export const seriesRangeOf = (query: TimeSeriesQuery, now: number): DayRange =>
  rangeOf(query, now, (query.interval ?? 'day') === 'day' ? limits.analyticsPointsMax : limits.analyticsDaysMax);

/** Throws VALIDATION_ERROR where both are given: emails are counted by each of them alone. */
export const summaryFilterOf = ({ templateId, tag }: Pick<OverviewQuery, 'templateId' | 'tag'>): SummaryFilter => {
  if (templateId !== undefined && tag !== undefined)
    throw invalid('query', 'tag', 'cannot stand beside `templateId`: emails are counted by template and by tag, not by both at once');
  return { ...(templateId === undefined ? {} : { templateId: templateId.toLowerCase() }), ...(tag === undefined ? {} : { tag }) };
};

/** Throws VALIDATION_ERROR where one is not known. */
export const metricsOf = ({ metrics }: Pick<TimeSeriesQuery, 'metrics'>): readonly EmailMilestone[] => {
  if (metrics === undefined) return emailMilestones;
  const named = new Set(metrics.split(','));
  for (const name of named) if (!(emailMilestones as readonly string[]).includes(name)) throw unknownMetric();
  return emailMilestones.filter((name) => named.has(name));
};

const unknownMetric = () => invalid('query', 'metrics', `must be one or more of ${emailMilestones.join(', ')}, with commas between them`);

export const rowsAskedOf = (query: RowsQuery, now: number): RowsAsked => {
  const { sort = 'accepted', page = 1, limit = limits.pageSizeDefault } = query;
  return { range: rangeOf(query, now, limits.analyticsPointsMax), sort, page, limit };
};
