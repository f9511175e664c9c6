/** Context of the server, and the types of our routes and requests for Fastify. */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Caller } from '../../commands/core/caller.js';
import type { AuditRecorder } from '../../commands/audit/record.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { AuditFormat } from '../../api/audit.js';
import type { System } from '../../api/core/system.js';
import type { RequestLogRecorder } from '../../commands/audit/request-log.js';
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
import type { RequestLog } from '../../domain/ports/request-log.js';
import type { Health } from '../../domain/ports/worker.js';
import type { TrackingTokens } from '../../domain/recipients/tracking.js';
import type { LiveFeed } from '../../projections/live/feed.js';
import type { Queries } from '../../projections/query-types.js';

/** How long a read waits until the read models have what was written before it. */
export const OWN_WRITES_WAIT_MS = 250;

/**
 * The rule of one endpoint. `ofSessions`: that of people in a session, in place of `perMinute`. `general`: it has no
 * line in the table, so burst and concurrency are bounded too.
 */
export type RatePolicy = Readonly<{ endpoint: string; perMinute: number; ofSessions: number; general: boolean }>;

/**
 * A read that goes into the audit log: the action, such as `email.read`, and the kind of its target. `isOnce`: once for
 * each person, target and quarter of an hour.
 */
type AuditedRead = Readonly<{ action: string; target?: string; isOnce?: true }>;

export type HttpSettings = Readonly<{
  /** URL at which callers reach the service, without a slash at the end. */
  publicUrl: string;
  host: string;
  port: number;
  /** Plain HTTP gets 403 HTTPS_REQUIRED, except for the health checks. */
  requireHttps: boolean;
  /** The proxies whose X-Forwarded-* headers are believed: none, all, or these addresses and networks. */
  trustProxy: boolean | readonly string[];
  /** Serves TLS where given: PEM texts of the certificate chain and its key. */
  tls?: Readonly<{ cert: string; key: string }>;
  /** One line per request is logged if this is absent or at least as verbose as `info`. */
  logLevel?: string;
}>;

/** The positions in the log of what callers write, and the wait until the read models show it. */
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
  /** Work in and after `next` belongs to the call. */
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
  /** Tells pages what changes in the lists of their team. */
  live: Pick<LiveFeed, 'open' | 'wake'>;
  /** The built-in mailbox, where it takes the mail, and the token of the link that opens it. */
  mailbox?: Readonly<{ mails: Mailbox; token: string }>;
  health: Health;
  /** How the instance is doing, for its operators. */
  system: () => Promise<System>;
  version: string;
  /** Called for each answer, with the pattern of the route; absent if nothing is measured. */
  answered?: (method: string, route: string, status: number, seconds: number) => void;
  /** Absent where no traces are wanted. */
  calls?: CallTraces;
  /** Records in the audit log what is read and who is refused. */
  audit: Pick<AuditRecorder, 'read' | 'denied'>;
  /**
   * Reads the audit log of a team from the log itself, piece by piece; `done` is awaited before the last piece. Rejects
   * with AUDIT_EXPORT_TOO_LARGE.
   */
  exportAudit: (
    team: Readonly<{ teamId: TeamId; format: AuditFormat }>,
    period: AuditPeriod,
    done: (exported: Exported) => Promise<void>,
  ) => Promise<AsyncIterable<string>>;
  /** The log of calls. `note`: absent where no call is logged. `flush`: writes what this process has noted. */
  requestLog: Pick<RequestLog, 'find' | 'count'> &
    Pick<RequestLogRecorder, 'flush'> &
    Readonly<{ note?: RequestLogRecorder['note'] }>;
  /** Opens the tokens of tracking pixels and links, and records the opens and clicks. */
  tracking: Readonly<{
    tokens: Pick<TrackingTokens, 'openOpen' | 'openClick'>;
    note: (request: ReaderRequest) => void;
  }>;
}>;

/** The names of cookies depend on the port and path of the public URL (`suffix`), and on whether it is https. */
export type CookiePlace = Readonly<{ suffix: string; isHttps: boolean }>;

/** Callers who may use a route: everybody, or callers with that permission. */
export type Access = AccessPermission | 'public';

declare module 'fastify' {
  interface FastifyInstance {
    /** In: a path of the service. Out: the path by which a browser reaches it, below that of the public URL. */
    ownPath: (path: string) => string;
    /** Names the cookies of browsers. */
    cookiePlace: CookiePlace;
  }
  interface FastifyContextConfig {
    /** Every route declares it; the server is not built otherwise. */
    access?: Access;
    /** A route of the mailbox: the cookie of its link serves in place of a key. */
    mailbox?: true;
    /** Recipients of mails call it: they are not limited by address, and the route bounds what a call costs. */
    forReaders?: true;
    /**
     * A public route that asks for a good credential all the same, whatever its permissions: it calls others in turn,
     * which ask for theirs.
     */
    credential?: true;
    /** Stands in `WWW-Authenticate` of a 401 beside the realm. */
    challenge?: string;
    /** Links in mails lead to it: it is all that is answered at the link domain of a team. */
    links?: true;
    /** A public route whose answer has hundreds of kilobytes: a stricter limit by address holds for it, too. */
    large?: true;
    /** The route belongs to no team: a person calls it, whichever teams they are in. */
    withoutTeam?: true;
    /** The route shows or hands out contents of mails: its calls become entries of the audit log. */
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
    /** The caller whose credential is good but was refused. */
    refused: Pick<Caller, 'teamId' | 'actor'> | undefined;
    /** The body was checked in another process; the handler continues in another turn than its parsing. */
    isLargeBody: boolean;
    /** The code with which the call is refused. */
    refusedWith: ErrorCode | undefined;
    /** The team to whose link domain the request came; undefined: it came to another name. */
    linkTeam: TeamId | undefined;
    /** The id of the target of an audited route, if its path does not have it. */
    auditedId: string | undefined;
    /** The canonical form (RFC 8785) of a large body under an Idempotency-Key, made when it was read. */
    canonicalBody: string | Uint8Array | undefined;
    /** For a bulk send by a file: the line in which each recipient begins, and warnings about the file. */
    recipientFile?: Readonly<{ lines: readonly number[]; warnings: readonly string[] }>;
    /** For a write: what `Positions.written` was before it. */
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
