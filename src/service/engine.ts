/** Opens the stores that the settings name and the ports around them, for the service and for each command of the command line. */
import { UnknownEvent, eventVersions, makeCodec, type Codec } from '../event-log/codec.js';
import { type EventLogPorts, openEventLog } from '../event-log/event-log.js';
import { unknownTypeIn, type LogFaults, eventOutsideLog, openLogFaults } from '../event-log/verification.js';
import type { LogHealth } from '../domain/core/readiness.js';
import type { Logger } from '../domain/ports/logger.js';
import { systemClock } from '../adapters/clock/system.js';
import { systemIds } from '../adapters/ids/system.js';
import { openResolver } from '../adapters/dns/resolver.js';
import { openLogger } from '../adapters/logger/pino.js';
import { systemDkimKeys } from '../adapters/mail/dkim.js';
import { signatureMediaTypes } from '../adapters/media-types/signatures.js';
import { outboundHttpWhenNeeded, outboundPostWhenNeeded } from '../adapters/outbound-http/when-needed.js';
import { reportReaderWhenNeeded } from '../adapters/feedback/when-needed.js';
import type { NoteBlocked } from '../commands/recipients/feedback.js';
import { openReturnPath } from '../domain/email/feedback.js';
import { joseAccessTokens } from '../adapters/access-tokens/jose.js';
import { argon2Passwords } from '../adapters/passwords/argon2.js';
import { otpauthSecondFactors } from '../adapters/second-factor/otpauth.js';
import { qrCodePng } from '../adapters/render/qr-code.js';
import { openRenderer } from '../adapters/render/email/renderer.js';
import { openGenerator } from '../adapters/render/workers/generator.js';
import type { CommandDeps, CommandPorts } from '../commands/core/deps.js';
import { makeCommandDeps } from '../commands/assembly.js';
import type { Config } from './settings/config.js';
import { openStores, type Stores } from './stores/stores.js';
import type { Clock } from '../domain/ports/clock.js';
import { matcherOf } from '../domain/mime/header.js';
import { COPIES_FROM, LANGUAGES_FROM, PEOPLE_FROM } from '../domain/core/write-level.js';
import type { Keys } from '../domain/ports/keys.js';
import type { EventStore } from '../domain/ports/event-store.js';
import type { Generator } from '../domain/ports/generator.js';
import type { Renderer } from '../domain/ports/renderer.js';
import type { MailCopies } from '../domain/ports/mailbox.js';

export type Engine = CommandDeps &
  Stores &
  Readonly<{
    logger: Logger;
    /** The events that could not be read so far. */
    logFaults: LogFaults;
    /** Reads and writes the stored form of events. */
    codec: Codec;
    /** Closes what was opened, in the reverse order. */
    close: () => Promise<void>;
  }>;

export type EngineOptions = Readonly<{
  clock?: Clock;
  logger?: Logger;
  /** Wraps the event store: tests let the disk refuse. */
  wrapStore?: (store: EventStore) => EventStore;
  /** Wraps the keys: the health watch learns whether new keys can be kept. */
  wrapKeys?: (keys: Keys) => Keys;
  onAppended?: EventLogPorts['onAppended'];
  /** Wrap the rendering: metrics and traces measure it. */
  wrapRenderer?: (renderer: Renderer) => Renderer;
  wrapGenerator?: (generator: Generator) => Generator;
  /** Where copies of mails are kept; absent: nowhere. */
  mailCopies?: MailCopies;
  /** The events that are read and written: tests run a newer program beside this one. Default: all versions, at the level of the settings. */
  codec?: Codec;
  /** Called for each domain that blocks our mail; absent if nobody counts them. */
  noteBlocked?: NoteBlocked;
  /** Whether no other process serves requests from these stores; if absent, that is not known. */
  servesAlone?: () => Promise<boolean>;
  /** Whether keys of an older form are rewrapped in the newest: only the process that delivers does, no command beside it. Default: false. */
  rewrapsKeys?: boolean;
  /** Whether read models are only inspected: what is damaged or missing of them is left so. Default: false. */
  inspects?: boolean;
}>;

/** In: the settings, and options that replace parts. Rejects if a store cannot be opened. */
export const openEngine = async (config: Config, options: EngineOptions = {}): Promise<Engine> => {
  const clock = options.clock ?? systemClock();
  const logger = options.logger ?? openLogger({ level: config.logLevel });
  const [ids, { limits }] = [systemIds(), config];
  const stores = await openStores(config, { clock, logger }, options);
  const { files } = stores;
  const { onAppended, codec = makeCodec(eventVersions, config.writeEvents) } = options;
  const { wrapStore = same, wrapKeys = same, wrapRenderer = same, wrapGenerator = same } = options;
  const [store, keys] = [wrapStore(stores.store), wrapKeys(stores.keys)];
  const renderer = wrapRenderer(openRenderer({ limits }));
  const generator = wrapGenerator(openDocuments(config, { clock, logger }));
  const outbound = outboundHttpWhenNeeded();
  const webhooks = { outbound: outboundPostWhenNeeded(config.webhookInsecureHosts), insecureHosts: config.webhookInsecureHosts };
  const logFaults = openLogFaults();
  const eventLog = openEventLog({
    store,
    keys,
    files,
    ids,
    clock,
    limits,
    codec,
    onUnreadable: tellingUnreadable(logFaults, logger),
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
      webhooks,
      mediaTypes: signatureMediaTypes(),
      dns: openResolver({ servers: config.dnsServers }),
      dkimKeys: systemDkimKeys(),
      people: peopleOf(config),
      spfMechanisms: config.spfMechanisms,
      ...feedbackOf(config, keys),
      ...(options.noteBlocked === undefined ? {} : { noteBlocked: options.noteBlocked }),
      ...linksOf(config, codec),
      ...(config.accountSender === undefined ? {} : { accountSender: config.accountSender }),
      ...(config.allowedRelayHeaders.length === 0 ? {} : { allowsHeader: matcherOf(config.allowedRelayHeaders) }),
      ids,
      limits,
    }),
    ...stores,
    store,
    keys,
    logger,
    logFaults,
    codec,
    close: async () => {
      for (const port of [generator, outbound, webhooks.outbound, renderer, stores]) await port.close();
    },
  };
};

const same = <Port>(port: Port): Port => port;

const openDocuments = ({ limits, fontsDir }: Config, deps: Readonly<{ clock: Clock; logger: Logger }>): Generator =>
  openGenerator({ limits, keepsReady: limits.generatorReadyMs > 0, ...deps, ...(fontsDir === undefined ? {} : { fontsDir }) });

const feedbackOf = ({ feedback: settings }: Config, keys: Keys): Pick<CommandDeps, 'feedback'> => {
  if (settings === undefined) return {};
  const { domain, name } = settings;
  return { feedback: { returnPath: openReturnPath(domain, keys), at: { domain, host: name }, reader: reportReaderWhenNeeded() } };
};

const linksOf = (
  { linkBase }: Config,
  codec: Codec,
): Pick<CommandPorts, 'linkBase' | 'withoutCopies' | 'withoutLanguages' | 'withoutOrigins'> => ({
  ...(linkBase === undefined ? {} : { linkBase }),
  ...(codec.level < COPIES_FROM ? { withoutCopies: true } : {}),
  ...(codec.level < LANGUAGES_FROM ? { withoutLanguages: true } : {}),
  ...(codec.level < PEOPLE_FROM ? { withoutOrigins: true } : {}),
});

const peopleOf = ({ publicUrl, registration, isOnLoopback }: Config): CommandPorts['people'] => ({
  passwords: argon2Passwords(),
  accessTokens: joseAccessTokens(),
  secondFactors: otpauthSecondFactors(),
  drawCode: qrCodePng,
  publicUrl,
  registration,
  isOnLoopback,
});

/** Notes and logs the events that a reader cannot read. */
const tellingUnreadable =
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

/**
 * Logs what the start finds wrong in the log and goes on: an event of a newer version stops only the readers that meet it, and nothing reads
 * an event below position 1.
 */
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

/** What the health endpoint shows of the log. */
export const logHealth = ({ logFaults }: Pick<Engine, 'logFaults'>): LogHealth => {
  const unknown = logFaults.unknown();
  return {
    unreadableEvents: logFaults.unreadable(),
    unknownEvent: unknown === undefined ? null : { position: unknown.position, type: unknown.storedType },
  };
};
