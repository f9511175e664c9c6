/** Where an address may stand: the emails of a team that have it as a recipient, and the bulk sends whose emails are not all made. */
import type { AddressIndex } from '../../domain/privacy/address-index.js';
import { assertDefined, parseBatchId, parseEmailId, splitStream, type BatchId, type EmailId, type TeamId } from '../../domain/core/ids.js';
import { priorities } from '../../domain/ports/bus.js';
import type { Cursor, ReadModels } from '../../domain/ports/read-models.js';
import { BATCH_TIMERS } from '../bulk/batches.js';
import { EMAILS } from '../email/documents.js';
import { recipientTerm } from '../email/search.js';
import type { TimerDocument } from '../core/timers.js';
import { webhooksOfTeam } from '../webhooks/reads.js';

/** So many are read at once. */
const PAGE = 200;

export const addressIndex = (readModels: Pick<ReadModels, 'find'>): AddressIndex => ({
  emailsOfAddress: (teamId, address) => emailPages(readModels, teamId, address),
  openBatches: (teamId) => openBatches(readModels, teamId),
  webhooksOfTeam: (teamId) => webhooksOfTeam(readModels, teamId),
});

async function* emailPages(
  readModels: Pick<ReadModels, 'find'>,
  teamId: TeamId,
  address: string,
): AsyncGenerator<Readonly<{ ids: readonly EmailId[]; isLast: boolean }>> {
  for (let after: Cursor | undefined; ;) {
    const found = await readModels.find(EMAILS, {
      where: { team: { eq: teamId } },
      terms: [recipientTerm(address)],
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    const isLast = found.length < PAGE;
    yield { ids: found.map(({ id }) => assertDefined(parseEmailId(id), 'email id')), isLast };
    if (isLast) return;
    const { seq } = found.at(-1)!;
    after = { value: seq, seq };
  }
}

/** The timers of a batch until all its emails are made, or it is stopped. */
const openTimers = ['fan-out', 'scheduled', 'cancelling'] as const;

const openBatches = async (readModels: Pick<ReadModels, 'find'>, teamId: TeamId): Promise<readonly BatchId[]> => {
  const ids = new Set<BatchId>();
  for (const kind of openTimers) {
    for (const priority of priorities) {
      for await (const timers of timerPages(readModels, { kind, priority, teamId })) {
        for (const { key } of timers) ids.add(assertDefined(parseBatchId(splitStream(key).id), 'batch id'));
      }
    }
  }
  return [...ids];
};

async function* timerPages(
  readModels: Pick<ReadModels, 'find'>,
  { kind, priority, teamId }: Readonly<{ kind: string; priority: string; teamId: TeamId }>,
): AsyncGenerator<readonly TimerDocument[]> {
  for (let after = 0; ;) {
    const found = await readModels.find(BATCH_TIMERS, {
      where: { kind: { eq: kind }, priority: { eq: priority }, team: { eq: teamId }, seq: { gte: after + 1 } },
      sort: { field: 'seq', direction: 'asc' },
      limit: PAGE,
    });
    const last = found.at(-1);
    if (last === undefined) return;
    yield found as readonly TimerDocument[];
    if (found.length < PAGE) return;
    after = last.seq;
  }
}
