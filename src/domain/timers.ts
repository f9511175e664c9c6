/** Where the timers of a kind of stream are kept: a collection of read models that a projection of that kind feeds. */
import type { StreamKind } from './events.js';

export const timersOf = <Kind extends StreamKind>(kind: Kind): `${Kind}Timers` => `${kind}Timers`;
