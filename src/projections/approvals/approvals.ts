/** The read model of approvals: lists by team, the timers of what is due, and the approvals that hold an address. */
import {
  approvalDecider,
  type ApprovalListing,
  type ApprovalStatus,
  isToBeSent,
  listingOf,
  statusAt,
  type Approval,
} from '../../domain/approvals/decider.js';
import type { ApprovalEvent, ProposalEnvelope } from '../../domain/approvals/events.js';
import { assertDefined, parseApprovalId, splitStream, type ApprovalId, type TeamId } from '../../domain/core/ids.js';
import type { Limits } from '../../domain/core/limits.js';
import { foldForSearch } from '../../domain/core/search-text.js';
import { isoTime } from '../../domain/core/time.js';
import type { Recorded } from '../../domain/events.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Document, Query, ReadModels } from '../../domain/ports/read-models.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { readPage, type ListQuery, type Page, type Paging } from '../core/pages.js';
import { declareProjection, timersSpec, type Handlers, type Projection, type Step } from '../core/projection.js';

export type ApprovalFilter = Readonly<{ status?: ApprovalStatus }>;

export const APPROVALS = 'approvals';
export const APPROVAL_TIMERS = timersOf('approval');

type StateBesideProposal = Omit<Approval, 'proposal'>;

/** `proposal`: its envelope, while it can be read; `held` is 1 then. */
type ApprovalDocument = Document &
  Readonly<{
    team: string;
    status: ApprovalStatus;
    expiresAt: string;
    held: number;
    state: StateBesideProposal;
    proposal?: ProposalEnvelope;
  }>;

/** `expiry`: nobody may approve it any more. `sending`: its email is to be made. `removal`: its record is too old. */
export type ApprovalTimerKind = 'expiry' | 'sending' | 'removal';

/** `keptMs`: how long the record of a decided approval is kept. */
const timerOf = (
  state: StateBesideProposal,
  keptMs: number,
): Readonly<{ kind: ApprovalTimerKind; dueAt: string }> | undefined => {
  if (state.status === 'requested') return { kind: 'expiry', dueAt: state.requested.expiresAt };
  if (isToBeSent(state as Approval)) return { kind: 'sending', dueAt: state.decided!.at };
  return state.endedAt === null
    ? undefined
    : { kind: 'removal', dueAt: isoTime(Date.parse(state.endedAt) + keptMs + 1) };
};

const changed =
  (keptMs: number) =>
  (
    { event, stream, position, metadata: { teamId: team } }: Recorded<ApprovalEvent>,
    before: Document | undefined,
  ): readonly Step[] => {
    const { id } = splitStream(stream);
    const known = before as ApprovalDocument | undefined;
    const folded = approvalDecider.evolve(known && ({ ...known.state, proposal: known.proposal } as Approval), event);
    if (folded === undefined) return [];
    const { proposal: sealed, ...state } = folded;
    const proposal = sealed && envelopeOf(sealed);
    const common = { id, seq: known?.seq ?? position, position };
    const due = timerOf(state, keptMs);
    const timer: TimerDocument | undefined = due && {
      ...common,
      ...due,
      key: stream,
      priority: due.kind === 'sending' ? 'normal' : 'low',
      team,
    };
    const document: ApprovalDocument = {
      ...common,
      team,
      status: state.status,
      expiresAt: state.requested.expiresAt,
      held: proposal === undefined ? 0 : 1,
      state,
      ...(proposal !== undefined && { proposal }),
    };
    return [
      { collection: APPROVAL_TIMERS, id, document: timer },
      { collection: APPROVALS, id, next: () => document },
    ];
  };

const envelopeOf = (sealed: ProposalEnvelope): ProposalEnvelope => {
  const { from, recipients, subject, attachments, warnings } = sealed;
  return { from, recipients, subject, attachments, warnings };
};

export const approvalsProjection = (keptMs: number): Projection => {
  const on = changed(keptMs);
  const handlers: Handlers<'approval'> = {
    ApprovalRequested: on,
    ApprovalApproved: on,
    ApprovalSent: on,
    ApprovalFailed: on,
    ApprovalRejected: on,
    ApprovalWithdrawn: on,
    ApprovalExpired: on,
    ApprovalErased: on,
    ApprovalRemoved: ({ stream }) => [
      { collection: APPROVAL_TIMERS, id: splitStream(stream).id, document: undefined },
      { collection: APPROVALS, id: splitStream(stream).id, next: () => undefined },
    ],
  };
  return declareProjection({
    name: 'approvals',
    collections: [
      timersSpec(APPROVAL_TIMERS),
      {
        name: APPROVALS,
        version: 1,
        fields: ['team', 'status', 'expiresAt', 'held'],
        indexes: [['team'], ['team', 'status', 'expiresAt'], ['team', 'held']],
        personal: ['proposal'],
      },
    ],
    main: APPROVALS,
    kinds: ['approval'],
    decrypts: ['ApprovalRequested'],
    on: handlers,
  });
};

type Deps = Readonly<{ readModels: ReadModels; limits: Pick<Limits, 'listTotalMax'>; clock: Pick<Clock, 'now'> }>;

/** An approval past its time is shown as expired, and without its proposal, before an event says so. */
const listed = ({ id, state, proposal }: ApprovalDocument, now: string): ApprovalListing => {
  const status = statusAt(state, now);
  return listingOf(id, { ...state, status, proposal: status === 'expired' ? undefined : proposal });
};

/** Newest first. What is past its time is among the expired ones, before an event says so. */
export const listApprovals = (
  deps: Deps,
  teamId: TeamId,
  { status }: ApprovalFilter,
  paging: Paging,
): Promise<Page<ApprovalListing>> => {
  const now = isoTime(deps.clock.now());
  const max = deps.limits.listTotalMax;
  const filter = filterOf(teamId, status, now);
  const total = async () => {
    const count = await deps.readModels.count(APPROVALS, filter, max);
    return { total: count, isLowerBound: count >= max };
  };
  const query = { collection: APPROVALS, ...filter, searchTotalMax: max, total };
  return readPage<ApprovalDocument, ApprovalListing>(deps.readModels, query, paging, (one) => listed(one, now));
};

const filterOf = (
  teamId: TeamId,
  status: ApprovalStatus | undefined,
  now: string,
): Pick<Query, 'where'> & Partial<Pick<ListQuery, 'anyOf'>> => {
  const where = { team: { eq: teamId } };
  if (status === undefined) return { where };
  if (status === 'requested') return { where: { ...where, ...waitingAt(now) } };
  if (status !== 'expired') return { where: { ...where, status: { eq: status } } };
  return { where, anyOf: [{ status: { eq: status } }, { status: { eq: 'requested' }, expiresAt: { lte: now } }] };
};

/** An approval ends at its `expiresAt`, as `statusAt` says. */
const waitingAt = (now: string): Query['where'] => ({
  status: { eq: 'requested' },
  expiresAt: { gte: isoTime(Date.parse(now) + 1) },
});

/** How many sends of a team wait for a person. */
export const openApprovals = ({ readModels, clock, limits }: Deps, teamId: TeamId): Promise<number> => {
  const where = { team: { eq: teamId }, ...waitingAt(isoTime(clock.now())) };
  return readModels.count(APPROVALS, { where }, limits.listTotalMax);
};

/** undefined if the team has no such approval. */
export const approvalOf = async (
  { readModels, clock }: Readonly<{ readModels: Pick<ReadModels, 'get'>; clock: Pick<Clock, 'now'> }>,
  teamId: TeamId,
  id: string,
): Promise<ApprovalListing | undefined> => {
  const document = (await readModels.get(APPROVALS, id)) as ApprovalDocument | undefined;
  return document?.team === teamId ? listed(document, isoTime(clock.now())) : undefined;
};

const PAGE = 200;

/** The approvals whose proposals can be read and have the address as a recipient; letter case does not count. */
export const approvalsOfAddress = async (
  readModels: Pick<ReadModels, 'find'>,
  teamId: TeamId,
  address: string,
): Promise<readonly ApprovalId[]> => {
  const wanted = foldForSearch(address);
  const ids: ApprovalId[] = [];
  for (let after = 0; ;) {
    const found = (await readModels.find(APPROVALS, {
      where: { team: { eq: teamId }, held: { eq: 1 }, seq: { gte: after + 1 } },
      sort: { field: 'seq', direction: 'asc' },
      limit: PAGE,
    })) as readonly ApprovalDocument[];
    for (const { id, proposal } of found)
      if (proposal?.recipients.some(({ email }) => foldForSearch(email) === wanted) === true)
        ids.push(assertDefined(parseApprovalId(id), 'approval id'));
    const last = found.at(-1);
    if (last === undefined || found.length < PAGE) return ids;
    after = last.seq;
  }
};
