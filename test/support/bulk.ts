/** Bulk sends as tests ask for them: of the template that every world has, each recipient with a name of its own. */
import type { SendBulkRequest } from '../../src/api/bulk.js';
import { assertDefined, parseBatchId, type BatchId } from '../../src/domain/core/ids.js';
import { caller, type World } from './command-world.js';

export const people = (count: number): SendBulkRequest['recipients'] =>
  Array.from({ length: count }, (_, index) => ({ email: `r${index}@example.org`, variables: { name: `N${index}` } }));

export const bulk = (count: number, more: Partial<SendBulkRequest> = {}): SendBulkRequest => ({
  templateId: 'welcome',
  recipients: people(count),
  ...more,
});

/** Out: the id of the batch that the call was answered with. */
export const acceptBulk = async (
  { commands }: Pick<World, 'commands'>,
  request: SendBulkRequest,
  by = caller,
): Promise<BatchId> => assertDefined(parseBatchId((await commands.sendBulk(by, request)).body.batchId), 'batch id');
