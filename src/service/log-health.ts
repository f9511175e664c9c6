/** What a start and the health endpoints say of the log. */
import type { Engine } from './engine.js';
import { UnknownEvent } from '../event-log/codec.js';
import type { EventLogPorts } from '../event-log/event-log.js';
import { unknownTypeIn, type LogFaults } from '../event-log/log-faults.js';
import { eventOutsideLog } from '../event-log/verification.js';
import type { LogHealth } from '../domain/core/worker-health.js';
import type { Logger } from '../domain/ports/logger.js';

export const logHealth = ({ logFaults }: Pick<Engine, 'logFaults'>): LogHealth => {
  const unknown = logFaults.unknown();
  return {
    unreadableEvents: logFaults.unreadable(),
    unknownEvent: unknown === undefined ? null : { position: unknown.position, type: unknown.storedType },
  };
};

/** What a newer program wrote stops its readers alone, and what stands outside the log is obeyed by nobody: so the start goes on. */
export const warnOfLog = async ({ store, codec, logFaults, logger }: Engine): Promise<void> => {
  const unknown = await unknownTypeIn(store, codec);
  if (unknown !== undefined) {
    logFaults.note({ ...unknown.place, unreadable: new UnknownEvent(unknown.place.storedType) });
    logger.error({ ...unknown.place }, unknown.message);
  }
  const event = await eventOutsideLog(store);
  if (event === undefined) return;
  const { position, stream, revision, type } = event;
  logger.error(
    { position, stream, revision, type },
    'an event stands below position 1, where the program writes none: somebody changed the log; nothing reads it, `sealpost verify` tells more',
  );
};

/** Counts and logs what a reader cannot read. */
export const tellingUnreadable =
  (logFaults: LogFaults, logger: Logger): NonNullable<EventLogPorts['onUnreadable']> =>
  (event) => {
    logFaults.note(event);
    const { stream, position, storedType, unreadable } = event;
    logger.error(
      { stream, position, storedType, err: unreadable },
      unreadable instanceof UnknownEvent
        ? 'an event was written by a newer version of sealpost; readers of the log stop before it'
        : 'an event cannot be read; readers of the whole log go on without it',
    );
  };
