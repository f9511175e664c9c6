/** The use of a metered team: when it was used last, and when its API keys are disabled because nobody has used it. */
import type { TeamUseEvent } from './events.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { isoTime, DAY_MS } from '../core/time.js';

export type TeamUse = Readonly<{
  /** The last recorded use. */
  usedAt: string;
  /** False while the team is not metered. */
  isCounted: boolean;
  disabledSince: string | null;
  /** False from when it was disabled until its credits are removed. */
  isSettled: boolean;
}>;
/** undefined: the team was never metered. */
export type TeamUseState = TeamUse | undefined;

export type TeamUseCommand =
  | Readonly<{ type: 'NoteUse'; at: string }>
  | Readonly<{ type: 'Disable'; at: string }>
  | Readonly<{ type: 'Settle'; at: string }>
  | Readonly<{ type: 'Reactivate'; at: string }>
  | Readonly<{ type: 'Uncount'; at: string }>;

/** A use is recorded at most once in this time. */
const NOTED_EVERY_MS = DAY_MS;

/** Twelve months after the last recorded use, plus the day in which a later use may not have been recorded. */
export const inactiveAt = ({ usedAt }: Pick<TeamUse, 'usedAt'>): string => {
  const used = new Date(usedAt);
  const monthsLater = Date.UTC(used.getUTCFullYear() + 1, used.getUTCMonth(), used.getUTCDate());
  return isoTime(monthsLater + (used.getTime() % DAY_MS) + NOTED_EVERY_MS);
};

/** When the use of the team is checked next; undefined: never. */
export const lookAt = (use: TeamUse): string | undefined => {
  if (!use.isSettled) return use.disabledSince ?? use.usedAt;
  return use.isCounted && use.disabledSince === null ? inactiveAt(use) : undefined;
};

export const isUseWorthNoting = (use: TeamUseState, at: string): boolean => {
  if (use === undefined || !use.isCounted) return true;
  return use.disabledSince === null && Date.parse(at) >= Date.parse(use.usedAt) + NOTED_EVERY_MS && !isOver(use, at);
};

/** The team has not been used for a year, so a later use does not keep its keys enabled. */
const isOver = (use: TeamUse, at: string): boolean =>
  use.isCounted && use.disabledSince === null && at >= inactiveAt(use);

const decide = (command: TeamUseCommand, use: TeamUseState): readonly TeamUseEvent[] => {
  const { at } = command;
  switch (command.type) {
    case 'NoteUse':
      return isUseWorthNoting(use, at) ? [{ type: 'AccountUsed', data: { at } }] : [];
    case 'Disable':
      return use !== undefined && isOver(use, at) ? [disabled(use, at)] : [];
    case 'Settle':
      return use?.isSettled === false ? [{ type: 'AccountSettled', data: { at } }] : [];
    case 'Reactivate': {
      const reactivated: TeamUseEvent = { type: 'AccountReactivated', data: { at } };
      if (use === undefined) return [];
      if (isOver(use, at)) return [disabled(use, at), reactivated];
      return use.disabledSince === null ? [] : [reactivated];
    }
    case 'Uncount':
      return use?.isCounted === true ? [{ type: 'AccountUncounted', data: { at } }] : [];
  }
};

const disabled = ({ usedAt }: TeamUse, at: string): TeamUseEvent => ({
  type: 'AccountDisabled',
  data: { at, usedAt },
});

export const evolveTeamUse = (use: TeamUseState, { type, data: { at } }: TeamUseEvent): TeamUseState => {
  switch (type) {
    case 'AccountUsed':
      return { usedAt: at, isCounted: true, disabledSince: null, isSettled: use?.isSettled ?? true };
    case 'AccountDisabled':
      return use && { ...use, disabledSince: at, isSettled: false };
    case 'AccountSettled':
      return use && { ...use, isSettled: true };
    case 'AccountReactivated':
      return use && { ...use, usedAt: at, disabledSince: null };
    case 'AccountUncounted':
      return use && { ...use, isCounted: false, disabledSince: null, isSettled: true };
  }
};

export const teamUseDecider: Decider<TeamUseCommand, TeamUseEvent, TeamUseState> = {
  decide,
  evolve: evolveTeamUse,
  initialState: undefined,
};

/** Throws API_KEY_DISABLED. */
export const admitActive = (use: TeamUseState): void => {
  const since = use?.disabledSince ?? null;
  if (since === null) return;
  throw new DomainError(
    'API_KEY_DISABLED',
    `The API keys and apps of this team are disabled since ${since} because nobody used it for 12 months. They work again when an owner of the team logs in, or the operator runs \`sealpost team reactivate\`.`,
  );
};
