/**
 * Removes a team that was deleted too long ago to be restored, with all its sealed data: each of its streams gets a
 * closing event, then its key is destroyed. TeamRemoved is appended first and TeamErased last; if the program dies in
 * between, the next run finds the team and goes on.
 */
import { removeApprovalNow } from '../approvals/decisions.js';
import { noteBilling } from '../billing/billing.js';
import { removeAssetNow } from '../templates/assets.js';
import { stopBatch } from '../bulk/batches.js';
import { forgetOrigins } from '../access/origins.js';
import { handle } from '../core/handle.js';
import type { BulkNeeds } from '../bulk/send.js';
import type { WebhookNeeds } from '../webhooks/needs.js';
import type { TeamNeeds } from './needs.js';
import { destroyDomainKeys } from '../domains/sender-domains.js';
import { archiveEmail } from '../email/emails.js';
import { eraseStream } from '../core/erase.js';
import { closeInvitation } from './invitations.js';
import { endWebhook } from '../webhooks/subscriptions.js';
import { apiKeyDecider } from '../../domain/keys/decider.js';
import { attachmentTemplateDecider, attachmentTemplateRules } from '../../domain/templates/attachment-template.js';
import { blockDecider, blockRules } from '../../domain/templates/block.js';
import { batchDecider } from '../../domain/bulk/decider.js';
import { emailDecider } from '../../domain/email/decider.js';
import { erasureDecider } from '../../domain/privacy/decider.js';
import { DomainError, type ErrorCode } from '../../domain/core/errors.js';
import type { EventOfKind, StreamKind, EventType, Recorded } from '../../domain/events.js';
import {
  apiKeyStream,
  assertDefined,
  auditOriginsStreamOf,
  batchStream,
  emailStream,
  erasureStream,
  oauthClientStream,
  oauthGrantStream,
  parseApiKeyId,
  parseApprovalId,
  parseAssetId,
  parseBatchId,
  parseEmailId,
  parseErasureId,
  parseInvitationId,
  parseOAuthClientId,
  parseOAuthGrantId,
  parseSenderDomainId,
  parseSuppressionId,
  parseTeamId,
  parseWebhookId,
  senderDomainsStream,
  suppressionStream,
  type StreamName,
  splitStream,
  teamStream,
  type TeamId,
} from '../../domain/core/ids.js';
import { oauthAppDecider } from '../../domain/apps/app.js';
import { grantDecider } from '../../domain/apps/grant.js';
import type { Logger } from '../../domain/ports/logger.js';
import { senderDomainDecider } from '../../domain/domains/decider.js';
import { suppressionDecider } from '../../domain/recipients/suppression.js';
import type { TemplateKind } from '../../domain/templates/events.js';
import type { TemplateDecider, TemplateRules, TemplateStateOf } from '../../domain/templates/decider.js';
import { templateDecider, templateRules } from '../../domain/templates/email-template.js';
import type { Cause } from '../../event-log/event-log.js';
import { isoTime, CLOCKS_APART_MS, DAY_MS } from '../../domain/core/time.js';
import { teamDecider } from '../../domain/teams/decider.js';
import { isReadable } from '../../event-log/decode.js';

export type RemovalDeps = BulkNeeds & TeamNeeds & WebhookNeeds & Readonly<{ logger: Logger }>;

type ClosingContext = Readonly<{ cause: Cause; signal: AbortSignal }>;

type Close = (deps: RemovalDeps, id: string, context: ClosingContext) => Promise<boolean>;

/**
 * How the streams of one kind are closed. `begunBy`: events by which such streams are found; a stream may be found
 * twice. `close` may be repeated, and resolves with false if it is too early.
 */
type Closing = Readonly<{ begunBy: readonly EventOfKind<StreamKind>['type'][]; close: Close }>;

type Removal = ClosingContext & Readonly<{ teamId: TeamId }>;

type Kinds = Readonly<Partial<Record<StreamKind, Closing>>>;

/**
 * Kinds of stream that need no closing: they hold counts and ids only, are closed with another stream, or belong to no
 * team.
 */
type Unclosed =
  | 'credits'
  | 'planUse'
  | 'templateSlug'
  | 'attachmentTemplateSlug'
  | 'blockSlug'
  | 'webhookRoute'
  | 'webhookOutcome'
  | 'webhookSlots'
  | 'oauthTokens'
  | 'oauthDevice'
  | 'domainClaims'
  | 'team'
  | 'webhookRouter'
  | 'user'
  | 'userAddress'
  | 'session'
  | 'tokenKeys'
  | 'audit'
  | 'auditRetention'
  | 'instance'
  | 'relay'
  | 'ledger';

/** Sorts after every time. */
const NEVER = '9999';

/** Streams that are closed in parallel, so that they share commits. */
const AT_ONCE = 16;

/** Teams that were deleted before that moment are removed. */
export const teamsRemovableBefore = ({ clock, limits }: Pick<TeamNeeds, 'clock' | 'limits'>): string =>
  isoTime(clock.now() - limits.teamRestoreDays * DAY_MS - CLOCKS_APART_MS);

/**
 * Out: 'unfinished' if a stream could not be closed yet, or the signal aborted: a repeated call goes on. 'kept' if the
 * team is not deleted, or was deleted too recently.
 */
export const removeTeam = async (
  deps: RemovalDeps,
  teamId: TeamId,
  given: Cause,
  signal: AbortSignal,
): Promise<'removed' | 'unfinished' | 'kept'> => {
  const cause = { ...given, teamId };
  const command = { type: 'RemoveTeam' as const, at: cause.at, deletedSince: teamsRemovableBefore(deps) };
  const { state } = await handle(deps.eventLog, teamStream(teamId), teamDecider, command, cause);
  if (state?.removedAt === undefined) return 'kept';
  if (state.erasedAt === undefined) {
    // Webhooks and batches append to other streams: they are closed first.
    for (const kinds of [FIRST, REST])
      if (!(await closeStreams(deps, kinds, { teamId, cause, signal }))) return 'unfinished';
    await handle(
      deps.eventLog,
      teamStream(teamId),
      teamDecider,
      { type: 'NoteErased', at: isoTime(deps.clock.now()) },
      cause,
    );
  }
  return 'removed';
};

const closeStreams = async (deps: RemovalDeps, kinds: Kinds, removal: Removal): Promise<boolean> => {
  const { teamId, signal } = removal;
  const types = [...new Set(Object.values(kinds).flatMap(({ begunBy }): readonly EventType[] => begunBy))];
  let isAllClosed = true;
  const options = { kinds: Object.keys(kinds), types, decrypt: [], signal } as const;
  for await (const { events, unreadable } of deps.eventLog.readAll(0, options)) {
    // A stream that cannot be read gets no closing event, but its key is destroyed all the same.
    for (const { stream } of unreadable)
      if (await isOf(deps, teamId, stream as StreamName)) await eraseStream(deps, stream as StreamName);
    const own = events.filter(({ metadata }) => metadata.teamId === teamId);
    for (let from = 0; from < own.length; from += AT_ONCE) {
      if (signal.aborted) return false;
      const closed = await Promise.all(
        own.slice(from, from + AT_ONCE).map((one) => closeOne(deps, kinds, one, removal)),
      );
      isAllClosed &&= closed.every((one) => one);
    }
  }
  return isAllClosed && !signal.aborted;
};

/** Whether the stream is of that team, by the events of it that can be read. */
const isOf = async ({ eventLog }: RemovalDeps, teamId: TeamId, stream: StreamName): Promise<boolean> =>
  (await eventLog.inspect(stream)).some((one) => isReadable(one) && one.metadata.teamId === teamId);

/** A fault with one stream is logged and does not stop the others; the team stays unfinished until it succeeds. */
const closeOne = async (
  deps: RemovalDeps,
  kinds: Kinds,
  { stream }: Recorded,
  { cause, signal }: Removal,
): Promise<boolean> => {
  const { kind, id } = splitStream(stream);
  const closing = closingOf(kinds, kind);
  if (closing === undefined) return true;
  try {
    return await closing.close(deps, id, { cause: { ...cause, at: isoTime(deps.clock.now()) }, signal });
  } catch (fault) {
    if (signal.aborted) return false;
    deps.logger.error(
      { stream, err: fault instanceof Error ? fault : undefined },
      'a stream of a removed team could not be closed, trying again',
    );
    return false;
  }
};

const closingOf = (kinds: Kinds, kind: string): Closing | undefined => kinds[kind as StreamKind];

/**
 * Destroys the keys of sender domains of teams that were erased between those positions of the log: if the keys were
 * restored from an older copy, they are back. Those streams have no closing event by which they would be found
 * otherwise. Safe to repeat.
 */
export const eraseRestOfRemovedTeams = async (
  deps: Parameters<typeof eraseStream>[0],
  after: number,
  upTo: number,
  signal?: AbortSignal,
): Promise<void> => {
  const options = { kinds: ['team'], types: ['TeamErased'] as const, decrypt: [], ...(signal && { signal }) };
  for await (const { events, position: reached } of deps.eventLog.readAll(after, options)) {
    for (const { stream, position } of events)
      if (position <= upTo)
        await eraseStream(deps, senderDomainsStream(assertDefined(parseTeamId(splitStream(stream).id), 'team id')));
    if (reached >= upTo) return;
  }
};

/** A way of closing that is never too early. */
const always =
  (close: (deps: RemovalDeps, id: string, context: ClosingContext) => Promise<unknown>): Close =>
  async (deps, id, context) => {
    await close(deps, id, context);
    return true;
  };

/** Ignores a refusal with that code, which means that it was done before. */
const unlessRefused = async (code: ErrorCode, work: Promise<unknown>): Promise<void> => {
  try {
    await work;
  } catch (fault) {
    if (!(fault instanceof DomainError) || fault.code !== code) throw fault;
  }
};

/**
 * An email that has not left is cancelled, one that was broken off fails. One in an SMTP dialogue is left for the next
 * run.
 */
const closeEmail: Close = async (deps, text, { cause }) => {
  const id = assertDefined(parseEmailId(text), 'email id');
  const stream = emailStream(id);
  const { at } = cause;
  await handle(
    deps.eventLog,
    stream,
    emailDecider,
    { type: 'WithdrawEmail', at, cancelledAt: at, endsBrokenOff: true },
    cause,
  );
  try {
    await unlessRefused(
      'EMAIL_NOT_FOUND',
      handle(deps.eventLog, stream, emailDecider, { type: 'DeleteEmail', at }, cause),
    );
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'EMAIL_IN_PROGRESS') return false;
    throw fault;
  }
  // An email that was archived before its deletion has no key any more.
  await archiveEmail(deps, id, cause);
  return true;
};

const closeBatch: Close = always(async (deps, text, { cause, signal }) => {
  const id = assertDefined(parseBatchId(text), 'batch id');
  const cancel = { type: 'CancelBatch' as const, at: cause.at, idempotencyKey: undefined, fingerprint: undefined };
  await unlessRefused('BATCH_NOT_CANCELLABLE', handle(deps.eventLog, batchStream(id), batchDecider, cancel, cause));
  await stopBatch(deps, { id, cause, signal });
  await eraseStream(deps, batchStream(id));
});

const closingOfTemplates = <K extends TemplateKind>(
  { parseId, stream }: TemplateRules<K>,
  decider: TemplateDecider<K>,
): Closing => ({
  begunBy: ['TemplateCreated'],
  close: always((deps, id, { cause: { at, ...cause } }) => {
    const removing = {
      ...decider,
      decide: (_: null, state: TemplateStateOf<K>) => {
        if (state.template === undefined) return [];
        const deleted = state.template.deletedAt === null ? decider.decide({ type: 'DeleteTemplate', at }, state) : [];
        const after = deleted.reduce(decider.evolve, state);
        return [...deleted, ...decider.decide({ type: 'RemoveTemplate', at, deletedSince: NEVER }, after)];
      },
    };
    return handle(deps.eventLog, stream(assertDefined(parseId(id), 'template id')), removing, null, { ...cause, at });
  }),
});

const closeDomains: Close = always(async (deps, text, { cause }) => {
  const stream = senderDomainsStream(assertDefined(parseTeamId(text), 'team id'));
  const { state } = await deps.senderDomains(stream);
  const ids = [...(state?.domains ?? []), ...(state?.trash ?? [])].map(({ id }) => id);
  for (const id of ids)
    await destroyDomainKeys(deps, assertDefined(parseSenderDomainId(id), 'sender domain id'), cause);
  await handle(deps.eventLog, stream, senderDomainDecider, { type: 'DeleteDomains', at: cause.at, ids }, cause);
  // Private keys of older domains stand in this stream itself.
  await eraseStream(deps, stream);
});

/** Removes the suppression, then the address. */
const closeSuppression: Close = always(async (deps, text, { cause }) => {
  const stream = suppressionStream(assertDefined(parseSuppressionId(text), 'suppression id'));
  await unlessRefused(
    'SUPPRESSION_NOT_FOUND',
    handle(deps.eventLog, stream, suppressionDecider, { type: 'RemoveSuppression', at: cause.at }, cause),
  );
  await handle(deps.eventLog, stream, suppressionDecider, { type: 'EraseAddress', at: cause.at }, cause);
  await eraseStream(deps, stream);
});

const closeErasure: Close = always(async (deps, text, { cause }) => {
  const stream = erasureStream(assertDefined(parseErasureId(text), 'erasure id'));
  await handle(
    deps.eventLog,
    stream,
    erasureDecider,
    { type: 'CompleteErasure', at: cause.at, isSuppressed: false },
    cause,
  );
  await eraseStream(deps, stream);
});

const closeApp: Close = always((deps, text, { cause }) => {
  const stream = oauthClientStream(assertDefined(parseOAuthClientId(text), 'id of an app'));
  return unlessRefused(
    'OAUTH_APP_NOT_FOUND',
    handle(deps.eventLog, stream, oauthAppDecider, { type: 'DeleteApp', at: cause.at }, cause),
  );
});

const closeGrant: Close = always((deps, text, { cause }) => {
  const stream = oauthGrantStream(assertDefined(parseOAuthGrantId(text), 'id of a grant'));
  return handle(deps.eventLog, stream, grantDecider, { type: 'EndGrant', at: cause.at, reason: 'team-removed' }, cause);
});

/** A new kind of stream does not compile until it has an entry here or in `Unclosed`. */
export const closings: Readonly<Record<Exclude<StreamKind, Unclosed>, Closing>> = {
  webhook: {
    begunBy: ['WebhookCreated'],
    close: always((deps, id, { cause }) => endWebhook(deps, assertDefined(parseWebhookId(id), 'webhook id'), cause)),
  },
  batch: { begunBy: ['BatchQueued', 'BatchScheduled'], close: closeBatch },
  email: { begunBy: ['EmailQueued', 'EmailScheduled'], close: closeEmail },
  template: closingOfTemplates(templateRules, templateDecider),
  attachmentTemplate: closingOfTemplates(attachmentTemplateRules, attachmentTemplateDecider),
  block: closingOfTemplates(blockRules, blockDecider),
  asset: {
    begunBy: ['AssetUploaded'],
    close: always((deps, id, { cause }) => removeAssetNow(deps, assertDefined(parseAssetId(id), 'asset id'), cause)),
  },
  apiKey: {
    begunBy: ['ApiKeyCreated'],
    close: always((deps, id, { cause }) =>
      handle(
        deps.eventLog,
        apiKeyStream(assertDefined(parseApiKeyId(id), 'API key id')),
        apiKeyDecider,
        { type: 'RevokeApiKey', at: cause.at },
        cause,
      ),
    ),
  },
  activity: {
    begunBy: ['AccountUsed'],
    close: always((deps, id, { cause }) => noteBilling(deps, assertDefined(parseTeamId(id), 'team id'), false, cause)),
  },
  senderDomains: { begunBy: ['SenderDomainAdded', 'DomainRateCrossed'], close: closeDomains },
  domainKeys: {
    begunBy: ['DomainKeysMade'],
    close: always((deps, id, { cause }) =>
      destroyDomainKeys(deps, assertDefined(parseSenderDomainId(id), 'sender domain id'), cause),
    ),
  },
  suppression: { begunBy: ['AddressSuppressed', 'AddressRefused'], close: closeSuppression },
  approval: {
    begunBy: ['ApprovalRequested'],
    close: always((deps, id, { cause }) =>
      removeApprovalNow(deps, assertDefined(parseApprovalId(id), 'approval id'), cause),
    ),
  },
  erasure: { begunBy: ['ErasureRequested'], close: closeErasure },
  oauthClient: { begunBy: ['OAuthAppRegistered'], close: closeApp },
  oauthGrant: { begunBy: ['OAuthGrantGiven'], close: closeGrant },
  auditOrigins: {
    begunBy: ['CallOriginSeen'],
    close: always((deps, id, { cause }) => forgetOrigins(deps.eventLog, auditOriginsStreamOf(id), cause)),
  },
  invitation: {
    begunBy: ['InvitationMade'],
    close: always((deps, id, { cause }) =>
      closeInvitation(deps, assertDefined(parseInvitationId(id), 'invitation id'), 'lapsed', cause),
    ),
  },
};

const { webhook, batch, ...others } = closings;
const FIRST: Kinds = { webhook, batch };
const REST: Kinds = others;
