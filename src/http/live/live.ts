/** The route of live events: Server-Sent Events for the page of a signed-in person (HTML Living Standard, section 9.2). */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { LiveChangesSchema, LiveQuerySchema } from '../../api/live.js';
import type { Caller } from '../../commands/core/caller.js';
import { isAllowed } from '../../domain/access/permissions.js';
import { DomainError } from '../../domain/core/errors.js';
import { permissionOfTopic, type LiveTopic } from '../../domain/live/changes.js';
import {
  STREAMS_MAX,
  STREAMS_OF_PERSON_MAX,
  type LiveFeed,
  type LiveMessage,
  type LiveOutlet,
  type LiveRequest,
} from '../../projections/live/feed.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { accessCookie, assertOwnPage } from '../server/cookies.js';
import { isRepeated } from '../server/headers.js';
import { untilClosed } from '../server/hooks.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'live' | 'settings'>;

const MEDIA_TYPE = 'text/event-stream';

/** How long a browser waits before it connects again. */
const RECONNECT_MS = 3_000;
/** Text that waits for a slow reader, beside one message that may exceed it. */
const UNREAD_CHARS_MAX = 64 * 1_024;
/** A browser frees the place of a closed stream at once. */
const RETRY_AFTER_S = 5;

/** A position as an event has it: its digits are those of an exact whole number. */
const POSITION = /^(?:0|[1-9]\d{0,15})$/;

/** Registers GET /api/stream. */
export const liveRoutes = (app: App, deps: Deps): void => {
  app.get(
    '/api/stream',
    {
      config: { access: 'team:read', media: MEDIA_TYPE, codes: ['FORBIDDEN', 'VALIDATION_ERROR'] },
      preValidation: coerceQuery(LiveQuerySchema),
      schema: {
        summary: 'Follow what changes',
        description: `Server-Sent Events for the page of a signed-in person; the team is named by \`?team=\`. \`open\` comes first, then \`changes\` with the new items of lists, at most four times a second. \`reset\`: something was missed, so read the lists again. \`end\`: the service ends the stream (\`no-access\`, \`stopping\`). A person has at most ${STREAMS_OF_PERSON_MAX} streams in one process. Only the cookie of a session opens it; no key does.`,
        operationId: 'followChanges',
        tags: ['Live events'],
        querystring: LiveQuerySchema,
        response: { 200: LiveChangesSchema },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const topics = [...new Set(request.query.topics)];
      const person = personOf(request, deps);
      assertTopics(caller, topics);
      // Its body is not sent.
      if (request.method === 'HEAD') return reply.type(MEDIA_TYPE).send('' as never);
      const { sessionId, id } = person;
      const outlet = openOutlet(deps.live.wake);
      const opened = await deps.live.open({
        teamId: caller.teamId,
        person: id,
        topics,
        after: positionOf(request, request.query.lastEventId),
        isAllowed: async () => {
          const held = await deps.commands.permissionsInSession({ userId: id, sessionId }, caller.teamId);
          return held !== undefined && topics.every((topic) => isAllowed(held, permissionOfTopic[topic]));
        },
        outlet,
        gone: untilClosed(reply),
      });
      if (opened !== 'opened') throw refusal(opened);
      // Proxies such as nginx would hold events back to fill a buffer. The schema describes the data of an event.
      return (
        reply
          .type(MEDIA_TYPE)
          .header('x-accel-buffering', 'no')
          // A stop of the service does not wait for the connection after the last event.
          .header('connection', 'close')
          .send(outlet.body as never)
      );
    },
  );
};

/** The person whose cookie opens the stream. Throws FORBIDDEN and CSRF_REJECTED. */
const personOf = (request: FastifyRequest, deps: Pick<Deps, 'settings'>) => {
  const { user } = callerOf(request);
  if (accessCookie(request) === undefined || user?.sessionId === undefined)
    throw new DomainError(
      'FORBIDDEN',
      'Live events are for the page of a signed-in person: the cookie of a session opens the stream, and no Authorization header does. Programs get webhooks.',
    );
  // Streams are few, so a page of another origin shall not take their places.
  assertOwnPage(request, deps);
  return { id: user.id, sessionId: user.sessionId };
};

/** Throws FORBIDDEN. */
const assertTopics = ({ permissions }: Caller, topics: readonly LiveTopic[]): void => {
  for (const topic of topics) {
    const requiredPermission = permissionOfTopic[topic];
    if (!isAllowed(permissions, requiredPermission))
      throw new DomainError(
        'FORBIDDEN',
        `Your role in this team lacks the permission \`${requiredPermission}\`, which the topic \`${topic}\` needs.`,
        { relatedInfo: { requiredPermission } },
      );
  }
};

/** The header comes first: it is newer than the address of the stream. An empty one counts as none. */
const positionOf = (request: FastifyRequest, inQuery: string | undefined): LiveRequest['after'] => {
  const header = request.headers['last-event-id'];
  const given = header === undefined || header === '' ? inQuery : header;
  if (given === undefined || given === '') return undefined;
  const position =
    typeof given === 'string' && POSITION.test(given) && !isRepeated(request, 'last-event-id')
      ? Number(given)
      : Number.NaN;
  return Number.isSafeInteger(position) ? position : 'unknown';
};

const refusal = (why: Exclude<Awaited<ReturnType<LiveFeed['open']>>, 'opened'>): DomainError => {
  const again = `Try again in ${RETRY_AFTER_S} seconds.`;
  const retryAfterS = RETRY_AFTER_S;
  switch (why) {
    case 'full-person':
      return new DomainError(
        'RATE_LIMIT_EXCEEDED',
        `You have ${STREAMS_OF_PERSON_MAX} streams of live events open, as many as may be. Share one among your tabs, or close one. ${again}`,
        { retryAfterS },
      );
    case 'full':
      return new DomainError(
        'RATE_LIMIT_EXCEEDED',
        `${STREAMS_MAX} streams of live events are open in this process, as many as may be. ${again}`,
        { retryAfterS },
      );
    case 'stopping':
      return new DomainError('STORE_AWAY', `This process stops. ${again}`, { retryAfterS });
  }
};

/** The body of the answer, which takes messages until it has as much text as a reader may leave unread. */
class Body extends Readable {
  isReady = true;
  readonly #ready: () => void;

  constructor(ready: () => void) {
    super({ highWaterMark: UNREAD_CHARS_MAX, encoding: 'utf8' });
    this.#ready = ready;
  }

  /** Called when the reader takes more. */
  override _read(): void {
    if (this.isReady) return;
    this.isReady = true;
    this.#ready();
  }

  add(text: string): void {
    if (!this.readableEnded && !this.destroyed) this.isReady = this.push(text);
  }
}

const openOutlet = (wake: () => void): LiveOutlet & Readonly<{ body: Readable }> => {
  const body = new Body(wake);
  // With this text the status and the headers leave at once.
  body.add(`retry: ${RECONNECT_MS}\n\n`);
  let isOver = false;
  return {
    body,
    send: (message) => {
      if (!isOver) body.add(textOf(message));
    },
    beat: () => {
      if (!isOver) body.add(':\n\n');
    },
    isReady: () => body.isReady,
    end: () => {
      if (!isOver) body.push(null);
      isOver = true;
    },
  };
};

const textOf = (message: LiveMessage): string => {
  switch (message.kind) {
    case 'open':
    case 'reset':
      return `id: ${message.position}\nevent: ${message.kind}\ndata: {}\n\n`;
    case 'changes':
      return `id: ${message.position}\nevent: changes\ndata: ${message.data}\n\n`;
    case 'end':
      return `event: end\ndata: ${JSON.stringify({ reason: message.reason })}\n\n`;
  }
};
