/** The facts of what a team holds of one thing that its plan limits. */
import { Type, type Static } from '@sinclair/typebox';
import { text, type EventsOf } from '../core/stored.js';

/** `key`: the id of the thing. `amount`: 1, or bytes. `at`: when its place was taken. */
const Held = Type.Object({ key: text, amount: Type.Integer(), at: text });
export type Held = Static<typeof Held>;

export const planUseEventSchemas = {
  /** All that is held from here on, so that only the last fact is read. `since`: from when on the team is billed so, for before that nobody took places. */
  PlacesTaken: { data: Type.Object({ at: text, since: text, held: Type.Array(Held) }) },
} as const;

export type PlanUseEvent = EventsOf<typeof planUseEventSchemas>;
