/** The state that any stream of the log adds up to, now or at a moment of the past, for auditors. */
import { emailRecord } from '../email/answers.js';
import { evolveTeamUse } from '../../domain/billing/team-use.js';
import { apiKeyDecider } from '../../domain/keys/decider.js';
import { eventsAsOf } from '../../event-log/as-of.js';
import type { AsOf } from '../../domain/core/time.js';
import { assetDecider } from '../../domain/templates/asset.js';
import { attachmentTemplateDecider } from '../../domain/templates/attachment-template.js';
import { blockDecider } from '../../domain/templates/block.js';
import { evolveBatch } from '../../domain/bulk/decider.js';
import { advanceCredits, balanceOf, noCredits } from '../../domain/billing/credits.js';
import { evolveEmail } from '../../domain/email/state.js';
import { relayDaysDecider } from '../../domain/email/relays.js';
import { approvalDecider } from '../../domain/approvals/decider.js';
import { erasureDecider } from '../../domain/privacy/decider.js';
import type { EventOfKind, Recorded, StreamKind } from '../../domain/events.js';
import { splitStream, type EmailId, type StreamName } from '../../domain/core/ids.js';
import { invitationDecider } from '../../domain/teams/invitation.js';
import { evolveDomainClaims, noClaims, evolveSenderDomains } from '../../domain/domains/state.js';
import { oauthAppDecider } from '../../domain/apps/app.js';
import { deviceDecider } from '../../domain/apps/device.js';
import { grantDecider } from '../../domain/apps/grant.js';
import { emptyTokenList, evolveTokenList } from '../../domain/apps/tokens.js';
import { sessionDecider, evolveTokenKey, type TokenKeyState } from '../../domain/people/session.js';
import { suppressionDecider } from '../../domain/recipients/suppression.js';
import { evolveInstance, evolveTeam } from '../../domain/teams/state.js';
import { evolveSlug } from '../../domain/templates/decider.js';
import { templateDecider } from '../../domain/templates/email-template.js';
import { evolveUser, evolveUserAddress, type UserState } from '../../domain/people/user.js';
import { webhookDecider } from '../../domain/webhooks/decider.js';
import type { EventLog } from '../../event-log/event-log.js';

type Fold<Kind extends StreamKind> = (events: readonly EventOfKind<Kind>[], id: string) => unknown;

export type StreamState = Readonly<{
  stream: string;
  /** The last event that is folded in. */
  upTo: Readonly<{ eventId: string; type: string; revision: number; position: number; occurredAt: string }>;
  state: unknown;
}>;

const foldedBy =
  <Event, State>(evolve: (state: State, event: Event) => State, initialState: State) =>
  (events: readonly Event[]): State =>
    events.reduce(evolve, initialState);

/** The state of a stream whose newest event says everything: that event. */
const lastFact = <Event extends Readonly<{ type: string; data: object }>>(events: readonly Event[]): unknown => {
  const last = events.at(-1);
  return last && { event: last.type, ...last.data };
};

const creditsOf: Fold<'credits'> = (events) => {
  const state = noCredits();
  for (const event of events) advanceCredits(state, event);
  return { balance: balanceOf(state.sums), ...state.sums, open: Object.fromEntries(state.open) };
};

/** Leaves out what would let an auditor sign in as the user. */
const withoutSecrets = (user: UserState): unknown =>
  user && {
    ...user,
    passwordHash: undefined,
    prepared: user.prepared && { at: user.prepared.at },
    secondFactor: user.secondFactor && { step: user.secondFactor.step },
  };

/** How each kind of stream is folded. A new kind does not compile until it has an entry here. */
const folds: { readonly [Kind in StreamKind]: Fold<Kind> } = {
  email: (events, id) => {
    const email = foldedBy(evolveEmail, undefined)(events);
    return email && emailRecord(id as EmailId, email);
  },
  batch: foldedBy(evolveBatch, undefined),
  template: (events) => foldedBy(templateDecider.evolve, templateDecider.initialState)(events).template,
  attachmentTemplate: (events) =>
    foldedBy(attachmentTemplateDecider.evolve, attachmentTemplateDecider.initialState)(events).template,
  block: (events) => foldedBy(blockDecider.evolve, blockDecider.initialState)(events).template,
  blockSlug: foldedBy(evolveSlug, undefined),
  templateSlug: foldedBy(evolveSlug, undefined),
  attachmentTemplateSlug: foldedBy(evolveSlug, undefined),
  asset: foldedBy(assetDecider.evolve, assetDecider.initialState),
  apiKey: foldedBy(apiKeyDecider.evolve, apiKeyDecider.initialState),
  team: foldedBy(evolveTeam, undefined),
  invitation: foldedBy(invitationDecider.evolve, invitationDecider.initialState),
  credits: creditsOf,
  planUse: lastFact,
  activity: foldedBy(evolveTeamUse, undefined),
  senderDomains: foldedBy(evolveSenderDomains, undefined),
  domainKeys: lastFact,
  domainClaims: (events) => Object.fromEntries(foldedBy(evolveDomainClaims, noClaims)(events)),
  suppression: foldedBy(suppressionDecider.evolve, suppressionDecider.initialState),
  webhook: foldedBy(webhookDecider.evolve, webhookDecider.initialState),
  webhookRoute: lastFact,
  webhookOutcome: lastFact,
  webhookRouter: lastFact,
  webhookSlots: lastFact,
  approval: foldedBy(approvalDecider.evolve, approvalDecider.initialState),
  erasure: foldedBy(erasureDecider.evolve, erasureDecider.initialState),
  oauthClient: foldedBy(oauthAppDecider.evolve, oauthAppDecider.initialState),
  oauthGrant: foldedBy(grantDecider.evolve, grantDecider.initialState),
  oauthDevice: foldedBy(deviceDecider.evolve, deviceDecider.initialState),
  oauthTokens: foldedBy(evolveTokenList, emptyTokenList),
  user: (events) => withoutSecrets(foldedBy(evolveUser, undefined as UserState)(events)),
  userAddress: foldedBy(evolveUserAddress, undefined),
  session: foldedBy(sessionDecider.evolve, sessionDecider.initialState),
  tokenKeys: (events) => {
    const key = foldedBy(evolveTokenKey, undefined as TokenKeyState)(events);
    return key && { ...key, privateKey: undefined };
  },
  audit: lastFact,
  auditOrigins: lastFact,
  auditRetention: lastFact,
  instance: foldedBy(evolveInstance, undefined),
  relay: foldedBy(relayDaysDecider.evolve, relayDaysDecider.initialState),
  ledger: lastFact,
};

const isKind = (kind: string): kind is StreamKind => kind in folds;

/**
 * Out: the state; 'unknown' if there is no such stream, 'not yet' if it began later, 'no such event' if `asOf` names
 * none of its events.
 */
export const streamState = async (
  eventLog: Pick<EventLog, 'load'>,
  stream: StreamName,
  asOf?: AsOf,
): Promise<StreamState | 'unknown' | 'not yet' | 'no such event'> => {
  const { kind, id } = splitStream(stream);
  const recorded = isKind(kind) ? await eventLog.load(stream) : [];
  if (!isKind(kind) || recorded.length === 0) return 'unknown';
  const events = asOf === undefined ? recorded : eventsAsOf(recorded, asOf);
  if (events === undefined) return 'no such event';
  const last = events.at(-1);
  return last === undefined ? 'not yet' : { stream, upTo: placeOf(last), state: stateOf(kind, events, id) };
};

/** The events are of the stream's own kind: one kind of stream holds one union of events. */
const stateOf = (kind: StreamKind, recorded: readonly Recorded[], id: string): unknown =>
  (folds[kind] as Fold<StreamKind>)(
    recorded.map(({ event }) => event),
    id,
  );

const placeOf = ({ event, revision, position, metadata }: Recorded): StreamState['upTo'] => {
  const { eventId, occurredAt } = metadata;
  return { eventId, type: event.type, revision, position, occurredAt };
};
