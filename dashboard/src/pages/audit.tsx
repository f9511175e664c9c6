/** The audit log: found by filters, read one by one, and given out as a file that can be verified. */
import type {
  ExportAuditLogsData,
  GetAuditLogData,
  GetAuditLogResponse,
  ListAuditLogsData,
  ListAuditLogsResponse,
} from '#api';
import { download, operation } from '../api/client';
import { resourcePages } from '../resources/pages';
import { bodyOf, type Field } from '../resources/resource';
import { queryOf } from '../resources/values';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';
import { Person } from './person';

const list = operation<ListAuditLogsData, ListAuditLogsResponse>('GET', '/api/audit-logs');
const get = operation<GetAuditLogData, GetAuditLogResponse>('GET', '/api/audit-logs/{id}');

type Entry = GetAuditLogResponse;

const choices = (...values: readonly string[]) => [
  { value: '', label: 'any' },
  ...values.map((value) => ({ value, label: value.replaceAll('_', ' ') })),
];

const days: readonly Field[] = [
  { name: 'from', label: 'From', kind: 'day' },
  { name: 'to', label: 'To', kind: 'day' },
];

const Actor = ({ actor }: Readonly<{ actor: Entry['actor'] }>) =>
  actor.id === null ? (
    actor.type
  ) : actor.type === 'user' ? (
    <Person id={actor.id} />
  ) : (
    <>
      {actor.type.replace('_', ' ')} <code>{actor.id}</code>
    </>
  );

const Target = ({ target }: Readonly<{ target: Entry['target'] }>) =>
  target === null ? (
    ''
  ) : target.type === 'user' || target.type === 'member' ? (
    <Person id={target.id} />
  ) : (
    <>
      {target.type} <code>{target.id}</code>
    </>
  );

export default resourcePages<Entry>({
  path: '/audit',
  one: 'entry',
  many: 'Audit log',
  needs: 'audit:read',
  about: 'Who did what, and when: sign-ins, keys, people, settings, and reads of emails. No change of it goes unseen.',
  first: 'Sign-ins, keys, changes of people and settings, and reads of emails stand here as they are made.',
  idOf: ({ id }) => id,
  titleOf: ({ action }) => action,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  filters: [
    {
      name: 'category',
      label: 'About',
      kind: 'select',
      choices: choices('authentication', 'api_keys', 'team', 'data_access', 'oauth', 'settings'),
    },
    {
      name: 'actorType',
      label: 'By',
      kind: 'select',
      choices: choices('user', 'api_key', 'app', 'operator', 'system'),
    },
    { name: 'result', label: 'Result', kind: 'select', choices: choices('success', 'denied') },
    { name: 'action', label: 'Action', placeholder: 'email.read' },
    { name: 'actor', label: 'Id of who did it' },
    { name: 'target', label: 'Id of the thing' },
    ...days,
  ],
  columns: [
    { name: 'Action', cell: ({ action, count }) => (count > 1 ? `${action} ×${count}` : action) },
    { name: 'By', cell: ({ actor }) => <Actor actor={actor} /> },
    { name: 'What', cell: ({ target }) => <Target target={target} /> },
    { name: 'Result', cell: ({ result }) => <StatusBadge status={result} /> },
    { name: 'At', cell: ({ at }) => <Moment at={at} /> },
  ],
  badge: ({ result }) => <StatusBadge status={result} />,
  facts: (entry) => [
    ['At', <Moment key="at" at={entry.at} />],
    ['By', <Actor key="by" actor={entry.actor} />],
    entry.target === null ? undefined : ['What', <Target key="what" target={entry.target} />],
    entry.detail === null ? undefined : ['Detail', entry.detail],
    entry.code === null ? undefined : ['Refused with', <code key="code">{entry.code}</code>],
    ['About', entry.category.replace('_', ' ')],
    entry.count > 1 ? ['Times', entry.count.toLocaleString()] : undefined,
    entry.network === null ? undefined : ['From', <code key="from">{entry.network}</code>],
    entry.agent === null ? undefined : ['Program', entry.agent],
    ['Request', <code key="request">{entry.requestId}</code>],
    ['Id', <code key="id">{entry.id}</code>],
  ],
  tools: [
    {
      label: 'Export',
      ask: () => ({
        title: 'Export the audit log',
        text: (
          <p>
            With its proof: <code>sealpost verify --export FILE</code> checks the file without this service.
          </p>
        ),
      }),
      fields: () => [
        {
          name: 'format',
          label: 'Format',
          kind: 'select',
          initial: 'jsonl',
          choices: [
            { value: 'jsonl', label: 'JSON lines' },
            { value: 'csv', label: 'CSV' },
          ],
        },
        ...days,
      ],
      run: async (_row, values, { teamId }) => {
        const format = values['format'] === 'csv' ? 'csv' : 'jsonl';
        const query = { format, ...bodyOf<Readonly<{ from?: string; to?: string }>>(days, values) } as const;
        await download<ExportAuditLogsData>('GET', { url: '/api/audit-logs/export', query }, `audit-log.${format}`, {
          teamId,
        });
        return { say: 'The file has the entries up to the newest seal, which is made every minute.' };
      },
    },
  ],
});
