/**
 * The read model of suppressions by team: ids, reasons and lists. The addresses are encrypted in their streams, and not
 * here.
 */
import type { SuppressionReason } from '../../domain/recipients/suppression.js';
import {
  assertDefined,
  parseSuppressionId,
  splitStream,
  type SuppressionId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import type { Limits } from '../../domain/core/limits.js';
import { counted, readPage, type Page, type Paging } from '../core/pages.js';
import { declareProjection } from '../core/projection.js';

export type SuppressionFilter = Readonly<{ reason?: SuppressionReason; list?: string }>;

export const SUPPRESSIONS = 'suppressions';

type SuppressionDocument = Document & Readonly<{ team: string; reason: SuppressionReason; list?: string }>;

export const suppressionsProjection = declareProjection({
  name: 'suppressions',
  collections: [
    {
      name: SUPPRESSIONS,
      version: 2,
      fields: ['team', 'reason', 'list'],
      indexes: [['team'], ['team', 'reason'], ['team', 'list']],
    },
  ],
  main: SUPPRESSIONS,
  kinds: ['suppression'],
  decrypts: [],
  on: {
    AddressSuppressed: ({ event, stream, position, metadata: { teamId: team } }) => {
      const { id } = splitStream(stream);
      const { reason, list } = event.data;
      const document: SuppressionDocument = {
        id,
        seq: position,
        position,
        team,
        reason,
        ...(list === undefined ? {} : { list }),
      };
      return [{ collection: SUPPRESSIONS, id, next: () => document }];
    },
    SuppressionRemoved: ({ stream }) => [
      { collection: SUPPRESSIONS, id: splitStream(stream).id, next: () => undefined },
    ],
  },
});

const suppressionIdOfDocument = ({ id }: Document): SuppressionId =>
  assertDefined(parseSuppressionId(id), 'suppression id');

/** The ids of one page, newest first. */
export const listSuppressions = (
  deps: Readonly<{ readModels: ReadModels; limits: Pick<Limits, 'listTotalMax'> }>,
  teamId: TeamId,
  { reason, list }: SuppressionFilter,
  paging: Paging,
): Promise<Page<SuppressionId>> => {
  const where = {
    team: { eq: teamId },
    ...(reason === undefined ? {} : { reason: { eq: reason } }),
    ...(list === undefined ? {} : { list: { eq: list } }),
  };
  const total = () => counted(deps, SUPPRESSIONS, where);
  return readPage(
    deps.readModels,
    { collection: SUPPRESSIONS, where, searchTotalMax: deps.limits.listTotalMax, total },
    paging,
    suppressionIdOfDocument,
  );
};

const PAGE = 200;

/** All ids of a team, oldest first; those added meanwhile come at the end. */
export async function* suppressionPages(
  { readModels }: Readonly<{ readModels: Pick<ReadModels, 'find'> }>,
  teamId: TeamId,
): AsyncGenerator<readonly SuppressionId[]> {
  for (let after = 0; ;) {
    const found = await readModels.find(SUPPRESSIONS, {
      where: { team: { eq: teamId }, seq: { gte: after + 1 } },
      sort: { field: 'seq', direction: 'asc' },
      limit: PAGE,
    });
    const last = found.at(-1);
    if (last === undefined) return;
    yield found.map(suppressionIdOfDocument);
    if (found.length < PAGE) return;
    after = last.seq;
  }
}
