/** For how long what was deleted can be taken back, and when it is gone. */
import type { CommandDeps } from './deps.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { CLOCKS_APART_MS } from '../../domain/core/restore-period.js';
import { DAY_MS } from '../../domain/core/time.js';

type Deps = Pick<CommandDeps, 'clock' | 'limits'>;

/** What was deleted before that moment cannot be taken back. */
export const restorableSince = ({ clock, limits }: Deps): string => isoTime(clock.now() - limits.restoreDays * DAY_MS);

/** What was deleted before that moment is removed. */
export const removableBefore = ({ clock, limits }: Deps): string => isoTime(clock.now() - limits.restoreDays * DAY_MS - CLOCKS_APART_MS);
