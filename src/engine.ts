/** Opens the stores that the settings name, and what every way of running the program needs of them: serving, and each command line. */
import { existsSync, mkdirSync } from 'node:fs';
import { systemClock } from './adapters/clock/system.js';
import { openSqliteReadModels } from './adapters/read-models/sqlite.js';
import { openSqliteEventStore } from './adapters/event-store/sqlite.js';
import { openDirectoryFiles } from './adapters/files/directory.js';
import { systemIds } from './adapters/ids/system.js';
import { loadMasterKey } from './adapters/keys/master-key-file.js';
import { openSqliteKeys } from './adapters/keys/sqlite.js';
import { openLogger } from './adapters/logger/pino.js';
import { signatureMediaTypes } from './adapters/media-types/signatures.js';
import { outboundHttpWhenNeeded } from './adapters/outbound-http/when-needed.js';
import { openRenderer } from './adapters/render/email/renderer.js';
import { openGenerator } from './adapters/render/workers/generator.js';
import { makeCommandDeps, type CommandDeps } from './commands/deps.js';
import type { Config } from './config.js';
import { openEventLog, type EventLogPorts } from './event-log/event-log.js';
import type { Clock } from './domain/ports/clock.js';
import type { ReadModels } from './domain/ports/read-models.js';
import type { EventStore } from './domain/ports/event-store.js';
import type { Keys } from './domain/ports/keys.js';
import type { MailCopies } from './domain/ports/mailbox.js';
import type { Logger } from './domain/ports/logger.js';

export type Engine = CommandDeps &
  Readonly<{
    store: EventStore;
    keys: Keys;
    readModels: ReadModels;
    logger: Logger;
    /** Closes what was opened, in the reverse order. */
    close: () => Promise<void>;
  }>;

export type EngineOptions = Readonly<{
  clock?: Clock;
  logger?: Logger;
  /** Stands between the program and its log: how tests let the disk refuse. */
  wrapStore?: (store: EventStore) => EventStore;
  onAppended?: EventLogPorts['onAppended'];
  /** Where copies of mails are kept; absent: nowhere. */
  mailCopies?: MailCopies;
  /** Whether no other process serves requests from these stores; where absent that is not known. */
  servesAlone?: () => Promise<boolean>;
}>;

const pathOf = (url: string): string => url.slice(url.indexOf(':') + 1);

/** In: the settings; a clock and a log of the caller's where given. Rejects where a store cannot be opened. */
export const openEngine = async (config: Config, options: EngineOptions = {}): Promise<Engine> => {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const clock = options.clock ?? systemClock();
  const logger = options.logger ?? openLogger({ level: config.logLevel });
  const ids = systemIds();
  const { limits } = config;
  const keysFile = pathOf(config.urls.keys);
  // A new master key beside keys that another has wrapped would only hide that the right one is missing.
  const masterKey = loadMasterKey({ value: config.masterKey, file: config.masterKeyFile, mayCreate: !existsSync(keysFile) });
  const opened = openSqliteEventStore({ file: pathOf(config.urls.eventStore) });
  const store = options.wrapStore?.(opened) ?? opened;
  const keys = openSqliteKeys({ file: keysFile, masterKey });
  const readModels = openReadModels(config, logger);
  const files = openDirectoryFiles({ directory: pathOf(config.urls.files) });
  const renderer = openRenderer({ limits });
  const generator = openGenerator({ limits, clock, logger, ...(config.fontsDir === undefined ? {} : { fontsDir: config.fontsDir }) });
  const outbound = outboundHttpWhenNeeded();
  const { onAppended } = options;
  const eventLog = openEventLog({
    store,
    keys,
    files,
    ids,
    clock,
    limits,
    onUnreadable: ({ stream, position, storedType, unreadable }) =>
      logger.error({ stream, position, storedType, err: unreadable }, 'an event cannot be read; readers of the whole log go on without it'),
    ...(onAppended === undefined ? {} : { onAppended }),
  });
  return {
    ...makeCommandDeps({
      store,
      servesAlone: options.servesAlone ?? (async () => false),
      eventLog,
      keys,
      files,
      mailCopies: options.mailCopies ?? { forgetCopies: async () => {} },
      renderer,
      generator,
      clock,
      outbound,
      mediaTypes: signatureMediaTypes(),
      ids,
      limits,
    }),
    keys,
    store,
    readModels,
    logger,
    close: async () => {
      await generator.close();
      await outbound.close();
      await renderer.close();
      await readModels.close();
      await store.close();
      await keys.close();
    },
  };
};

const openReadModels = ({ urls }: Config, logger: Logger): ReadModels =>
  openSqliteReadModels({
    file: pathOf(urls.readModels),
    onFault: (err) => logger.error({ err }, 'the write-ahead log of a read model still holds what was erased, and could not be cut'),
  });
