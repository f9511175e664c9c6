/** The ports that commands of all capabilities use; each capability adds the needs of its own in its `needs.ts`. */
import type { StreamName } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Files } from '../../domain/ports/files.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { TeamState } from '../../domain/teams/state.js';
import type { EventLog, StreamVersion } from '../../event-log/event-log.js';

/**
 * The folded state of a stream and its version. `teamId`: from the first event, undefined for a stream without events.
 */
export type Loaded<State> = Readonly<{ state: State; version: StreamVersion; teamId: string | undefined }>;

/** Reads the state of a stream, from memory where this process follows it. */
export type Load<State> = (stream: StreamName) => Promise<Loaded<State>>;

export type CorePorts = Readonly<{
  eventLog: EventLog;
  keys: Pick<Keys, 'fingerprint' | 'getMany'>;
  files: Files;
  clock: Clock;
  ids: Ids;
  limits: Limits;
  team: Load<TeamState>;
  /** Resolves when every serving process enforces what was appended before the call. */
  whenHeldEverywhere: () => Promise<void>;
}>;
