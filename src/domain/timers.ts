/** Where the timers of a kind of stream, and what each team has open, are kept: collections of read models that a projection of that kind feeds. */
import type { StreamKind } from './events.js';

/** Of the timers. */
export const timersOf = <Kind extends StreamKind>(kind: Kind): `${Kind}Timers` => `${kind}Timers`;

/** Where a kind of stream keeps how much each team has open: one document for each team. */
export const backlogsOf = <Kind extends StreamKind>(kind: Kind): `${Kind}Backlogs` => `${kind}Backlogs`;
