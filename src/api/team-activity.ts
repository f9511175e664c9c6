/** What was changed in a team, as its members see it. */
import { Type, type Static } from '@sinclair/typebox';
import { activityTargets } from '../domain/teams/activity.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';
import { RoleSchema } from './teams.js';

export const actorTypes = ['user', 'api-key', 'app', 'operator', 'service'] as const;

const Name = (description: string) => nullable(Type.String({ description }));

export const TeamActivitySchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the event' }),
    at: Time,
    kind: Type.String({ description: 'What happened, such as `member.added` or `template.published`; more may come' }),
    actor: Type.Object(
      {
        type: enumOf(actorTypes, '`operator`: by the command line; `service`: the service by itself'),
        id: nullable(Type.String()),
        name: Name('As it is now; null where it is gone'),
      },
      closed,
    ),
    target: Type.Object({ type: enumOf(activityTargets), id: Type.String(), name: Name('As it is now; null where it is gone') }, closed),
    role: Type.Optional(RoleSchema),
  },
  closed,
);
export type TeamActivity = Static<typeof TeamActivitySchema>;
