/** Bulk sends: how far each has come, its result as a file, and how it is cancelled. */
import { lazy, Suspense } from 'react';
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
import { Loading } from '../ui/states';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';
import { Results } from './bulk/results';

const list = operation<ListBatchesData, ListBatchesResponse>('GET', '/api/emails/batches');
const get = operation<GetBatchStatusData, GetBatchStatusResponse>('GET', '/api/emails/batch/{batchId}/status');
const cancel = operation<CancelBatchData, CancelBatchResponse>('POST', '/api/emails/batch/{batchId}/cancel');

type Batch = GetBatchStatusResponse;

const nameOf = ({ batchName, emailTemplateName }: Batch): string => batchName ?? emailTemplateName;

const isOpen = ({ status }: Batch): boolean => status === 'queued' || status === 'processing' || status === 'scheduled';

const resultStatuses = [
  ...['queued', 'processing', 'scheduled', 'sent', 'delivered', 'failed', 'bounced', 'complained', 'cancelled'],
  ...['skipped', 'duplicate'],
] as readonly NonNullable<NonNullable<GetBatchResultsData['query']>['status']>[];

const NewBatch = lazy(() => import('./bulk/new'));

const NewPage = () => (
  <Suspense fallback={<Loading label="Loading the page" />}>
    <NewBatch />
  </Suspense>
);

const isRunning = ({ status }: Batch): boolean => status === 'queued' || status === 'processing';

const refreshMs = (rows: readonly Batch[]): number | undefined => {
  if (rows.some(isRunning)) return 1_500;
  return rows.some(({ status }) => status === 'scheduled') ? 15_000 : undefined;
};

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
  about: 'A bulk send makes an email of one template for each of many people, from a CSV file or by the API.',
  first: (
    <>
      Begin one with a CSV file here, or by <code>POST /api/emails/send/bulk</code>. Its progress stands here.
    </>
  ),
  create: { label: 'Send to a CSV file', needs: 'emails:send', Page: NewPage },
  idOf: ({ batchId }) => batchId,
  titleOf: nameOf,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  get: (batchId, { teamId }, signal) => get({ path: { batchId } }, { teamId, signal }),
  refreshMs,
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
    [
      'Left out',
      `${batch.skipped.toLocaleString()} without a valid address, ${batch.duplicates.toLocaleString()} twice`,
    ],
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
  More: Results,
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
        {
          name: 'status',
          label: 'Status',
          kind: 'select',
          choices: [{ value: '', label: 'any' }, ...resultStatuses.map((value) => ({ value, label: value }))],
        },
      ],
      run: async ({ batchId }, { format, status }, { teamId }) => {
        const chosen = format === 'jsonl' ? 'jsonl' : 'csv';
        const wanted = resultStatuses.find((one) => one === status);
        await download<GetBatchResultsData>(
          'GET',
          {
            url: '/api/emails/batch/{batchId}/results',
            path: { batchId },
            query: { format: chosen, ...(wanted === undefined ? {} : { status: wanted }) },
          },
          `${batchId}.${chosen}`,
          { teamId },
        );
        return {
          say: `The file has the result of each ${wanted === undefined ? 'person' : `email that is ${wanted}`}.`,
        };
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
