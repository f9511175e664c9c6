/** What the server is built from, and what Fastify's types learn about our routes and requests. */
import type {
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { auditedPersonOf, type Caller } from '../../commands/core/caller.js';
import type { AuditedCall, AuditRecorder } from '../../commands/audit/record.js';
import { callOrigin } from '../../domain/access/origins.js';
import { NO_TEAM, type TeamId } from '../../domain/core/ids.js';
import type { AuditFormat } from '../../api/audit.js';
import type { AuditPeriod, Exported } from '../../commands/audit/export.js';
import type { Commands, OAuth } from '../../commands/index.js';
import type { ReaderRequest } from '../../commands/recipients/engagement-recorder.js';
import type { AccessPermission } from '../../domain/access/permissions.js';
import type { ErrorCode } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { BodyChecks } from '../../domain/ports/body-checks.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Limiter } from '../../domain/ports/limiter.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Mailbox } from '../../domain/ports/mailbox.js';
import type { Health } from '../../domain/ports/worker.js';
import type { TrackingTokens } from '../../domain/recipients/tracking.js';
import type { Queries } from '../../projections/query-types.js';

/** How long a read waits until the read models have what was written before it. */
export const OWN_WRITES_WAIT_MS = 250;

/** The rule of one endpoint. `general`: it has no line in the table, so burst and concurrency are bounded too. */
export type RatePolicy = Readonly<{ endpoint: string; perMinute: number; general: boolean }>;

/* Tells the audit log of reads of content and of refusals, after the answer is on its way. */

/** What a route lets people and keys read: `email.read`, and of which kind it is. */
type AuditedRead = Readonly<{ action: string; target?: string }>;

const ID_CHARS_MAX = 100;

const auditedCall = (request: FastifyRequest, { teamId, actor }: Pick<Caller, 'teamId' | 'actor'>): AuditedCall => ({
  teamId,
  actor,
  requestId: request.id,
  calledFrom: () => callOrigin(request.ip ?? '', String(request.headers['user-agent'] ?? '')),
});

const targetOf = (request: FastifyRequest, kind: string | undefined): string | null => {
  const { id, batchId = id } = (request.params ?? {}) as Readonly<{ id?: string; batchId?: string }>;
  return kind === undefined || batchId === undefined ? null : `${kind}:${batchId.slice(0, ID_CHARS_MAX).toLowerCase()}`;
};

/** Every route that declares what it lets read tells of each time that it did. Others have no hook, and cost nothing. */
export const auditReads = (app: App, audit: Pick<AuditRecorder, 'read'>): void => {
  app.addHook('onRoute', (route) => {
    const { audited } = route.config ?? {};
    if (audited === undefined) return;
    const tell = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
      if (request.caller !== null && reply.statusCode < 400)
        audit.read(auditedCall(request, request.caller), audited.action, targetOf(request, audited.target));
      done();
    };
    route.onResponse = [route.onResponse ?? [], tell].flat();
  });
};

/** Refusals that tell an auditor something; of these 404 is none, for a foreign id is answered as an unknown one. */
const isDenied = (status: number): boolean => status === 401 || status === 403;

/** In: how a request failed. Nothing is told where nobody knows who called. */
export const auditDenial = (
  audit: Pick<AuditRecorder, 'denied'>,
  request: FastifyRequest,
  { code, status }: Readonly<{ code: string; status: number }>,
  fault: unknown,
): void => {
  if (!isDenied(status)) return;
  const person = auditedPersonOf(fault);
  const who = request.caller ?? request.refused ?? (person && { teamId: NO_TEAM, actor: `user:${person}` });
  if (who === undefined) return;
  const endpoint = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
  audit.denied(auditedCall(request, who), endpoint, code, null);
};

export type HttpSettings = Readonly<{
  /** Where callers reach the service, without a slash at the end. */
  publicUrl: string;
  host: string;
  port: number;
  /** Plain HTTP gets 403 HTTPS_REQUIRED, except for the health checks. */
  requireHttps: boolean;
  /** Whose X-Forwarded-* headers are believed: nobody's, everybody's, or those of these addresses and networks. */
  trustProxy: boolean | readonly string[];
  /** Serves TLS where given: PEM texts of the certificate chain and its key. */
  tls?: Readonly<{ cert: string; key: string }>;
  /** One line per request is written where this is absent or as talkative as `info`. */
  logLevel?: string;
}>;

/** Where what callers write stands in the log, and the wait until it is shown. */
type Positions = Readonly<{
  /** The position of the newest event that this process wrote for the team; 0 where there is none. */
  written: (teamId: TeamId) => number;
  /** The position of the newest event of the log. */
  head: () => Promise<number>;
  /** Waits, at most `withinMs`, until this process shows everything up to that position. */
  reached: (position: number, withinMs: number) => Promise<void>;
}>;

/** Makes spans of calls. */
export type CallTraces = Readonly<{
  /** `isOwn`: the request id came with the call. Out: undefined where this trace is not wanted. */
  begin: (
    requestId: string,
    from: Readonly<{ isOwn: boolean; traceparent: string | readonly string[] | undefined }>,
  ) => CallTrace | undefined;
}>;

type CallTrace = Readonly<{
  /** What is done in and after `next` belongs to the call. */
  run: (next: () => void) => void;
  failed: (code: ErrorCode) => void;
  end: (answer: Readonly<{ method: string; route: string; status: number; seconds: number }>) => void;
}>;

export type HttpDeps = Readonly<{
  settings: HttpSettings;
  limits: Limits;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  limiter: Limiter;
  /** Checks bodies of many members apart from the event loop. */
  bodyChecks: BodyChecks;
  commands: Commands;
  oauth: OAuth;
  queries: Queries;
  positions: Positions;
  /** The built-in mailbox, where it takes the mail, and the token of the link that opens it. */
  mailbox?: Readonly<{ mails: Mailbox; token: string }>;
  health: Health;
  version: string;
  /** Told of each answer, where figures are asked for: the route as its pattern. */
  answered?: (method: string, route: string, status: number, seconds: number) => void;
  /** Absent where no traces are wanted. */
  calls?: CallTraces;
  /** Told of what is read and who is refused. */
  audit: Pick<AuditRecorder, 'read' | 'denied'>;
  /** Reads the audit log of a team from the log itself, piece by piece; `done` is awaited before the last piece. Rejects with AUDIT_EXPORT_TOO_LARGE. */
  exportAudit: (
    team: Readonly<{ teamId: TeamId; format: AuditFormat }>,
    period: AuditPeriod,
    done: (exported: Exported) => Promise<void>,
  ) => Promise<AsyncIterable<string>>;
  /** What the pixels and links of mails lead to. */
  tracking: Readonly<{ tokens: Pick<TrackingTokens, 'openOpen' | 'openClick'>; note: (request: ReaderRequest) => void }>;
}>;

/** Who may call a route: everybody, or whoever has that permission. */
export type Access = AccessPermission | 'public';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route declares it; the server is not built otherwise. */
    access?: Access;
    /** A route of the mailbox: the cookie of its link serves in place of a key. */
    mailbox?: true;
    /** Readers of mails call it: they are answered however many come from one address, and what else a call costs is bounded by itself. */
    forReaders?: true;
    /** It belongs to no team: a person calls it, whichever teams they are in. */
    withoutTeam?: true;
    /** What it lets read of what mails say, or take away: the audit log is told each time. */
    audited?: AuditedRead;
    /** How often it may be called; set while the route is registered. */
    rate?: RatePolicy;
    /** The route takes an Idempotency-Key header. */
    idempotent?: true;
    /** The answer carries an `ETag`. */
    etag?: true;
    /** The route takes `If-Match`. */
    conditional?: true;
    /** Example bodies for the API description, by name. */
    examples?: Readonly<Record<string, Readonly<{ summary: string; value: unknown }>>>;
    /** The route takes a file as multipart/form-data, beside JSON; an object describes further fields of the form. */
    uploads?: true | Readonly<Record<string, Readonly<{ description: string; required: boolean }>>>;
    /** The media type of the body where it is no JSON. */
    reads?: string;
    /** The media types that the answer may have where it is no JSON. */
    media?: string | readonly string[];
    /** The command that the route calls: the API description names the codes that it may reject with. */
    command?: keyof Commands;
    /** Codes that the route may answer beside those of its command. */
    codes?: readonly ErrorCode[];
    /** The code with which an unknown or malformed id is answered, for the API description. */
    unknownId?: ErrorCode;
  }
  interface FastifyRequest {
    /** The span of this call, where traces are wanted. */
    trace?: CallTrace | undefined;
    /** Set before the handler of every route that needs a permission runs. */
    caller: Caller | null;
    /** Whose credential is good and was not let in. */
    refused: Pick<Caller, 'teamId' | 'actor'> | undefined;
    /** The body was read in several turns of the event loop; what is done with it goes on in another. */
    isLargeBody: boolean;
    /** Of a large body under an Idempotency-Key: its canonical form (RFC 8785), made where it was read. */
    canonicalBody: string | Uint8Array | undefined;
    /** Of a bulk send by a file: in which line each recipient begins. */
    recipientLines?: readonly number[];
    /** Of a write: what `Positions.written` was before it. */
    writtenBefore: number | undefined;
  }
}

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** The caller of a route that needs a permission. */
export const callerOf = (request: { readonly caller: Caller | null }): Caller => {
  if (request.caller === null) throw new Error('a route that needs a caller was reached without one');
  return request.caller;
};
