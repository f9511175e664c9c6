/** The list of what was changed in a team, as its members see it. The list holds no personal data except ids. */
import type { Role } from '../access/permissions.js';
import type { ActivityKind, ActivityLine, ActivityTarget, RecordedEvent } from '../core/event.js';
import { splitStream } from '../core/ids.js';

/** `id`: of the target. `role`: what a member or an invitation got. */
export type Activity = Readonly<{ kind: ActivityKind; target: ActivityTarget; id: string; role?: Role }>;

/**
 * A row of the list. `actor`: as in the event. `name`: the current name of the target, `actorName` that of an acting
 * key; null if it is gone, or is a person.
 */
export type ActivityListing = Activity &
  Readonly<{ eventId: string; at: string; actor: string; name: string | null; actorName: string | null }>;

const ofTemplates: Readonly<Record<string, ActivityTarget>> = {
  attachmentTemplate: 'attachment-template',
  block: 'block',
};

/** In: the line of the event's definition. */
export const activityOf = (line: ActivityKind | ActivityLine<never>, { event, stream }: RecordedEvent): Activity => {
  const { kind: made, id, role }: ActivityLine<never> = typeof line === 'string' ? { kind: line } : line;
  // A line takes the data of an event of its own type.
  const data = event.data as never;
  const of = splitStream(stream);
  const general = typeof made === 'string' ? made : made(data);
  // All kinds of templates have the same events.
  const own = ofTemplates[of.kind];
  const kind = own === undefined ? general : (general.replace('template.', `${own}.`) as ActivityKind);
  const target = kind.slice(0, kind.indexOf('.')) as ActivityTarget;
  return { kind, target, id: id?.(data) ?? of.id, ...(role === undefined ? {} : { role: role(data) as Role }) };
};
