/** What commands are made of: the ports they need, the bounds in force, and the states they read often. */
import type { Caller } from './caller.js';
import { isoMoment } from './remembered.js';
import { cachedLoader, type Loaded } from './command-handler.js';
import { attachmentTemplateDecider, type AttachmentTemplateState } from '../domain/attachment-template/state.js';
import { apiKeyDecider, type ApiKeyState } from '../domain/api-key/state.js';
import type { Cause, EventLog } from '../event-log/event-log.js';
import type { StreamName } from '../domain/ids.js';
import type { Limits } from '../domain/limits.js';
import type { MaybePromise } from '../domain/maybe-promise.js';
import type { Clock } from '../domain/ports/clock.js';
import type { Files } from '../domain/ports/files.js';
import type { Generator } from '../domain/ports/generator.js';
import type { Ids } from '../domain/ports/ids.js';
import type { Keys } from '../domain/ports/keys.js';
import type { MediaTypes } from '../domain/ports/media-types.js';
import type { OutboundHttp } from '../domain/ports/outbound-http.js';
import type { Renderer } from '../domain/ports/renderer.js';
import { evolveTeam, type TeamState } from '../domain/team/state.js';
import { evolveSlug, type SlugState } from '../domain/template/lifecycle.js';
import { templateDecider, type TemplateState } from '../domain/template/state.js';

export type CommandPorts = Readonly<{
  eventLog: EventLog;
  keys: Pick<Keys, 'fingerprint'>;
  files: Files;
  renderer: Renderer;
  generator: Generator;
  outbound: OutboundHttp;
  mediaTypes: MediaTypes;
  clock: Clock;
  ids: Ids;
  limits: Limits;
}>;

type Load<State> = (stream: StreamName) => MaybePromise<Loaded<State>>;

export type CommandDeps = CommandPorts &
  Readonly<{
    template: Load<TemplateState>;
    attachmentTemplate: Load<AttachmentTemplateState>;
    slug: Load<SlugState>;
    team: Load<TeamState>;
    apiKey: Load<ApiKeyState>;
  }>;

const STATES_MAX = 1_000;

export const makeCommandDeps = (ports: CommandPorts): CommandDeps => ({
  ...ports,
  template: cachedLoader(ports.eventLog, templateDecider, STATES_MAX),
  attachmentTemplate: cachedLoader(ports.eventLog, attachmentTemplateDecider, STATES_MAX),
  slug: cachedLoader(ports.eventLog, { evolve: evolveSlug, initialState: undefined }, STATES_MAX),
  team: cachedLoader(ports.eventLog, { evolve: evolveTeam, initialState: undefined }, STATES_MAX),
  apiKey: cachedLoader(ports.eventLog, apiKeyDecider, STATES_MAX * 10),
});

/** In: who calls. Out: the metadata of the events that the call causes, at the moment of now. */
export const causeOf = (deps: Pick<CommandPorts, 'clock'>, caller: Caller): Cause => ({
  teamId: caller.teamId,
  actor: caller.actor,
  correlationId: caller.correlationId,
  causationId: caller.correlationId,
  at: isoMoment(deps.clock.now()),
});
