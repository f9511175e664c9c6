/** Suppressed addresses: added, removed, looked up, taken in and given out as CSV. */
import type {
  AddSuppressionData,
  AddSuppressionResponse,
  CheckSuppressionData,
  CheckSuppressionResponse,
  ExportSuppressionsData,
  ImportSuppressionsData,
  ImportSuppressionsResponse,
  ListSuppressionsData,
  ListSuppressionsResponse,
  RemoveSuppressionData,
  RemoveSuppressionResponse,
} from '#api';
import { download, operation } from '../api/client';
import { resourcePages } from '../resources/pages';
import { bodyOf, type Field } from '../resources/resource';
import { fileForm, queryOf } from '../resources/values';
import { TextLink } from '../ui/controls';
import { Moment } from '../ui/time';

const list = operation<ListSuppressionsData, ListSuppressionsResponse>('GET', '/api/suppressions');
const add = operation<AddSuppressionData, AddSuppressionResponse>('POST', '/api/suppressions');
const remove = operation<RemoveSuppressionData, RemoveSuppressionResponse>('DELETE', '/api/suppressions/{id}');
const check = operation<CheckSuppressionData, CheckSuppressionResponse>('GET', '/api/suppressions/check');
const take = operation<ImportSuppressionsData, ImportSuppressionsResponse>('POST', '/api/suppressions/import');

type Suppression = ListSuppressionsResponse['data'][number];

const reasons: Readonly<Record<Suppression['reason'], string>> = {
  'hard-bounce': 'hard bounce',
  complaint: 'complaint',
  unsubscribe: 'unsubscribed',
  manual: 'added by hand',
  import: 'imported',
};

const fields: readonly Field[] = [
  { name: 'email', label: 'Address', kind: 'email', isRequired: true },
  { name: 'list', label: 'List', hint: 'Only mails of that list are kept from the address; empty: all mails' },
];

const ERRORS_SHOWN = 3;

const nameOf = ({ email }: Suppression): string => email ?? 'an erased address';

export default resourcePages<Suppression>({
  path: '/suppressions',
  one: 'suppression',
  many: 'Suppressions',
  needs: 'suppressions:manage',
  about: 'Nothing is sent to a suppressed address. Hard bounces, complaints and unsubscribes add theirs by themselves.',
  idOf: ({ id }) => id,
  titleOf: nameOf,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  filters: [
    {
      name: 'reason',
      label: 'Reason',
      kind: 'select',
      choices: [{ value: '', label: 'any' }, ...Object.entries(reasons).map(([value, label]) => ({ value, label }))],
    },
    { name: 'list', label: 'List' },
  ],
  columns: [
    { name: 'Address', cell: ({ email }) => (email === null ? <em>erased</em> : <bdi>{email}</bdi>) },
    { name: 'Reason', cell: ({ reason }) => reasons[reason] },
    { name: 'List', cell: (row) => row.list ?? 'all mails' },
    {
      name: 'Email',
      cell: ({ emailId }) => (emailId === null ? '' : <TextLink href={`/emails/${emailId}`}>See the email</TextLink>),
    },
    { name: 'Since', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ],
  create: {
    label: 'Suppress an address',
    fields: () => fields,
    run: async (values, { teamId }) => {
      const { email } = await add({ body: bodyOf(fields, values) }, { teamId });
      return { say: `Nothing is sent to ${email ?? 'the address'}.` };
    },
  },
  acts: [
    {
      label: 'Remove',
      look: 'danger',
      ask: (row) => ({
        title: `Write to ${nameOf(row)} again?`,
        text: <p>Emails that were not sent because of it stay as they are; send them anew.</p>,
      }),
      run: async (row, _values, { teamId }) => {
        await remove({ path: { id: row.id } }, { teamId });
        return { say: `Mails to ${nameOf(row)} are accepted again.` };
      },
    },
  ],
  tools: [
    {
      label: 'Look up',
      ask: () => ({ title: 'Is an address suppressed?', text: null }),
      fields: () => fields,
      run: async (_row, values, { teamId }) => {
        const query = bodyOf<CheckSuppressionData['query']>(fields, values);
        const { email, suppression } = await check({ query }, { teamId });
        return {
          say:
            suppression === null
              ? `${email} is not suppressed.`
              : `${email} is suppressed: ${reasons[suppression.reason]}, ${suppression.list === null ? 'for all mails' : `for the list ${suppression.list}`}.`,
        };
      },
    },
    {
      label: 'Import',
      ask: () => ({
        title: 'Import addresses',
        text: (
          <p>
            A CSV file with the column <code>email</code>, JSON lines, or the export of another service; at most 10,000
            rows. The same file once more changes nothing.
          </p>
        ),
      }),
      fields: () => [
        { name: 'file', label: 'File', kind: 'file', accept: '.csv,.jsonl,.ndjson,.json,text/csv', isRequired: true },
      ],
      run: async (_row, values, { teamId }) => {
        const { rows, added, existing, invalid, errors } = await take({ body: fileForm(values) }, { teamId });
        const faults = errors.slice(0, ERRORS_SHOWN).map(({ line, message }) => `Line ${line}: ${message}.`);
        return {
          say: [`${rows} rows: ${added} added, ${existing} known, ${invalid} invalid.`, ...faults].join(' '),
        };
      },
    },
    {
      label: 'Export',
      run: async (_row, _values, { teamId }) => {
        await download<ExportSuppressionsData>('GET', { url: '/api/suppressions/export' }, 'suppressions.csv', {
          teamId,
        });
        return { say: 'The file has every suppressed address.' };
      },
    },
  ],
});
