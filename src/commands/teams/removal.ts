/**
 * Removes a team that was deleted so long ago that nobody can take it back, with all that is sealed of it. The fact that it is removed comes
 * first, and that nothing is left of it last: where the program dies in between, the next run finds the team again and goes on.
 */
import { noteBilling } from '../billing/account.js';
import { removeAssetNow } from '../templates/assets.js';
import { stopBatch } from '../bulk/batches.js';
import { forgetOrigins } from '../access/origins.js';
import { handle } from '../core/handle.js';
import type { CommandDeps } from '../core/deps.js';
import { destroyDomainKeys } from '../domains/sender-domains.js';
import { archiveEmail } from '../email/emails.js';
import { eraseStream } from '../core/erase.js';
import { closeInvitation } from './invitations.js';
import { endWebhook } from '../webhooks/subscriptions.js';
import { apiKeyDecider } from '../../domain/keys/decider.js';
import { attachmentTemplateDecider } from '../../domain/templates/attachment-template.js';
import { batchDecider } from '../../domain/bulk/decider.js';
import { emailDecider } from '../../domain/email/decider.js';
import { erasureDecider } from '../../domain/privacy/decider.js';
import { DomainError, type ErrorCode } from '../../domain/core/errors.js';
import type { EventOfKind, StreamKind, EventType, Recorded } from '../../domain/events.js';
import {
  apiKeyStream,
  assertDefined,
  attachmentTemplateStream,
  auditOriginsStreamOf,
  batchStream,
  emailStream,
  erasureStream,
  oauthClientStream,
  oauthGrantStream,
  parseApiKeyId,
  parseAssetId,
  parseAttachmentTemplateId,
  parseBatchId,
  parseEmailId,
  parseErasureId,
  parseInvitationId,
  parseOAuthClientId,
  parseOAuthGrantId,
  parseSenderDomainId,
  parseSuppressionId,
  parseTeamId,
  parseTemplateId,
  parseWebhookId,
  senderDomainsStream,
  suppressionStream,
  templateStream,
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
import type { TemplateDraft } from '../../domain/templates/events.js';
import type { TemplateDecider } from '../../domain/templates/decider.js';
import { templateDecider } from '../../domain/templates/email-template.js';
import type { Cause } from '../../event-log/event-log.js';
import { isoTime, CLOCKS_APART_MS, DAY_MS } from '../../domain/core/time.js';
import { teamDecider } from '../../domain/teams/decider.js';
import { isReadable } from '../../event-log/decoding.js';

/* What becomes of each kind of stream of a team that is removed: the fact that ends it, then the end of its key. All of it may be repeated. */

export type RemovalDeps = CommandDeps & Readonly<{ logger: Logger }>;

type WorkClosings = Readonly<{ cause: Cause; signal: AbortSignal }>;
type Close = (deps: RemovalDeps, id: string, work: WorkClosings) => Promise<boolean>;

/** `begunBy`: the events that tell of such a stream; it may be told of twice. `close`: out: false where it is too early. */
type Closing = Readonly<{ begunBy: readonly EventOfKind<StreamKind>['type'][]; close: Close }>;

const ended =
  (close: (deps: RemovalDeps, id: string, work: WorkClosings) => Promise<unknown>): Close =>
  async (deps, id, work) => {
    await close(deps, id, work);
    return true;
  };

/** Whether it was done; what is refused with that code was done before. */
const unless = async (code: ErrorCode, work: Promise<unknown>): Promise<boolean> => {
  try {
    await work;
    return true;
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === code) return false;
    throw fault;
  }
};

/** What has not left is cancelled, and what was broken off has failed. One in a dialogue is left for the next run. */
const closeEmail: Close = async (deps, text, { cause }) => {
  const id = assertDefined(parseEmailId(text), 'email id');
  const stream = emailStream(id);
  const { at } = cause;
  await handle(deps.eventLog, stream, emailDecider, { type: 'WithdrawEmail', at, cancelledAt: at, endsBrokenOff: true }, cause);
  try {
    await unless('EMAIL_NOT_FOUND', handle(deps.eventLog, stream, emailDecider, { type: 'DeleteEmail', at }, cause));
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'EMAIL_IN_PROGRESS') return false;
    throw fault;
  }
  // One that was archived before its deletion has no key any more.
  await archiveEmail(deps, id, cause);
  return true;
};

const closeBatch: Close = ended(async (deps, text, { cause, signal }) => {
  const id = assertDefined(parseBatchId(text), 'batch id');
  const cancel = { type: 'CancelBatch' as const, at: cause.at, idempotencyKey: undefined, fingerprint: undefined };
  await unless('BATCH_NOT_CANCELLABLE', handle(deps.eventLog, batchStream(id), batchDecider, cancel, cause));
  await stopBatch(deps, { id, cause, signal });
  await eraseStream(deps, batchStream(id));
});

/** Behind every time. */
const NEVER = '9999';

const closeTemplate = async <Draft extends TemplateDraft, Shown>(
  deps: RemovalDeps,
  stream: StreamName,
  decider: TemplateDecider<Draft, Shown>,
  { at, ...cause }: Cause,
): Promise<void> => {
  const removing = {
    ...decider,
    decide: (_: null, state: typeof decider.initialState) => {
      if (state.template === undefined) return [];
      const deleted = state.template.deletedAt === null ? decider.decide({ type: 'DeleteTemplate', at }, state) : [];
      const after = deleted.reduce(decider.evolve, state);
      return [...deleted, ...decider.decide({ type: 'RemoveTemplate', at, deletedSince: NEVER }, after)];
    },
  };
  await handle(deps.eventLog, stream, removing, null, { ...cause, at });
};

const closeDomains: Close = ended(async (deps, text, { cause }) => {
  const stream = senderDomainsStream(assertDefined(parseTeamId(text), 'team id'));
  const { state } = await deps.senderDomains(stream);
  const ids = [...(state?.domains ?? []), ...(state?.trash ?? [])].map(({ id }) => id);
  for (const id of ids) await destroyDomainKeys(deps, assertDefined(parseSenderDomainId(id), 'sender domain id'), cause);
  await handle(deps.eventLog, stream, senderDomainDecider, { type: 'DeleteDomains', at: cause.at, ids }, cause);
  // Private keys of older domains stand in this stream itself.
  await eraseStream(deps, stream);
});

/** Neither the address is left, nor that it is suppressed. */
const closeSuppression: Close = ended(async (deps, text, { cause }) => {
  const stream = suppressionStream(assertDefined(parseSuppressionId(text), 'suppression id'));
  await unless(
    'SUPPRESSION_NOT_FOUND',
    handle(deps.eventLog, stream, suppressionDecider, { type: 'RemoveSuppression', at: cause.at }, cause),
  );
  await handle(deps.eventLog, stream, suppressionDecider, { type: 'EraseAddress', at: cause.at }, cause);
  await eraseStream(deps, stream);
});

const closeErasure: Close = ended(async (deps, text, { cause }) => {
  const stream = erasureStream(assertDefined(parseErasureId(text), 'erasure id'));
  await handle(deps.eventLog, stream, erasureDecider, { type: 'CompleteErasure', at: cause.at, isSuppressed: false }, cause);
  await eraseStream(deps, stream);
});

const closeApp: Close = ended((deps, text, { cause }) => {
  const stream = oauthClientStream(assertDefined(parseOAuthClientId(text), 'id of an app'));
  return unless('OAUTH_APP_NOT_FOUND', handle(deps.eventLog, stream, oauthAppDecider, { type: 'DeleteApp', at: cause.at }, cause));
});

const closeGrant: Close = ended((deps, text, { cause }) => {
  const stream = oauthGrantStream(assertDefined(parseOAuthGrantId(text), 'id of a grant'));
  return handle(deps.eventLog, stream, grantDecider, { type: 'EndGrant', at: cause.at, reason: 'team-removed' }, cause);
});

/** Streams that hold counts and ids alone, that go with another one, or that are of no team. */
type Left =
  | 'credits'
  | 'planUse'
  | 'templateSlug'
  | 'attachmentTemplateSlug'
  | 'webhookRoute'
  | 'webhookOutcome'
  | 'webhookSlots'
  | 'oauthTokens'
  | 'team'
  | 'webhookRouter'
  | 'user'
  | 'userAddress'
  | 'session'
  | 'tokenKeys'
  | 'audit'
  | 'auditRetention'
  | 'instance'
  | 'ledger';

/** A new kind of stream does not compile until it is said what becomes of it. */
export const closings: Readonly<Record<Exclude<StreamKind, Left>, Closing>> = {
  webhook: {
    begunBy: ['WebhookCreated'],
    close: ended((deps, id, { cause }) => endWebhook(deps, assertDefined(parseWebhookId(id), 'webhook id'), cause)),
  },
  batch: { begunBy: ['BatchQueued', 'BatchScheduled'], close: closeBatch },
  email: { begunBy: ['EmailQueued', 'EmailScheduled'], close: closeEmail },
  template: {
    begunBy: ['TemplateCreated'],
    close: ended((deps, id, { cause }) =>
      closeTemplate(deps, templateStream(assertDefined(parseTemplateId(id), 'template id')), templateDecider, cause),
    ),
  },
  attachmentTemplate: {
    begunBy: ['TemplateCreated'],
    close: ended((deps, id, { cause }) =>
      closeTemplate(
        deps,
        attachmentTemplateStream(assertDefined(parseAttachmentTemplateId(id), 'template id')),
        attachmentTemplateDecider,
        cause,
      ),
    ),
  },
  asset: {
    begunBy: ['AssetUploaded'],
    close: ended((deps, id, { cause }) => removeAssetNow(deps, assertDefined(parseAssetId(id), 'asset id'), cause)),
  },
  apiKey: {
    begunBy: ['ApiKeyCreated'],
    close: ended((deps, id, { cause }) =>
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
    close: ended((deps, id, { cause }) => noteBilling(deps, assertDefined(parseTeamId(id), 'team id'), false, cause)),
  },
  senderDomains: { begunBy: ['SenderDomainAdded'], close: closeDomains },
  domainKeys: {
    begunBy: ['DomainKeysMade'],
    close: ended((deps, id, { cause }) => destroyDomainKeys(deps, assertDefined(parseSenderDomainId(id), 'sender domain id'), cause)),
  },
  suppression: { begunBy: ['AddressSuppressed'], close: closeSuppression },
  erasure: { begunBy: ['ErasureRequested'], close: closeErasure },
  oauthClient: { begunBy: ['OAuthAppRegistered'], close: closeApp },
  oauthGrant: { begunBy: ['OAuthGrantGiven'], close: closeGrant },
  auditOrigins: {
    begunBy: ['CallOriginSeen'],
    close: ended((deps, id, { cause }) => forgetOrigins(deps.eventLog, auditOriginsStreamOf(id), cause)),
  },
  invitation: {
    begunBy: ['InvitationMade'],
    close: ended((deps, id, { cause }) => closeInvitation(deps, assertDefined(parseInvitationId(id), 'invitation id'), 'lapsed', cause)),
  },
};

/** Teams that were deleted before that moment are removed. */
export const teamsRemovableBefore = ({ clock, limits }: Pick<CommandDeps, 'clock' | 'limits'>): string =>
  isoTime(clock.now() - limits.teamRestoreDays * DAY_MS - CLOCKS_APART_MS);

/** Streams that are closed side by side: they share commits. */
const AT_ONCE = 16;

/** Out: 'unfinished' where something of the team could not be closed yet, or the signal aborted: done again, it goes on. Nothing happens to a team that lives, or was deleted later. */
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
    // What may make other streams comes first.
    for (const kinds of [FIRST, REST]) if (!(await closeStreams(deps, kinds, { teamId, cause, signal }))) return 'unfinished';
    await handle(deps.eventLog, teamStream(teamId), teamDecider, { type: 'NoteErased', at: isoTime(deps.clock.now()) }, cause);
  }
  return 'removed';
};

type Work = Readonly<{ teamId: TeamId; cause: Cause; signal: AbortSignal }>;
type Kinds = Readonly<Partial<Record<StreamKind, Closing>>>;

const { webhook, batch, ...others } = closings;
const FIRST: Kinds = { webhook, batch };
const REST: Kinds = others;

const closingOf = (kinds: Kinds, kind: string): Closing | undefined => kinds[kind as StreamKind];

const closeStreams = async (deps: RemovalDeps, kinds: Kinds, work: Work): Promise<boolean> => {
  const { teamId, signal } = work;
  const types = [...new Set(Object.values(kinds).flatMap(({ begunBy }): readonly EventType[] => begunBy))];
  let isAllClosed = true;
  const options = { kinds: Object.keys(kinds), types, decrypt: [], signal } as const;
  for await (const { events, unreadable } of deps.eventLog.readAll(0, options)) {
    // A stream that cannot be read has no closing fact, and its key goes all the same.
    for (const { stream } of unreadable) if (await isOf(deps, teamId, stream as StreamName)) await eraseStream(deps, stream as StreamName);
    const own = events.filter(({ metadata }) => metadata.teamId === teamId);
    for (let from = 0; from < own.length; from += AT_ONCE) {
      if (signal.aborted) return false;
      const closed = await Promise.all(own.slice(from, from + AT_ONCE).map((one) => closeOne(deps, kinds, one, work)));
      isAllClosed &&= closed.every((one) => one);
    }
  }
  return isAllClosed && !signal.aborted;
};

/** As far as any event of the stream can be read. */
const isOf = async ({ eventLog }: RemovalDeps, teamId: TeamId, stream: StreamName): Promise<boolean> =>
  (await eventLog.inspect(stream)).some((one) => isReadable(one) && one.metadata.teamId === teamId);

/** A fault with one stream keeps no other; the team is not done before it is mended. */
const closeOne = async (deps: RemovalDeps, kinds: Kinds, { stream }: Recorded, { cause, signal }: Work): Promise<boolean> => {
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

/**
 * Destroys what has no closing fact in its own stream, of the teams of which the log says between those positions that nothing is left: the
 * keys may be an older copy. Safe to repeat.
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
      if (position <= upTo) await eraseStream(deps, senderDomainsStream(assertDefined(parseTeamId(splitStream(stream).id), 'team id')));
    if (reached >= upTo) return;
  }
};
