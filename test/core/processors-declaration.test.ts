/**
 * Processors that know nothing of email, made of declarations alone: a new API key is announced, and one that runs out
 * is revoked in time.
 */
import t, { type Test } from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import { apiKeyDecider, type ApiKeyCommand, type ApiKeyState } from '../../src/domain/keys/decider.js';
import type { ApiKeyEvent } from '../../src/domain/keys/events.js';
import { apiKeyStream, assertDefined, parseApiKeyId, splitStream } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { timersOf } from '../../src/domain/ports/timers.js';
import { startOf } from '../../src/event-log/event-log.js';
import type { Processor } from '../../src/processors/core/declaration.js';
import { makeProcessor } from '../../src/processors/core/processor.js';
import { declareProjection, type Handler, timersSpec } from '../../src/projections/core/projection.js';
import { makeRunner } from '../../src/projections/core/runner.js';
import { caller } from '../support/command-world.js';
import { at, T0 } from '../support/email-facts.js';
import {
  openProcessorWorld,
  until,
  workersOf,
  type Processing,
  type ProcessorWorld,
} from '../support/processor-world.js';

const STREAM = apiKeyStream(assertDefined(parseApiKeyId('key_AAAAAAAAAAAAAAAAAAAAAA'), 'API key id'));
const TIMERS = timersOf('apiKey');

/** The effect of the processors in these tests: they tell somebody, who may not listen. */
type World = { told: string[]; refuses: number };

const announceKey = (world: World, deps: Processing): Processor =>
  makeProcessor<'apiKey', ApiKeyState, ApiKeyCommand>({
    name: 'announce-key',
    kind: 'apiKey',
    decider: apiKeyDecider,
    startedBy: { ApiKeyCreated: () => 'high' },
    timers: [],
    deadlineMs: 1_000,
    act: async ({ state }) => {
      if (state.lastUsedAt !== null) return {};
      if (world.refuses > 0) {
        world.refuses -= 1;
        throw new Error('nobody listens');
      }
      world.told.push(`new key ${state.name}`);
      return {
        command: { type: 'UseApiKey', at: isoTime(deps.clock.now()) },
        line: { level: 'info', fields: {}, message: 'announced' },
      };
    },
  });

const retireKey = (world: World, deps: Processing): Processor =>
  makeProcessor<'apiKey', ApiKeyState, ApiKeyCommand>({
    name: 'retire-key',
    kind: 'apiKey',
    decider: apiKeyDecider,
    timers: [{ kind: 'expiry', read: 'due' }],
    deadlineMs: 1_000,
    act: async ({ state }) => {
      const now = isoTime(deps.clock.now());
      if (state.revokedAt !== null || state.expiresAt === null || state.expiresAt > now) return {};
      world.told.push(`old key ${state.name}`);
      return { command: { type: 'RevokeApiKey', at: now } };
    },
  });

/** The timers of keys, by a projection of their own. */
const setExpiry: Handler<Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>> = ({ event, stream, position, metadata }) => {
  const { id } = splitStream(stream);
  const { expiresAt: dueAt } = event.data;
  if (dueAt === null) return [];
  const timer = {
    id,
    seq: position,
    position,
    kind: 'expiry',
    key: stream,
    dueAt,
    priority: 'normal',
    team: metadata.teamId,
  };
  return [{ collection: TIMERS, id, next: () => timer }];
};

const expiries = declareProjection({
  name: 'expiries',
  collections: [timersSpec(TIMERS)],
  main: TIMERS,
  kinds: ['apiKey'],
  decrypts: [],
  on: {
    ApiKeyCreated: setExpiry,
    ApiKeyRevoked: ({ stream }) => [{ collection: TIMERS, id: splitStream(stream).id, next: () => undefined }],
  },
});

const openKeyWorld = async (t: Test) => {
  const processors = await openProcessorWorld(t);
  const store = await processors.readModels.projection(expiries.name, expiries.collections);
  const runner = makeRunner(expiries, {
    eventLog: processors.deps.eventLog,
    clock: processors.deps.clock,
    makeAnew: async () => {},
    store,
    pause: async () => {},
  });
  processors.run(runner.worker);
  const deps: Processing = {
    ...processors.processing,
    timersCaughtUp: (_kind, position, signal) => runner.caughtUp(position, signal),
  };
  const world: World = { told: [], refuses: 0 };
  return { processors, deps, world, declared: [announceKey(world, deps), retireKey(world, deps)] };
};

const create = (world: ProcessorWorld, expiresAt: string) =>
  world.deps.eventLog.append(
    STREAM,
    startOf(STREAM),
    apiKeyDecider.decide(
      {
        type: 'CreateApiKey',
        created: {
          at: T0,
          name: 'Shop',
          description: null,
          permissions: [],
          rateLimit: null,
          expiresAt,
          hash: 'h',
          start: 'a',
          end: 'z',
        },
      },
      undefined,
    ),
    causeOf(world.deps, caller),
  );

const typesOf = async (world: ProcessorWorld): Promise<readonly string[]> =>
  (await world.events(STREAM)).map(({ type }) => type);

void t.test(
  'an event starts the work of one processor, time that of another; each does its own and says who it was',
  async (t) => {
    const { processors, deps, world, declared } = await openKeyWorld(t);
    world.refuses = 2;
    processors.run(workersOf(deps, declared));
    await create(processors, at(60));
    await until(async () => {
      await processors.clock.advance(500);
      return world.told.length === 1;
    }, 'the key is announced, though nobody listened at first');
    t.equal(processors.logger.lines.filter(({ level }) => level === 'error').length, 2);
    await until(async () => {
      await processors.clock.advance(500);
      return (await typesOf(processors)).length === 3;
    }, 'the key is revoked');
    t.ok(
      processors.clock.now() >= Date.parse(at(60)) && processors.clock.now() <= Date.parse(at(62)),
      'when its time has come',
    );
    await processors.clock.advance(60_000);
    t.same(world.told, ['new key Shop', 'old key Shop']);
    const [created, used, revoked] = await processors.deps.eventLog.load(STREAM);
    t.match(used, {
      event: { type: 'ApiKeyUsed' },
      metadata: { actor: 'processor:announce-key', causationId: created!.metadata.eventId },
    });
    t.match(revoked, {
      event: { type: 'ApiKeyRevoked' },
      metadata: { actor: 'processor:retire-key', causationId: used!.metadata.eventId },
    });
    t.ok(typeof revoked!.metadata.fence === 'number' && revoked!.metadata.correlationId === 'request-1');
  },
);

void t.test(
  'a bus that forgets pointers delays timed work and loses none, and pointers that come twice do nothing',
  async (t) => {
    const { processors, deps, world, declared } = await openKeyWorld(t);
    let forget = 3;
    const bus: Processing['bus'] = {
      ...deps.bus,
      publish: async (processor, pointers) => {
        if (processor !== 'retire-key' || pointers.length === 0) return deps.bus.publish(processor, pointers);
        forget -= 1;
        if (forget >= 0) return [];
        const refused = await deps.bus.publish(processor, pointers);
        await deps.bus.publish(
          processor,
          pointers.map((pointer) => ({ ...pointer, id: `${pointer.id} again` })),
        );
        return refused;
      },
    };
    processors.run(workersOf({ ...deps, bus }, declared));
    await create(processors, at(1));
    await until(async () => {
      await processors.clock.advance(1_000);
      return (await typesOf(processors)).includes('ApiKeyRevoked');
    }, 'the key is revoked');
    await processors.clock.advance(60_000);
    t.same(
      world.told.filter((line) => line.startsWith('old')),
      ['old key Shop'],
    );
    t.equal(await deps.bus.depth('retire-key'), 0);
  },
);
