/** Whether the account of a metered team is in use, and when it is disabled because nobody has used it. */
import type { ActivityEvent } from './events.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { isoTime, DAY_MS } from '../core/time.js';

export type Activity = Readonly<{
  /** The last recorded use. */
  usedAt: string;
  /** False while the team is not metered. */
  isCounted: boolean;
  disabledSince: string | null;
  /** False from when it was disabled until its credits are removed. */
  isSettled: boolean;
}>;
/** undefined: the team was never metered. */
export type ActivityState = Activity | undefined;

export type ActivityCommand =
  | Readonly<{ type: 'NoteUse'; at: string }>
  | Readonly<{ type: 'Disable'; at: string }>
  | Readonly<{ type: 'Settle'; at: string }>
  | Readonly<{ type: 'Reactivate'; at: string }>
  | Readonly<{ type: 'Uncount'; at: string }>;

/** A use is recorded at most once in this time. */
const NOTED_EVERY_MS = DAY_MS;

/** Twelve months after the last recorded use, plus the day in which a later use may not have been recorded. */
export const inactiveAt = ({ usedAt }: Pick<Activity, 'usedAt'>): string => {
  const used = new Date(usedAt);
  const monthsLater = Date.UTC(used.getUTCFullYear() + 1, used.getUTCMonth(), used.getUTCDate());
  return isoTime(monthsLater + (used.getTime() % DAY_MS) + NOTED_EVERY_MS);
};

/** When the account is checked next; undefined: never. */
export const lookAt = (activity: Activity): string | undefined => {
  if (!activity.isSettled) return activity.disabledSince ?? activity.usedAt;
  return activity.isCounted && activity.disabledSince === null ? inactiveAt(activity) : undefined;
};

export const isUseWorthNoting = (activity: ActivityState, at: string): boolean => {
  if (activity === undefined || !activity.isCounted) return true;
  return (
    activity.disabledSince === null &&
    Date.parse(at) >= Date.parse(activity.usedAt) + NOTED_EVERY_MS &&
    !isOver(activity, at)
  );
};

/** The account has not been used for a year, so a later use does not keep it. */
const isOver = (activity: Activity, at: string): boolean =>
  activity.isCounted && activity.disabledSince === null && at >= inactiveAt(activity);

const decide = (command: ActivityCommand, activity: ActivityState): readonly ActivityEvent[] => {
  const { at } = command;
  switch (command.type) {
    case 'NoteUse':
      return isUseWorthNoting(activity, at) ? [{ type: 'AccountUsed', data: { at } }] : [];
    case 'Disable':
      return activity !== undefined && isOver(activity, at) ? [disabled(activity, at)] : [];
    case 'Settle':
      return activity?.isSettled === false ? [{ type: 'AccountSettled', data: { at } }] : [];
    case 'Reactivate': {
      const reactivated: ActivityEvent = { type: 'AccountReactivated', data: { at } };
      if (activity === undefined) return [];
      if (isOver(activity, at)) return [disabled(activity, at), reactivated];
      return activity.disabledSince === null ? [] : [reactivated];
    }
    case 'Uncount':
      return activity?.isCounted === true ? [{ type: 'AccountUncounted', data: { at } }] : [];
  }
};

const disabled = ({ usedAt }: Activity, at: string): ActivityEvent => ({
  type: 'AccountDisabled',
  data: { at, usedAt },
});

export const evolveActivity = (activity: ActivityState, { type, data: { at } }: ActivityEvent): ActivityState => {
  switch (type) {
    case 'AccountUsed':
      return { usedAt: at, isCounted: true, disabledSince: null, isSettled: activity?.isSettled ?? true };
    case 'AccountDisabled':
      return activity && { ...activity, disabledSince: at, isSettled: false };
    case 'AccountSettled':
      return activity && { ...activity, isSettled: true };
    case 'AccountReactivated':
      return activity && { ...activity, usedAt: at, disabledSince: null };
    case 'AccountUncounted':
      return activity && { ...activity, isCounted: false, disabledSince: null, isSettled: true };
  }
};

export const activityDecider: Decider<ActivityCommand, ActivityEvent, ActivityState> = {
  decide,
  evolve: evolveActivity,
  initialState: undefined,
};

/** Throws API_KEY_DISABLED. */
export const admitActive = (activity: ActivityState): void => {
  const since = activity?.disabledSince ?? null;
  if (since === null) return;
  throw new DomainError(
    'API_KEY_DISABLED',
    `The API keys and apps of this team are disabled since ${since}, for nobody had used the account for 12 months. They work again when an owner of the team logs in, or the operator runs \`sealpost team reactivate\`.`,
  );
};
