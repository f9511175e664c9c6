/** Disables the account of a metered team that nobody has used for a year, and then takes its credits: the fact first, so that a crash in between leaves the rest to do. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { activityDecider, type Activity, type ActivityCommand, type ActivityState } from '../../domain/billing/inactivity.js';
import { assertDefined, parseTeamId, splitStream, teamStream } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Context, Outcome, Processor } from '../core/declaration.js';
import type { ProcessorDeps } from '../core/deps.js';
import { makeProcessor } from '../core/processor.js';

export type EndInactiveDeps = Pick<CommandDeps, 'clock' | 'team' | 'credits'> & Pick<ProcessorDeps, 'mayDestroy'>;

export const endInactive = (deps: EndInactiveDeps): Processor =>
  makeProcessor<'activity', ActivityState, ActivityCommand>({
    name: 'end-inactive',
    kind: 'activity',
    decider: activityDecider,
    startedBy: {
      AccountUsed: null,
      AccountDisabled: null,
      AccountSettled: null,
      AccountReactivated: null,
      AccountUncounted: null,
    },
    timers: [{ kind: 'inactive', read: 'due', destroys: true, seldom: true }],
    deadlineMs: 60_000,
    act: (context) => act(deps, context),
  });

const act = async (
  { clock, team, credits, mayDestroy }: EndInactiveDeps,
  { stream, state: activity, cause }: Context<Activity>,
): Promise<Outcome<ActivityCommand>> => {
  if (!mayDestroy()) return {};
  const at = isoTime(clock.now());
  const teamId = assertDefined(parseTeamId(splitStream(stream).id), 'team id');
  const isMetered = ((await team(teamStream(teamId))).state?.billing ?? 'unmetered') !== 'unmetered';
  if (!isMetered) return { command: { type: 'Uncount', at } };
  if (activity.isSettled) return { command: { type: 'Disable', at } };
  const { fence: _fence, ...of } = cause;
  // Done again after a crash it finds nothing to take.
  await credits.change(teamId, { type: 'Reset', at }, of);
  return { command: { type: 'Settle', at } };
};
