/** What commands are made of: the ports they need, the limits in force, and states that are read often and kept in memory. */
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
import type { Feedback, NoteBlocked } from '../recipients/feedback.js';
import type { Answer, JoinedCalls } from './idempotency.js';
import type { HasSuppressions } from '../recipients/suppression-check.js';
import type { SendBulkResponse } from '../../api/bulk.js';
import type { SendEmailResponse } from '../../api/email.js';
import type { ActivityState } from '../../domain/billing/inactivity.js';
import type { AttachmentTemplateState } from '../../domain/templates/attachment-template.js';
import type { ApiKeyState } from '../../domain/keys/decider.js';
import type { Cause, EventLog } from '../../event-log/event-log.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Recipient } from '../../domain/mime/address.js';
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
import type { ClaimPlaces, DomainClaims, SenderDomainsState } from '../../domain/domains/state.js';
import type { WebhookPorts } from '../webhooks/attempt.js';
import type { SessionState } from '../../domain/people/session.js';
import type { TokenKeyState } from '../../domain/people/token-keys.js';
import type { BoundedCache } from '../../shared/cache.js';
import type { TeamState } from '../../domain/teams/state.js';
import type { SlugState } from '../../domain/templates/decider.js';
import type { TemplateState } from '../../domain/templates/email-template.js';

/** What the commands about people need. */
export type PeoplePorts = Readonly<{
  passwords: Passwords;
  accessTokens: AccessTokens;
  secondFactors: SecondFactors;
  /** Draws a text as a QR code (PNG). */
  drawCode: (text: string) => Buffer;
  /** The issuer of access tokens. */
  publicUrl: string;
  registration: Registration;
  /** Only this machine reaches the service, so the first user needs no token. */
  isOnLoopback: boolean;
}>;

/** The claims of a verified access token. */
export type KnownToken = Readonly<{ userId: UserId; sessionId: SessionId; expiresAtMs: number }>;

export type CommandPorts = Readonly<{
  eventLog: EventLog;
  keys: Pick<Keys, 'fingerprint' | 'getMany'>;
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
  /** The SPF mechanisms that allow the relay to send mail of the teams. */
  spfMechanisms: string;
  /** The beginning of links in mails, as `https://mail.example.com`; absent if no public address of the service is set. */
  linkBase?: string;
  /** Mails leave by a relay, which gets no sample sender and no sample company. */
  hasRelay?: true;
  /** The sender of account mails; absent if a relay is set and the sender is not. */
  accountSender?: Recipient;
  clock: Clock;
  ids: Ids;
  limits: Limits;
  /** Matches the instructions to relays that callers may give as headers; absent: none. */
  allowsHeader?: HeaderMatcher;
  /** Feedback about emails after they have left; absent if no return path is set up. */
  feedback?: Feedback;
  /** Absent if nobody counts them. */
  noteBlocked?: NoteBlocked;
}>;

type Load<State> = (stream: StreamName) => MaybePromise<Loaded<State>>;

export type CommandDeps = CommandPorts &
  Readonly<{
    /**
     * Follows the log until the signal aborts, so that the states below are served from memory. `serving`: this process answers requests and
     * therefore reads sessions when they begin.
     */
    followStates: (signal: AbortSignal, serving?: 'serving') => Promise<void>;
    /** Resolves when the states include the events up to that position, or the signal aborts. */
    statesCaughtUp: (position: number, signal: AbortSignal) => Promise<void>;
    /** Resolves when every serving process enforces what was appended before the call. */
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
    /** Whether the account of a metered team is in use. */
    activity: Load<ActivityState>;
    /** A person, without personal data. */
    user: Load<UserState>;
    /** A session, without the addresses it is used from. */
    session: Load<SessionState>;
    tokenKey: Load<TokenKeyState>;
    /** Access tokens that this process made or verified; the least recently used are dropped. */
    knownTokens: BoundedCache<string, KnownToken>;
    tokenParties: TokenParties;
    /** The sender domains of a team, without private keys. */
    senderDomains: Load<SenderDomainsState>;
    /** The teams that have verified domains with the same last two labels. */
    domainClaims: Load<DomainClaims>;
    /** Where the claims on a domain stand; undefined for a name of one label, which nobody claims. */
    claimPlaces: (domain: string) => ClaimPlaces | undefined;
    /** The send calls under way in this process that carry an Idempotency-Key, by the id of their email. */
    joinSends: JoinedCalls<Answer<SendEmailResponse>>;
    /** The bulk sends under way in this process that carry an Idempotency-Key, by their id. */
    joinBulkSends: JoinedCalls<Answer<SendBulkResponse>>;
    /** How many emails of each team wait. */
    backlog: Backlog;
    /** Whether a team has ever suppressed an address. */
    hasSuppressions: HasSuppressions;
    /** The credits and quotas of each team. */
    credits: CreditsAccounts;
    /** Records the origins of audited calls. */
    origins: CallOrigins;
    /** The storage that the attachments of each team take. */
    attachmentClaims: AttachmentClaims;
  }>;

/** In: the caller. Out: the metadata of the events that the call causes now. */
export const causeOf = (deps: Pick<CommandPorts, 'clock'>, caller: Caller, at = isoMoment(deps.clock.now())): Cause => ({
  teamId: caller.teamId,
  actor: caller.actor,
  correlationId: caller.correlationId,
  causationId: caller.correlationId,
  at,
  calledFrom: caller.calledFrom,
});
