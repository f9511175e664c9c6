/** The HTTP server over real commands and queries, on ports in memory and the founded world. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { System } from '../../src/api/core/system.js';
import { openMemoryLimiter } from '../../src/adapters/limiter/memory.js';
import { openSqliteReadModels } from '../../src/adapters/read-models/sqlite.js';
import { openAuditExport } from '../../src/commands/audit/export.js';
import { openAuditRecorder } from '../../src/commands/audit/record.js';
import { openRequestLogRecorder } from '../../src/commands/audit/request-log.js';
import { openOAuth } from '../../src/commands/index.js';
import { openEngagementRecorder } from '../../src/commands/recipients/engagement-recorder.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import type { HealthReason, LogHealth, WorkerHealth } from '../../src/domain/core/readiness.js';
import type { BodyChecks, BodyToCheck } from '../../src/domain/ports/body-checks.js';
import type { Generator } from '../../src/domain/ports/generator.js';
import type { Mailbox, MailboxMessage } from '../../src/domain/ports/mailbox.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import { openTrackingTokens } from '../../src/domain/recipients/tracking.js';
import { buildServer, type HttpDeps, type HttpSettings } from '../../src/http/index.js';
import type { App } from '../../src/http/server/context.js';
import checkApart from '../../src/http/server/json/large-body.js';
import type { Projection } from '../../src/projections/core/projection.js';
import { openOwnWrites } from '../../src/projections/core/runner.js';
import { makeProjections } from '../../src/projections/index.js';
import { openLiveFeed } from '../../src/projections/live/feed.js';
import { openLiveItems } from '../../src/projections/live/items.js';
import { makeQueries } from '../../src/projections/queries.js';
import { openWorld, OTHER_TEAM, TEAM, type World } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { countingIds, memoryLog, memoryRequestLog, type LogLine } from '../support/memory-ports.js';
import { quickPasswords } from '../support/people.js';
import { readingFrom } from '../support/ports-of-tests.js';
import { recordingGenerator } from '../support/recording-generator.js';
import { projectIn } from '../support/projected.js';
import { copyOfFounded } from './founded.js';

export * from './founded.js';
export { OTHER_TEAM, TEAM };
export const NOW = T0;

export const MAILBOX_TOKEN = 'x7Qm-token-of-the-mailbox_000000';

export const mailMessage: MailboxMessage = {
  id: 'm1',
  from: { address: 'shop@example.com', name: 'Shop' },
  to: [{ address: 'jane@example.com', name: 'Jane' }],
  subject: 'Ordér',
  receivedAt: NOW,
  sizeBytes: 42,
  cc: [],
  envelope: { from: 'shop@example.com', to: ['jane@example.com', 'hidden@example.com'] },
  html: '<html><head><style>@media (prefers-color-scheme: dark) {p{color:#fff}}</style></head><body><img src="cid:logo@x"><script>alert(1)</script></body></html>',
  text: 'Hello',
  headers: [{ name: 'Subject', value: 'Ordér' }],
  attachments: [
    { filename: 'löschen"\r\n.svg', contentType: 'text/html', contentId: null, sizeBytes: 4 },
    { filename: 'logo.png', contentType: 'image/png', contentId: '<logo@x>', sizeBytes: 3 },
    { filename: 'x', contentType: 'bad type\r\nx: y', contentId: null, sizeBytes: 1 },
  ],
};

export const RAW = Buffer.from('Subject: x\r\n\r\n\xff\xfe\x00bytes', 'latin1');

/** The headers of a browser that has opened the link of the mailbox. */
export const opened = { cookie: `other=1; sealpost_mailbox_3000=${MAILBOX_TOKEN}` };

export const memoryMailbox = (held: readonly MailboxMessage[] = [mailMessage]): Mailbox => {
  let messages: MailboxMessage[] = [...held];
  const find = (id: string): MailboxMessage | undefined => messages.find((message) => message.id === id);
  return {
    list: async ({ page, limit }) => ({
      entries: messages.slice((page - 1) * limit, page * limit),
      total: messages.length,
    }),
    get: async (id) => find(id),
    raw: async (id) => (find(id) === undefined ? undefined : RAW),
    attachment: async (id, index) => {
      const attachment = find(id)?.attachments[index];
      return attachment === undefined ? undefined : { attachment, content: Buffer.from('abc') };
    },
    clear: async () => {
      const count = messages.length;
      messages = [];
      return count;
    },
    forgetBefore: async () => 0,
    forgetCopies: async () => {},
  };
};

/** A send body that the template of the founded world takes. */
export const sendBody = { templateId: 'welcome', to: [{ email: 'jane@example.com' }], variables: {} };

/** A record of calls: name and arguments. */
export type Call = readonly [string, ...unknown[]];

export type ServerOptions = Readonly<{
  settings?: Partial<HttpSettings>;
  limits?: Partial<Limits>;
  mailbox?: Mailbox;
  /** In place of functions of one that makes nothing. */
  generator?: Partial<Generator>;
}>;

export type Served = Readonly<{
  deps: HttpDeps;
  /** That of the newest `renew`. */
  world: () => World;
  /** Puts the founded world in the place of this one, at NOW, and forgets how often anybody called. */
  renew: () => Promise<void>;
  /** Counts the calls of everybody from none on. */
  forgetCalls: () => void;
  /** Calls of commands and queries, without those that only look up who calls. */
  calls: Call[];
  logged: LogLine[];
  clock: FakeClock;
  /** Called before every command; a rejection is the command's. */
  during: { run: (name: string) => Promise<void> | void };
  /** As long as `isHeld`, the read models learn nothing. */
  projecting: { isHeld: boolean };
  workers: WorkerHealth[];
  log: { value: LogHealth };
  noted: HealthReason[];
  accepting: { value: boolean };
  /** Bodies that were not checked in this process. */
  checkedApart: readonly BodyToCheck[];
  /** Calls of the audit log. */
  audited: readonly (readonly unknown[])[];
  /** Ends all streams of live events, and lets no other begin. */
  endLive: () => void;
  close: () => Promise<void>;
}>;

/** They look up who calls, or open what a call carries. */
const lookups = new Set([
  'authenticate',
  'permissionsInSession',
  'readJsonWebKeys',
  'loginBucketOf',
  'ownLoginBucket',
  'addressLinkBucket',
  'signInLinkBucket',
  'checkLink',
  'csrfTokenOf',
  'sessionOfRefreshToken',
  'recipientsOfFile',
  'isConfidentialMail',
  'openPreviewLink',
  'readAudit',
  'nameCalls',
  'teamsOfUser',
]);

/** The functions that `part` has at the moment of each call, which is told first. */
const watched = <Part extends object>(part: () => Part, told: (call: Call) => Promise<void> | void): Part =>
  Object.fromEntries(
    Object.keys(part()).map((name) => [
      name,
      (...given: unknown[]) => {
        const run = (): unknown => (part()[name as keyof Part] as (...given: unknown[]) => unknown)(...given);
        const before = lookups.has(name) ? undefined : told([name, ...given]);
        return before === undefined ? run() : before.then(run);
      },
    ]),
  ) as Part;

/** Real read models, opened when they are first read; each reading first folds what was appended for its collection. */
const openProjected = (world: World, limits: Limits, projecting: Served['projecting']) => {
  const projections = makeProjections(limits);
  const positions = new Map<Projection, number>();
  let opened: Readonly<{ models: ReadModels; directory: string }> | undefined;
  let folding: Promise<unknown> = Promise.resolve();
  const fold = async (models: ReadModels, projection: Projection): Promise<void> => {
    if (projecting.isHeld) return;
    for await (const { events, position } of world.deps.eventLog.readAll(positions.get(projection) ?? 0)) {
      await projectIn(models, projection, events);
      positions.set(projection, position);
    }
  };
  const read = async (collection: string): Promise<ReadModels> => {
    if (opened === undefined) {
      const directory = mkdtempSync(join(tmpdir(), 'sealpost-'));
      opened = { directory, models: openSqliteReadModels({ file: join(directory, 'documents.db') }) };
    }
    const { models } = opened;
    const projection = projections.find(({ collections }) => collections.some(({ name }) => name === collection));
    folding = folding.then(() => fold(models, assertDefined(projection, collection)));
    await folding;
    return models;
  };
  return {
    readModels: readingFrom(read),
    close: async () => {
      if (opened === undefined) return;
      await opened.models.close();
      rmSync(opened.directory, { recursive: true });
    },
  };
};

/** Does in this process what another one does for a server, and notes what it is given. */
const checksHere = (limits: Limits, given: BodyToCheck[]): BodyChecks => ({
  check: async (body) => {
    given.push(body);
    const answer = await checkApart(limits)(body);
    if (answer.kind === 'refused') throw new DomainError(answer.code, answer.message, answer.details);
    return answer;
  },
  close: async () => undefined,
});

/** Everything the server needs, with a clock that stands at NOW until it is moved. */
export const openDeps = async (options: ServerOptions = {}): Promise<Served> => {
  const limits = { ...defaultLimits, ...options.limits };
  const clock = fakeClock(Date.parse(NOW));
  const logger = memoryLog();
  const calls: Call[] = [];
  const during: Served['during'] = { run: () => undefined };
  const projecting = { isHeld: false };
  const audited: unknown[][] = [];
  const checkedApart: BodyToCheck[] = [];
  const workers: WorkerHealth[] = [{ name: 'relay', state: 'running', restarts: 0, lastFault: null }];
  const [accepting, noted]: [Served['accepting'], HealthReason[]] = [{ value: true }, []];
  const log: Served['log'] = { value: { unreadableEvents: 0, unknownEvent: null } };

  const open = async () => {
    const writes = openOwnWrites();
    const ids = countingIds(1_000_000);
    const world = await openWorld(limits, undefined, {
      ...{ stores: await copyOfFounded(), ids, clock, people: { passwords: quickPasswords } },
      generator: { ...recordingGenerator(), ...options.generator },
      onAppended: writes.note,
      providers: { postmark: { token: PROVIDER_TOKEN } },
    });
    const { deps, commands, keys } = world;
    const { readModels, close } = openProjected(world, limits, projecting);
    const awaitOwnWrites = async (): Promise<void> => {};
    const queries = makeQueries({ readModels, keys, clock, limits, awaitOwnWrites, waitMs: deps.backlog.waitMs });
    const requestLog = memoryRequestLog();
    const calls = { ...deps, limits, clock, logger, requestLog, ids: countingIds(), mayDestroy: () => true };
    const items = openLiveItems({ ...deps, readModels, waitMs: deps.backlog.waitMs });
    return {
      live: openLiveFeed({ ...deps, items, logger, caughtUp: async () => {} }),
      ...{ world, commands, queries, oauth: openOAuth(deps), writes, close, limiter: openMemoryLimiter({ clock }) },
      audit: openAuditRecorder({ ...deps, logger }),
      tokens: openTrackingTokens(keys),
      requestLog: { ...requestLog, ...openRequestLogRecorder(calls) },
      recorder: openEngagementRecorder({ ...deps, logger }),
    };
  };
  let now = await open();

  const deps: HttpDeps = {
    settings: {
      publicUrl: 'http://127.0.0.1:3000',
      host: '127.0.0.1',
      port: 3000,
      requireHttps: false,
      trustProxy: false,
      ...options.settings,
    },
    limits,
    clock,
    ids: now.world.deps.ids,
    logger,
    limiter: watched(
      () => now.limiter,
      () => undefined,
    ),
    bodyChecks: checksHere(limits, checkedApart),
    commands: watched(
      () => now.commands,
      async (call) => {
        calls.push(call);
        await during.run(call[0]);
      },
    ),
    oauth: watched(
      () => now.oauth,
      () => undefined,
    ),
    queries: watched(
      () => now.queries,
      (call) => void calls.push(call),
    ),
    positions: {
      written: (teamId) => now.writes.newest(teamId),
      head: () => now.world.deps.eventLog.head(),
      reached: async (...given) => void calls.push(['reached', ...given]),
    },
    live: watched(
      () => now.live,
      () => undefined,
    ),
    ...(options.mailbox === undefined ? {} : { mailbox: { mails: options.mailbox, token: MAILBOX_TOKEN } }),
    exportAudit: (...given) => openAuditExport({ ...now.world.deps, store: now.world.store }, ...given),
    audit: {
      read: (call, ...what) => {
        audited.push(['read', { ...call, ...call.calledFrom() }, ...what]);
        now.audit.read(call, ...what);
      },
      denied: (call, ...what) => {
        audited.push(['denied', { ...call, ...call.calledFrom() }, ...what]);
        now.audit.denied(call, ...what);
      },
    },
    requestLog: watched(
      () => now.requestLog,
      () => undefined,
    ),
    tracking: {
      tokens: watched(
        () => now.tokens,
        () => undefined,
      ),
      note: (seen) => {
        calls.push(['noteSeen', seen]);
        now.recorder.note(seen);
      },
    },
    system: async () => systemSeen,
    health: { accepting: () => accepting.value, workers: () => workers, log: () => log.value, noted: () => noted },
    version: '1.2.3',
  };
  return {
    ...{ deps, calls, logged: logger.lines, clock, during, projecting, workers, accepting, checkedApart, log, noted },
    audited,
    world: () => now.world,
    renew: async () => {
      await now.close();
      clock.shift(Date.parse(NOW) - clock.now());
      now = await open();
    },
    forgetCalls: () => {
      now = { ...now, limiter: openMemoryLimiter({ clock }) };
    },
    endLive: () => now.live.close(),
    close: () => now.close(),
  };
};

/** The view of operators on an instance that has no process. */
const systemSeen: System = {
  asOf: NOW,
  engine: {
    eventStore: 'memory',
    readModels: 'memory',
    keys: 'memory',
    files: 'memory',
    leases: 'memory',
    bus: 'memory',
    limiter: 'memory',
  },
  log: { head: 7, lastSeal: null, lastVerify: null },
  backups: { log: null, keys: null },
  queue: {
    high: { queued: 0, deferred: 0, held: 0, oldestDueAt: null },
    normal: { queued: 0, deferred: 0, held: 0, oldestDueAt: null },
    low: { queued: 0, deferred: 0, held: 0, oldestDueAt: null },
  },
  diskFreeBytes: 1,
  processes: [],
};

/** The secret of Postmark, the one provider whose events the server takes. */
export const PROVIDER_TOKEN = 'provider-token-of-tests';

/** A server that is closed after the test. `routes`: more of them. */
export const openServer = async (
  t: Pick<Test, 'teardown'>,
  options: ServerOptions = {},
  routes?: (app: App) => void,
): Promise<Served & Readonly<{ app: App }>> => {
  const made = await openDeps(options);
  const app = await buildServer(made.deps, routes);
  t.teardown(async () => {
    made.endLive();
    await app.close();
    await made.close();
  });
  return { ...made, app };
};
