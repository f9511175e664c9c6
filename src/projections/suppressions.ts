/** The list of addresses that each team does not write to. It tells their ids and reasons; the addresses are sealed in their streams. */
import { assertDefined, parseSuppressionId, splitStream, type SuppressionId, type TeamId } from '../domain/ids.js';
import type { Document, ReadModels } from '../domain/ports/read-models.js';
import type { SuppressionReason } from '../domain/suppression/state.js';
import { declareProjection } from './projection.js';

export const SUPPRESSIONS = 'suppressions';

export type SuppressionDocument = Document & Readonly<{ team: string; reason: SuppressionReason }>;

export const suppressionsProjection = declareProjection({
  name: 'suppressions',
  collections: [{ name: SUPPRESSIONS, version: 1, fields: ['team', 'reason'], indexes: [['team'], ['team', 'reason']] }],
  main: SUPPRESSIONS,
  kinds: ['suppression'],
  decrypts: [],
  on: {
    AddressSuppressed: ({ event, stream, position, metadata: { teamId: team } }) => {
      const { id } = splitStream(stream);
      const document: SuppressionDocument = { id, seq: position, position, team, reason: event.data.reason };
      return [{ collection: SUPPRESSIONS, id, next: () => document }];
    },
    SuppressedAddressErased: 'ignored',
    SuppressionRemoved: ({ stream }) => [{ collection: SUPPRESSIONS, id: splitStream(stream).id, next: () => undefined }],
  },
});

export const suppressionIdOfDocument = ({ id }: Document): SuppressionId => assertDefined(parseSuppressionId(id), 'suppression id');

/** So many are read at once. */
const PAGE = 200;

/** All ids of a team, the oldest first; what comes meanwhile comes at the end. */
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
