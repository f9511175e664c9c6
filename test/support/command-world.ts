/**
 * Commands over ports in memory, with the real renderer and two teams: the world in which command and processor tests
 * happen.
 */
import { systemDkimKeys } from '../../src/adapters/mail/dkim.js';
import { signatureMediaTypes } from '../../src/adapters/media-types/signatures.js';
import { openOutboundPost } from '../../src/adapters/outbound-http/post.js';
import { openOutboundHttp } from '../../src/adapters/outbound-http/fetch.js';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import { openGenerator } from '../../src/adapters/render/workers/generator.js';
import { openProviderFeedback } from '../../src/adapters/feedback/providers/provider-feedback.js';
import type { HeaderMatcher } from '../../src/domain/mime/header.js';
import type { ProviderSettings } from '../../src/domain/ports/provider-feedback.js';
import type { Caller } from '../../src/commands/core/caller.js';
import type { PeoplePorts } from '../../src/commands/access/needs.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { makeCommandNeeds, type FollowedStates } from '../../src/service/engine.js';
import { commandCodes } from '../../src/commands/index.js';
import { makeCommands, type Commands } from '../../src/commands/index.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { permissions } from '../../src/domain/access/permissions.js';
import type { SendEmailRequest } from '../../src/api/email.js';
import { openEventLog, startOf, type EventLogPorts } from '../../src/event-log/event-log.js';
import type { DomainEvent } from '../../src/domain/events.js';
import type { TxtLookup } from '../../src/domain/ports/dns.js';
import type { Generator } from '../../src/domain/ports/generator.js';
import type { Ids } from '../../src/domain/ports/ids.js';
import { assertDefined, parseTeamId, teamStream, type StreamName, type TeamId } from '../../src/domain/core/ids.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import type { CreateTemplateRequest, TemplateRecord } from '../../src/api/templates/templates.js';
import { T0 } from './email-facts.js';
import { fakeClock, type FakeClock } from './fake-clock.js';
import type { SealKey } from '../../src/domain/ports/keys.js';
import {
  countingIds,
  sealKeyOfTest,
  type MemoryEventStore,
  type MemoryFiles,
  type MemoryKeys,
} from './memory-ports.js';
import { peopleOfTest } from './people.js';
import { openStoresOfTest } from './ports-of-tests.js';

export const TEAM = assertDefined(parseTeamId('11111111-1111-4111-8111-111111111111'), 'team id');
export const OTHER_TEAM = assertDefined(parseTeamId('22222222-2222-4222-8222-222222222222'), 'team id');

const callerOf = (teamId: TeamId): Caller => ({
  teamId,
  actor: 'apiKey:key_1',
  permissions,
  correlationId: 'request-1',
});
export const caller = callerOf(TEAM);
export const stranger = callerOf(OTHER_TEAM);

/** The beginning of the links of mails. */
export const LINK_BASE = 'https://mail.example.com';

/** The sender of account mails. */
export const ACCOUNT_SENDER = { email: 'accounts@service.test', name: 'Accounts' };

/** Commands that may reject with no other codes than those that the API description names for them. */
export const commandsOfTest = (deps: CommandNeeds): Commands =>
  Object.fromEntries(
    Object.entries(makeCommands(deps)).map(([name, command]) => [
      name,
      async (...args: never[]) => {
        try {
          return await (command as (...args: never[]) => Promise<unknown>)(...args);
        } catch (fault) {
          if (fault instanceof DomainError && !commandCodes[name as keyof Commands].includes(fault.code))
            throw new Error(`${name} rejects with ${fault.code}, which the index.ts of its capability does not name`, {
              cause: fault,
            });
          throw fault;
        }
      },
    ]),
  ) as Commands;

/** A team that has sent nothing in the month in which its billing is changed. */
export const nothingUsed = async () => ({ emails: 0, attachments: 0 });

export type World = Readonly<{
  deps: CommandNeeds & FollowedStates;
  commands: Commands;
  clock: FakeClock;
  store: MemoryEventStore;
  keys: MemoryKeys;
  files: MemoryFiles;
  /** Message-IDs of which every copy was to be forgotten, in order. */
  copiesForgotten: readonly string[];
  /** The records under a name; other names have none. */
  dns: Map<string, TxtLookup>;
  /** The events of a stream. */
  events: (stream: StreamName) => Promise<readonly DomainEvent[]>;
  /** Deps of another process on equal ports, with empty caches. */
  elsewhere: () => CommandNeeds & FollowedStates;
}>;

/** `stores`: of a world that is there, with its teams; `ids` then gives others than that world did. */
export type Kept = Readonly<{
  stores?: ReturnType<typeof openStoresOfTest>;
  ids?: Ids;
  clock?: FakeClock;
  people?: Partial<PeoplePorts>;
  generator?: Generator;
  onAppended?: EventLogPorts['onAppended'];
  /** The mail providers whose events are taken; default: none. */
  providers?: ProviderSettings;
  /** The instructions to relays that callers may give; default: none. */
  allowsHeader?: HeaderMatcher;
}>;

/** `servesAlone`: whether no other process is said to serve. */
export const openWorld = async (
  limits: Partial<Limits> = {},
  servesAlone = async (): Promise<boolean> => true,
  {
    stores,
    ids = countingIds(),
    clock = fakeClock(Date.parse(T0)),
    people = {},
    generator,
    onAppended,
    providers,
    allowsHeader,
  }: Kept = {},
): Promise<World> => {
  const { store, keys, files } = stores ?? openStoresOfTest();
  const copiesForgotten: string[] = [];
  const dns = new Map<string, TxtLookup>();
  const bounds: Limits = { ...defaultLimits, ...limits };
  const key = await sealKeyOfTest();
  const sealKey = async (): Promise<SealKey> => key;
  const open = (): CommandNeeds & FollowedStates => {
    const eventLog = openEventLog({
      ...{ store, keys, files, ids, clock, limits: bounds, sealKey },
      ...(onAppended === undefined ? {} : { onAppended }),
    });
    const outbound = openOutboundHttp();
    return makeCommandNeeds({
      store,
      servesAlone,
      eventLog,
      keys,
      files,
      mailCopies: { forgetCopies: async (messageId) => void copiesForgotten.push(messageId) },
      renderer: openRenderer({ limits: bounds }),
      generator: generator ?? openGenerator({ limits: bounds, clock }),
      outbound,
      webhooks: { outbound: openOutboundPost({ insecureHosts: ['127.0.0.1'] }), insecureHosts: ['127.0.0.1'] },
      mediaTypes: signatureMediaTypes(),
      dns: {
        txt: async (name) => dns.get(name) ?? { kind: 'none' },
        mx: async () => ({ kind: 'none' }),
        cname: async (name) => {
          const found = dns.get(name) ?? { kind: 'none' };
          return found.kind === 'found' ? { kind: 'found', hosts: found.texts } : found;
        },
      },
      dkimKeys: systemDkimKeys(),
      people: peopleOfTest(people),
      spfMechanisms: 'mx',
      ...(providers === undefined
        ? {}
        : { providerFeedback: openProviderFeedback({ settings: providers, outbound, clock }) }),
      ...(allowsHeader === undefined ? {} : { allowsHeader }),
      linkBase: LINK_BASE,
      accountSender: ACCOUNT_SENDER,
      clock,
      ids,
      limits: bounds,
    });
  };
  const deps = open();
  for (const teamId of stores === undefined ? [TEAM, OTHER_TEAM] : []) {
    const settings = {
      name: 'Shop',
      defaultFrom: { email: 'default@example.com', name: 'Default' },
      company: { ...emptyCompany, name: 'Example Ltd' },
    };
    const cause = { teamId, actor: 'system', correlationId: 'start', causationId: 'start', at: T0 };
    await deps.eventLog.append(
      teamStream(teamId),
      startOf(teamStream(teamId)),
      [{ type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } }],
      cause,
    );
  }
  return {
    deps,
    clock,
    store,
    keys,
    files,
    copiesForgotten,
    dns,
    commands: commandsOfTest(deps),
    elsewhere: open,
    events: async (stream) => (await deps.eventLog.load(stream)).map(({ event }) => event),
  };
};

export const welcome: CreateTemplateRequest = {
  slug: 'welcome',
  name: 'Welcome',
  subject: 'Hello {{name}}',
  variables: [{ name: 'name', type: 'string', required: true }],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main',
        components: [{ id: 'text', type: 'rich-text', content: '<p>Dear {{name}}, from {{__COMPANY_NAME__}}</p>' }],
      },
    ],
  },
  publish: true,
};

/** A template whose text says which version it is. */
export const schemaSaying = (text: string) => ({
  sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: `<p>${text}</p>` }] }],
});

export const withTemplate = async (
  limits: Partial<Limits> = {},
  kept: Kept = {},
): Promise<World & Readonly<{ template: TemplateRecord }>> => {
  const world = await openWorld(limits, undefined, kept);
  // Warnings belong to the answer of the save.
  const { warnings: _warnings, ...template } = await world.commands.createTemplate(caller, welcome);
  return { ...world, template };
};

/** A send call with nothing but what is needed. */
export const simple = (more: Partial<SendEmailRequest> = {}): SendEmailRequest => ({
  templateId: 'welcome',
  to: [{ email: 'ann@example.org' }],
  variables: { name: 'Ann' },
  ...more,
});
