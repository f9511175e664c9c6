/** Of each team that was ever metered, when there is something to do about its account. */
import type { ActivityEvent } from '../../domain/billing/activity-events.js';
import { evolveActivity, lookAt, type Activity } from '../../domain/billing/inactivity.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { timersOf } from '../../domain/core/timers.js';
import { declareProjection, type Handler } from '../core/projection.js';
import { timersSpec, type TimerDocument } from '../core/timers.js';

const ACTIVITY = 'activity';
const ACTIVITY_TIMERS = timersOf('activity');

/** Its id is that of the team. */
type ActivityDocument = Document & Readonly<{ activity: Activity }>;

const step: Handler<ActivityEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as ActivityDocument | undefined;
  const activity = evolveActivity(before?.activity, event);
  if (activity === undefined) return [];
  const seq = before?.seq ?? position;
  const dueAt = lookAt(activity);
  const timer: TimerDocument | undefined =
    dueAt === undefined
      ? undefined
      : { id, seq: position, position, kind: 'inactive', key: stream, dueAt, priority: 'low', team: metadata.teamId };
  return [
    { collection: ACTIVITY_TIMERS, id, document: timer },
    { collection: ACTIVITY, id, document: { id, seq, position, activity } },
  ];
};

export const activityProjection = declareProjection({
  name: 'activity',
  collections: [timersSpec(ACTIVITY_TIMERS), { name: ACTIVITY, version: 1, fields: [], indexes: [] }],
  main: ACTIVITY,
  kinds: ['activity'],
  decrypts: [],
  on: { AccountUsed: step, AccountDisabled: step, AccountSettled: step, AccountReactivated: step, AccountUncounted: step },
});
