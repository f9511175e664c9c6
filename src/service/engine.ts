/**
 * Opens the stores that the settings name and the ports around them, and makes of them what commands need: for the
 * service and for each command of the command line.
 */
import { openAttachmentClaims } from '../commands/documents/storage.js';
import { openBacklog } from '../commands/email/backlog.js';
import { keepingOrigins, openCallOrigins } from '../commands/access/origins.js';
import { openCreditsAccounts } from '../commands/billing/credits.js';
import type { KnownToken } from '../commands/access/needs.js';
import type { CommandNeeds } from '../commands/needs.js';
import { joinedCalls } from '../commands/core/idempotency.js';
import { readingSessionsAhead } from '../commands/access/tokens.js';
import { openStateCache } from '../commands/core/state-cache.js';
import type { TokenParties } from '../domain/ports/access-tokens.js';
import { teamUseDecider } from '../domain/billing/team-use.js';
import { attachmentTemplateDecider } from '../domain/templates/attachment-template.js';
import { blockDecider } from '../domain/templates/block.js';
import { apiKeyDecider } from '../domain/keys/decider.js';
import { splitStream } from '../domain/core/ids.js';
import type { EventStore } from '../domain/ports/event-store.js';
import { oauthAppDecider } from '../domain/apps/app.js';
import { grantDecider } from '../domain/apps/grant.js';
import { emptyTokenList, evolveTokenList } from '../domain/apps/tokens.js';
import { domainClaimsFold, openClaimPlaces } from '../commands/domains/claims.js';
import { senderDomainDecider } from '../domain/domains/decider.js';
import { sessionDecider, evolveTokenKey, type TokenKeyState } from '../domain/people/session.js';
import { evolveUser, type UserState } from '../domain/people/user.js';
import { boundedCache } from '../shared/cache.js';
import { evolveTeam, type TeamState } from '../domain/teams/state.js';
import { evolveSlug } from '../domain/templates/decider.js';
import { templateDecider } from '../domain/templates/email-template.js';
import type { OutboundHttp, OutboundPost } from '../domain/ports/outbound-http.js';
import type { SignInProvider, SignInProviders } from '../domain/ports/sign-in-providers.js';
import type { ReportReader } from '../domain/ports/report-reader.js';
import { UnknownEvent, codec as ownCodec, type Codec } from '../event-log/codec.js';
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
import { openProviderFeedback } from '../adapters/feedback/providers/provider-feedback.js';
import type { NoteBlocked, NoteProviderEvent } from '../commands/recipients/needs.js';
import { openReturnPath } from '../domain/email/feedback.js';
import { joseAccessTokens } from '../adapters/access-tokens/jose.js';
import { argon2Passwords } from '../adapters/passwords/argon2.js';
import { otpauthSecondFactors } from '../adapters/second-factor/otpauth.js';
import { qrCodePng } from '../adapters/render/qr-code.js';
import { openRenderer } from '../adapters/render/email/renderer.js';
import { openGenerator } from '../adapters/render/workers/generator.js';
import { hasRelay, type Config } from './settings/config.js';
import { openStores, type Stores } from './stores/stores.js';
import type { Clock } from '../domain/ports/clock.js';
import { matcherOf } from '../domain/mime/header.js';
import type { Keys, Sealing } from '../domain/ports/keys.js';
import { openSealedUnder } from '../event-log/ledger.js';
import type { SealedUnder } from '../event-log/encode.js';
import { keepSeal, keptSeals, openSealKeys } from '../adapters/keys/key-files.js';
import type { Generator } from '../domain/ports/generator.js';
import type { Renderer } from '../domain/ports/renderer.js';
import type { MailCopies } from '../domain/ports/mailbox.js';

const STATES_MAX = 1_000;

/** The keys of the present period and of those before and after it. */
const TOKEN_KEYS_MAX = 8;

export type Engine = CommandNeeds &
  FollowedStates &
  Stores &
  Readonly<{
    logger: Logger;
    /** The events that could not be read so far. */
    logFaults: LogFaults;
    /** Reads and writes the stored form of events. */
    codec: Codec;
    /** The keys under which the log is sealed, and where seals are told. */
    sealing: Sealing;
    /**
     * The key under which events are appended. Rejects with SealKeyMissing if the log is sealed under one that is not
     * given.
     */
    sealKey: SealedUnder;
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
  /** Place of copies of mails; absent: no copies are kept. */
  mailCopies?: MailCopies;
  /**
   * The events that are read and written: tests run a newer program beside this one. Default: those of this version.
   */
  codec?: Codec;
  /** Called for each domain that blocks our mail; absent if nobody counts them. */
  noteBlocked?: NoteBlocked;
  /** Called for each event of a mail provider; absent if nobody counts them. */
  noteProviderEvent?: NoteProviderEvent;
  /** Whether no other process serves requests from these stores; if absent, that is not known. */
  servesAlone?: () => Promise<boolean>;
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
  const { onAppended, codec = ownCodec } = options;
  const { wrapStore = same, wrapKeys = same, wrapRenderer = same, wrapGenerator = same } = options;
  const [store, keys] = [wrapStore(stores.store), wrapKeys(stores.keys)];
  const renderer = wrapRenderer(openRenderer({ limits }));
  const generator = wrapGenerator(openDocuments(config, { clock, logger }));
  const outbound = outboundHttpWhenNeeded();
  const people = peopleOf(config, { clock, logger });
  const webhooks = {
    outbound: outboundPostWhenNeeded(config.webhookInsecureHosts),
    insecureHosts: config.webhookInsecureHosts,
  };
  const logFaults = openLogFaults();
  const sealing = sealingOf(config, keys);
  const sealKey: SealedUnder = openSealedUnder(store, sealing);
  const eventLog = openEventLog({
    store,
    keys,
    files,
    ids,
    clock,
    limits,
    codec,
    sealKey,
    onUnreadable: tellingUnreadable(logFaults, logger),
    ...(onAppended === undefined ? {} : { onAppended }),
  });
  return {
    ...makeCommandNeeds({
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
      people,
      spfMechanisms: config.spfMechanisms,
      ...feedbackOf(config, keys),
      ...(options.noteBlocked === undefined ? {} : { noteBlocked: options.noteBlocked }),
      ...(options.noteProviderEvent === undefined ? {} : { noteProviderEvent: options.noteProviderEvent }),
      ...providerFeedbackOf(config, { outbound, clock }),
      ...(config.linkBase === undefined ? {} : { linkBase: config.linkBase }),
      ...(hasRelay(config) ? { hasRelay: true } : {}),
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
    sealing,
    sealKey,
    close: async () => {
      for (const port of [generator, outbound, webhooks.outbound, renderer, people.providers, stores])
        await port.close();
    },
  };
};

const sealingOf = ({ seals: { keys: texts, command, lost, webhook, file } }: Config, keys: Keys): Sealing => ({
  keys: openSealKeys({ texts, command }, keys),
  isSet: texts.length > 0 || command !== undefined,
  lost,
  webhook,
  keep: async (seal) => (file === undefined ? undefined : keepSeal(file, seal)),
  kept: async () => (file === undefined ? new Map() : keptSeals(file)),
});

const same = <Port>(port: Port): Port => port;

const openDocuments = ({ limits, fontsDir }: Config, deps: Readonly<{ clock: Clock; logger: Logger }>): Generator =>
  openGenerator({
    limits,
    keepsReady: limits.generatorReadyMs > 0,
    ...deps,
    ...(fontsDir === undefined ? {} : { fontsDir }),
  });

const feedbackOf = ({ feedback: settings }: Config, keys: Keys): Pick<CommandNeeds, 'feedback'> => {
  if (settings === undefined) return {};
  const { domain, name } = settings;
  return {
    feedback: {
      returnPath: openReturnPath(domain, keys),
      at: { domain, host: name },
      reader: reportReaderWhenNeeded(),
    },
  };
};

const providerFeedbackOf = (
  { providers: settings }: Config,
  parts: Pick<CommandNeeds, 'outbound' | 'clock'>,
): Pick<CommandNeeds, 'providerFeedback'> =>
  Object.keys(settings).length === 0 ? {} : { providerFeedback: openProviderFeedback({ settings, ...parts }) };

const peopleOf = (
  { publicUrl, registration, appsRegister, isOnLoopback, signInProviders }: Config,
  deps: Readonly<{ clock: Clock; logger: Logger }>,
): CommandNeeds['people'] => ({
  passwords: argon2Passwords(),
  accessTokens: joseAccessTokens(),
  secondFactors: otpauthSecondFactors(),
  drawCode: qrCodePng,
  publicUrl,
  registration,
  appsRegister,
  isOnLoopback,
  providers: providersWhenNeeded(signInProviders, deps),
});

/** Loads the client of sign-in providers with the first sign-in by one. */
const providersWhenNeeded = (
  all: readonly SignInProvider[],
  deps: Readonly<{ clock: Clock; logger: Logger }>,
): SignInProviders => {
  let opened: Promise<SignInProviders> | undefined;
  const open = async (): Promise<SignInProviders> => {
    const [{ openIdProviders }, { openProviderFetch }] = await Promise.all([
      import('../adapters/sign-in/openid.js'),
      import('../adapters/outbound-http/fetch.js'),
    ]);
    const internalHosts = new Set(
      all.filter(({ isInternal }) => isInternal).map(({ issuer }) => new URL(issuer).hostname),
    );
    return openIdProviders(all, { ...deps, ...openProviderFetch({ internalHosts }) });
  };
  const providers = (): Promise<SignInProviders> => (opened ??= open());
  return {
    all,
    begin: async (...given) => (await providers()).begin(...given),
    finish: async (...given) => (await providers()).finish(...given),
    close: async () => (await opened)?.close(),
  };
};

/** Notes and logs the events that a reader cannot read. */
const tellingUnreadable =
  (logFaults: LogFaults, logger: Logger): NonNullable<EventLogPorts['onUnreadable']> =>
  (event) => {
    logFaults.note(event);
    const { stream, position, storedType, unreadable } = event;
    logger.error(
      { stream, position, storedType, err: unreadable },
      unreadable instanceof UnknownEvent
        ? 'an event was written by a newer version of sealpost; its own stream waits for that version, all others go on'
        : 'an event cannot be read; readers of the whole log go on without it',
    );
  };

/**
 * Logs what the start finds wrong in the log and goes on: an event of a newer version stops only the readers that meet
 * it, and nothing reads an event below position 1.
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

/** Log health for the health endpoint. */
export const logHealth = ({ logFaults }: Pick<Engine, 'logFaults'>): LogHealth => {
  const unknown = logFaults.unknown();
  return {
    unreadableEvents: logFaults.unreadable(),
    unknownEvent: unknown === undefined ? null : { position: unknown.position, type: unknown.storedType },
  };
};

type StatePorts = Readonly<{
  store: Pick<EventStore, 'head' | 'subscribeAll'>;
  /** True if it is known that no other process serves requests from these stores. */
  servesAlone: () => Promise<boolean>;
}>;

/** The needs that the composition root opens; the rest is made from them. */
type CommandPorts = Pick<
  CommandNeeds,
  | 'eventLog'
  | 'keys'
  | 'files'
  | 'mailCopies'
  | 'renderer'
  | 'generator'
  | 'outbound'
  | 'webhooks'
  | 'mediaTypes'
  | 'dns'
  | 'dkimKeys'
  | 'people'
  | 'spfMechanisms'
  | 'linkBase'
  | 'hasRelay'
  | 'accountSender'
  | 'clock'
  | 'ids'
  | 'limits'
  | 'allowsHeader'
  | 'feedback'
  | 'noteBlocked'
  | 'providerFeedback'
  | 'noteProviderEvent'
>;

/** The states that commands read from memory follow the log. */
export type FollowedStates = Readonly<{
  /**
   * Follows the log until the signal aborts. `serving`: this process answers requests and therefore reads sessions when
   * they begin.
   */
  followStates: (signal: AbortSignal, serving?: 'serving') => Promise<void>;
  /** Resolves when the states include the events up to that position, or the signal aborts. */
  statesCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
}>;

/** Makes what all commands need from the ports. */
export const makeCommandNeeds = ({
  store,
  servesAlone,
  ...ports
}: CommandPorts & StatePorts): CommandNeeds & FollowedStates => {
  const freshnessMs = ports.limits.stateFreshnessMs;
  const states = openStateCache({ eventLog: ports.eventLog, store, clock: ports.clock, freshnessMs });
  const origins = openCallOrigins(states.eventLog);
  const eventLog = { ...states.eventLog, append: keepingOrigins(states.eventLog, origins) };
  const team = states.loader({ evolve: evolveTeam, initialState: undefined as TeamState }, STATES_MAX);
  const user = states.loader({ evolve: evolveUser, initialState: undefined as UserState }, STATES_MAX * 10, {
    decrypt: [],
  });
  const session = states.loader(sessionDecider, STATES_MAX * 10, { decrypt: [] });
  const tokens = {
    tokenKey: states.loader({ evolve: evolveTokenKey, initialState: undefined as TokenKeyState }, TOKEN_KEYS_MAX),
    knownTokens: boundedCache<string, KnownToken>({ entriesMax: ports.limits.accessTokensKept }),
    tokenParties: partiesOf(ports),
  };
  const ahead = readingSessionsAhead({ ...ports, ...tokens, session, user });
  return {
    ...ports,
    eventLog,
    origins,
    credits: openCreditsAccounts({ eventLog, team, clock: ports.clock }),
    template: states.loader(templateDecider, STATES_MAX),
    attachmentTemplate: states.loader(attachmentTemplateDecider, STATES_MAX),
    block: states.loader(blockDecider, STATES_MAX),
    slug: states.loader({ evolve: evolveSlug, initialState: undefined }, STATES_MAX),
    team,
    apiKey: states.loader(apiKeyDecider, STATES_MAX * 10),
    oauthApp: states.loader(oauthAppDecider, STATES_MAX),
    oauthGrant: states.loader(grantDecider, STATES_MAX),
    oauthTokens: states.loader({ evolve: evolveTokenList, initialState: emptyTokenList }, STATES_MAX),
    teamUse: states.loader(teamUseDecider, STATES_MAX, { absent: true }),
    user,
    session,
    ...tokens,
    senderDomains: states.loader(senderDomainDecider, STATES_MAX, { absent: true, decrypt: [] }),
    domainClaims: states.loader(domainClaimsFold, STATES_MAX, { absent: true }),
    claimPlaces: openClaimPlaces(ports),
    joinSends: joinedCalls(),
    joinSeveral: joinedCalls(),
    joinBulkSends: joinedCalls(),
    backlog: openBacklog(ports.limits),
    attachmentClaims: openAttachmentClaims(ports.limits),
    followStates: (signal, serving) =>
      states.follow(signal, serving && ((stream) => void (splitStream(stream).kind === 'session' && ahead(stream)))),
    statesCaughtUp: states.caughtUp,
    whenHeldEverywhere: async () => {
      if (!(await servesAlone())) await ports.clock.sleep(freshnessMs, new AbortController().signal);
    },
  };
};

/**
 * The audience is derived from the master key: tokens of another instance are for another audience, even under the same
 * address.
 */
const partiesOf = ({ keys, people }: Pick<CommandNeeds, 'keys' | 'people'>): TokenParties => ({
  issuer: people.publicUrl,
  audience: `sealpost:${keys.fingerprint('instance', '').slice(0, 16)}`,
});

/** Loads the HTTP client with the first fetch or post: it takes memory that many services never need. */
const outboundHttpWhenNeeded = (): OutboundHttp => {
  let opened: Promise<OutboundHttp> | undefined;
  const open = (): Promise<OutboundHttp> =>
    (opened ??= import('../adapters/outbound-http/fetch.js').then(({ openOutboundHttp }) => openOutboundHttp()));
  return {
    get: async (url, options) => (await open()).get(url, options),
    close: async () => (await opened)?.close(),
  };
};

const outboundPostWhenNeeded = (insecureHosts: readonly string[]): OutboundPost => {
  let opened: Promise<OutboundPost> | undefined;
  let now: OutboundPost | undefined;
  const open = (): Promise<OutboundPost> =>
    (opened ??= import('../adapters/outbound-http/post.js').then(
      ({ openOutboundPost }) => (now = openOutboundPost({ insecureHosts })),
    ));
  return {
    post: (url, options) =>
      now === undefined ? open().then((opened) => opened.post(url, options)) : now.post(url, options),
    forget: (sender) => now?.forget(sender),
    close: async () => (await opened)?.close(),
  };
};

/** Loads the reader of reports when the first report comes: most processes never see one. */
const reportReaderWhenNeeded = (): ReportReader => {
  let reader: Promise<ReportReader> | undefined;
  return {
    read: async (raw) =>
      (
        await (reader ??= import('../adapters/feedback/read-report.js').then(({ openReportReader }) =>
          openReportReader(),
        ))
      ).read(raw),
  };
};
