/** Fresh ids and secrets from the system's generator. */
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { Ids } from '../../domain/ports/ids.js';

/**
 * UUIDs of one process increase even within a millisecond and when the clock is set back: the counter goes on (RFC
 * 9562, section 6.2).
 */
export const systemIds = (): Ids => ({ uuid: () => v7(), bytes: (sizeBytes) => randomBytes(sizeBytes) });
