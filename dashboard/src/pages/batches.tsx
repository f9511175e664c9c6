/** Bulk sends: how far each has come, its result as a file, and how it is cancelled. */
import type {
  CancelBatchData,
  CancelBatchResponse,
  GetBatchResultsData,
  GetBatchStatusData,
  GetBatchStatusResponse,
  ListBatchesData,
  ListBatchesResponse,
} from '#api';
import { download, operation } from '../api/client';
import { resourcePages } from '../resources/pages';
import { Maybe, Progress, queryOf } from '../resources/values';
import { TextLink } from '../ui/controls';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';

const list = operation<ListBatchesData, ListBatchesResponse>('GET', '/api/emails/batches');
const get = operation<GetBatchStatusData, GetBatchStatusResponse>('GET', '/api/emails/batch/{batchId}/status');
const cancel = operation<CancelBatchData, CancelBatchResponse>('POST', '/api/emails/batch/{batchId}/cancel');

type Batch = GetBatchStatusResponse;

const nameOf = ({ batchName, emailTemplateName }: Batch): string => batchName ?? emailTemplateName;

const isOpen = ({ status }: Batch): boolean => status === 'queued' || status === 'processing' || status === 'scheduled';

/** A count that leads to its emails. */
const Count = ({ batch, of, count }: Readonly<{ batch: Batch; of: string; count: number }>) =>
  count === 0 ? (
    '0'
  ) : (
    <TextLink href={`/emails?batch=${batch.batchId}&status=${of}`}>{count.toLocaleString()}</TextLink>
  );

export default resourcePages<Batch>({
  path: '/batches',
  one: 'bulk send',
  many: 'Bulk sends',
  needs: 'emails:read',
  about: 'A bulk send makes an email of one template for each of many people. Programs begin one by the API.',
  first: (
    <>
      Begin one by <code>POST /api/emails/send/bulk</code>, with people as JSON or as a CSV file. Its progress stands
      here.
    </>
  ),
  idOf: ({ batchId }) => batchId,
  titleOf: nameOf,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  get: (batchId, { teamId }, signal) => get({ path: { batchId } }, { teamId, signal }),
  refreshMs: (rows) => (rows.some(({ status }) => status === 'queued' || status === 'processing') ? 3_000 : undefined),
  columns: [
    { name: 'Name', cell: (batch) => <bdi>{nameOf(batch)}</bdi> },
    {
      name: 'Status',
      cell: ({ status, test }) => (
        <>
          <StatusBadge status={status} />
          {test ? ' · test' : ''}
        </>
      ),
    },
    { name: 'Progress', cell: (batch) => <Progress percent={batch.progress} label={`Progress of ${nameOf(batch)}`} /> },
    { name: 'Emails', cell: ({ totalEmails }) => totalEmails.toLocaleString(), isEnd: true },
    { name: 'Failed', cell: ({ failed, bounced }) => (failed + bounced).toLocaleString(), isEnd: true },
    { name: 'Begun', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ],
  badge: ({ status }) => <StatusBadge status={status} />,
  facts: (batch) => [
    ['Progress', <Progress key="progress" percent={batch.progress} label={`Progress of ${nameOf(batch)}`} />],
    ['Template', batch.emailTemplateName],
    [
      'Emails',
      <TextLink key="emails" href={`/emails?batch=${batch.batchId}`}>
        {batch.totalEmails.toLocaleString()}
      </TextLink>,
    ],
    ['Waiting', <Count key="queued" batch={batch} of="queued,processing" count={batch.queued + batch.processing} />],
    ['Sent', <Count key="sent" batch={batch} of="sent,delivered" count={batch.sent} />],
    ['Delivered', <Count key="delivered" batch={batch} of="delivered" count={batch.delivered} />],
    ['Failed', <Count key="failed" batch={batch} of="failed" count={batch.failed} />],
    ['Bounced', <Count key="bounced" batch={batch} of="bounced" count={batch.bounced} />],
    ['Cancelled', <Count key="cancelled" batch={batch} of="cancelled" count={batch.cancelled} />],
    ['Left out', `${batch.skipped.toLocaleString()} suppressed or invalid, ${batch.duplicates.toLocaleString()} twice`],
    ['Begun', <Moment key="begun" at={batch.createdAt} />],
    batch.scheduledAt === null ? undefined : ['Scheduled for', <Moment key="for" at={batch.scheduledAt} />],
    batch.cancelledAt === null
      ? [
          batch.completedAt === null ? 'Done by about' : 'Done',
          <Maybe key="done" at={batch.completedAt ?? batch.estimatedCompletionAt} otherwise="not known" />,
        ]
      : ['Cancelled at', <Moment key="cancelledAt" at={batch.cancelledAt} />],
    ['Id', <code key="id">{batch.batchId}</code>],
  ],
  acts: [
    {
      label: 'Download the result',
      ask: () => ({
        title: 'Download the result',
        text: <p>One line for each person, with what became of their email.</p>,
      }),
      fields: () => [
        {
          name: 'format',
          label: 'Format',
          kind: 'select',
          initial: 'csv',
          choices: [
            { value: 'csv', label: 'CSV' },
            { value: 'jsonl', label: 'JSON lines' },
          ],
        },
      ],
      run: async ({ batchId }, { format }, { teamId }) => {
        const chosen = format === 'jsonl' ? 'jsonl' : 'csv';
        await download<GetBatchResultsData>(
          'GET',
          { url: '/api/emails/batch/{batchId}/results', path: { batchId }, query: { format: chosen } },
          `${batchId}.${chosen}`,
          { teamId },
        );
        return { say: 'The file has the result of each person.' };
      },
    },
    {
      label: 'Cancel the rest',
      needs: 'emails:send',
      look: 'danger',
      isFor: isOpen,
      ask: (batch) => ({
        title: `Cancel ${nameOf(batch)}?`,
        text: (
          <p>
            {(batch.queued + batch.processing).toLocaleString()} of {batch.totalEmails.toLocaleString()} emails have not
            left. They are not sent, except those that are being handed over.
          </p>
        ),
      }),
      run: async (batch, _values, { teamId }) => {
        const { cancelled } = await cancel({ path: { batchId: batch.batchId } }, { teamId });
        return { say: `${cancelled.toLocaleString()} emails of ${nameOf(batch)} are cancelled.` };
      },
    },
  ],
});
