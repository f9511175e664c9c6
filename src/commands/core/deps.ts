/** What commands are made of: the ports they need, the bounds in force, and the states they read often. */
import type { AccessTokens, TokenParties } from '../../domain/ports/access-tokens.js';
import type { Passwords } from '../../domain/ports/passwords.js';
import type { SecondFactors } from '../../domain/ports/second-factor.js';
import type { Registration, UserState } from '../../domain/people/user.js';
import type { SessionId, UserId, StreamName } from '../../domain/core/ids.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { AttachmentClaims } from '../documents/storage.js';
import type { Backlog } from '../email/backlog.js';
import type { CallOrigins } from '../access/origins.js';
import type { Caller } from './caller.js';
import type { CreditsAccounts } from '../billing/credits.js';
import { isoMoment } from './memo.js';
import type { Loaded } from './handle.js';
import type { Feedback } from '../recipients/feedback.js';
import type { Answer } from './idempotency.js';
import type { HasSuppressions } from '../recipients/suppression-check.js';
import type { SendBulkResponse } from '../../api/bulk.js';
import type { SendEmailResponse } from '../../api/email.js';
import type { ActivityState } from '../../domain/billing/inactivity.js';
import type { AttachmentTemplateState } from '../../domain/templates/attachment-template.js';
import type { ApiKeyState } from '../../domain/keys/decider.js';
import type { Cause, EventLog } from '../../event-log/event-log.js';
import type { Limits } from '../../domain/core/limits.js';
import type { HeaderMatcher } from '../../domain/mime/compose.js';
import type { MaybePromise } from '../../domain/core/decider.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { DkimKeys } from '../../domain/ports/dkim-keys.js';
import type { Dns } from '../../domain/ports/dns.js';
import type { Files } from '../../domain/ports/files.js';
import type { Generator } from '../../domain/ports/generator.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { MailCopies } from '../../domain/ports/mailbox.js';
import type { MediaTypes } from '../../domain/ports/media-types.js';
import type { OutboundHttp } from '../../domain/ports/outbound-http.js';
import type { Renderer } from '../../domain/ports/renderer.js';
import type { OAuthAppState } from '../../domain/apps/app.js';
import type { GrantState } from '../../domain/apps/grant.js';
import type { TokenList } from '../../domain/apps/tokens.js';
import type { SenderDomainsState } from '../../domain/domains/state.js';
import type { WebhookPorts } from '../webhooks/attempt.js';
import type { SessionState } from '../../domain/people/session.js';
import type { TokenKeyState } from '../../domain/people/token-keys.js';
import type { BoundedCache } from '../../shared/cache.js';
import type { TeamState } from '../../domain/teams/state.js';
import type { SlugState } from '../../domain/templates/decider.js';
import type { TemplateState } from '../../domain/templates/email-template.js';

/* What the commands on people are made of. */

export type PeoplePorts = Readonly<{
  passwords: Passwords;
  accessTokens: AccessTokens;
  secondFactors: SecondFactors;
  /** A text as a QR code (PNG), which the camera of a telephone reads. */
  drawCode: (text: string) => Buffer;
  /** Who gives the tokens, as they say it. */
  publicUrl: string;
  registration: Registration;
  /** Nobody but this machine reaches the service: the first user needs no token. */
  isOnLoopback: boolean;
}>;

/* Who gives access tokens and for whom they are. */

/** What a token that was checked says. */
export type KnownToken = Readonly<{ userId: UserId; sessionId: SessionId; expiresAtMs: number }>;

/** The instance is known by its master key: a token of another one is for another audience, whatever its address is. */
export const partiesOf = ({
  keys,
  people,
}: Readonly<{ keys: Pick<Keys, 'fingerprint'>; people: Pick<PeoplePorts, 'publicUrl'> }>): TokenParties => ({
  issuer: people.publicUrl,
  audience: `sealpost:${keys.fingerprint('instance', '').slice(0, 16)}`,
});

/* Joins calls of the same id that come while one of them is under way: one does the work, and all of them get its answer. */

type JoinedCalls<Answer> = (
  id: string,
  /** Tells the same call from another under one id. */
  fingerprint: string,
  work: () => Promise<Answer>,
) => Promise<Readonly<{ answer: Answer; joined: boolean }>>;

/**
 * A call of the same fingerprint shares the outcome of the one under way, its failure too. A call of another fingerprint
 * begins when that one has ended.
 */
export const joinedCalls = <Answer>(): JoinedCalls<Answer> => {
  const underWay = new Map<string, Readonly<{ fingerprint: string; answer: Promise<Answer> }>>();
  return async (id, fingerprint, work) => {
    for (let first = underWay.get(id); first !== undefined; first = underWay.get(id)) {
      if (first.fingerprint === fingerprint) return { answer: await first.answer, joined: true };
      await first.answer.catch(() => undefined);
    }
    const answer = work().finally(() => underWay.delete(id));
    underWay.set(id, { fingerprint, answer });
    return { answer: await answer, joined: false };
  };
};

export type CommandPorts = Readonly<{
  eventLog: EventLog;
  keys: Pick<Keys, 'fingerprint'>;
  files: Files;
  mailCopies: MailCopies;
  renderer: Renderer;
  generator: Generator;
  outbound: OutboundHttp;
  webhooks: WebhookPorts;
  mediaTypes: MediaTypes;
  dns: Dns;
  dkimKeys: DkimKeys;
  people: PeoplePorts;
  /** What of SPF lets the relay send mail of the teams. */
  spfMechanisms: string;
  /** What links in mails begin with, as `https://mail.example.com`; absent where no address is known under which others reach this service. */
  linkBase?: string;
  /** An older program runs beside this one, which could not read from where calls came. */
  withoutOrigins?: true;
  /** An older program runs beside this one, which could not read how copies for each recipient are recorded. */
  withoutCopies?: true;
  /** An older program runs beside this one, which would render in the language of the template alone. */
  withoutLanguages?: true;
  clock: Clock;
  ids: Ids;
  limits: Limits;
  /** Which instructions to relays callers may give as headers; none where it is absent. */
  allowsHeader?: HeaderMatcher;
  /** What is heard of emails after they have left; absent where no return path is set up. */
  feedback?: Feedback;
}>;

type Load<State> = (stream: StreamName) => MaybePromise<Loaded<State>>;

export type CommandDeps = CommandPorts &
  Readonly<{
    /**
     * Follows the log until the signal aborts, so that the states below are served from memory. `serving`: in a process that answers requests,
     * where sessions are read as they begin.
     */
    followStates: (signal: AbortSignal, serving?: 'serving') => Promise<void>;
    /** Resolves when those states hold what stands up to that position, or the signal aborts. */
    statesCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
    /** Resolves when what was appended before the call holds in every process that serves. */
    whenHeldEverywhere: () => Promise<void>;
    template: Load<TemplateState>;
    attachmentTemplate: Load<AttachmentTemplateState>;
    slug: Load<SlugState>;
    team: Load<TeamState>;
    apiKey: Load<ApiKeyState>;
    oauthApp: Load<OAuthAppState>;
    oauthGrant: Load<GrantState>;
    /** The tokens in use of one person, or of one app that acts for itself. */
    oauthTokens: Load<TokenList>;
    /** Whether the account of a team is in use; nothing of one that was never metered. */
    activity: Load<ActivityState>;
    /** A person, without anything personal. */
    user: Load<UserState>;
    /** Without from where it is used. */
    session: Load<SessionState>;
    tokenKey: Load<TokenKeyState>;
    /** Access tokens that were made here or whose signature was checked, until they are not used for long. */
    knownTokens: BoundedCache<string, KnownToken>;
    tokenParties: TokenParties;
    /** Of a team; without private keys. */
    senderDomains: Load<SenderDomainsState>;
    /** The send calls under way in this process that carry an Idempotency-Key, by the id of their email. */
    joinSends: JoinedCalls<Answer<SendEmailResponse>>;
    /** The same of bulk sends. */
    joinBulkSends: JoinedCalls<Answer<SendBulkResponse>>;
    /** How much each team has waiting. */
    backlog: Backlog;
    /** Whether a team has ever suppressed an address. */
    hasSuppressions: HasSuppressions;
    /** The credits and quotas of each team. */
    credits: CreditsAccounts;
    /** From where audited calls came. */
    origins: CallOrigins;
    /** What the attachments of each team take. */
    attachmentClaims: AttachmentClaims;
  }>;

/** In: who calls. Out: the metadata of the events that the call causes, at the moment of now. */
export const causeOf = (deps: Pick<CommandPorts, 'clock'>, caller: Caller, at = isoMoment(deps.clock.now())): Cause => ({
  teamId: caller.teamId,
  actor: caller.actor,
  correlationId: caller.correlationId,
  causationId: caller.correlationId,
  at,
  calledFrom: caller.calledFrom,
});
