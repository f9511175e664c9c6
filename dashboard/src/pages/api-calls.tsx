/** Calls of the API by keys and apps: what a program asked, and what it was answered. */
import type { ListRequestLogsData, ListRequestLogsResponse } from '#api';
import { operation } from '../api/client';
import { resourcePages } from '../resources/pages';
import { queryOf } from '../resources/values';
import { TextLink } from '../ui/controls';
import { StatusBadge, type Tone } from '../ui/status';
import { Moment } from '../ui/time';

const list = operation<ListRequestLogsData, ListRequestLogsResponse>('GET', '/api/request-logs');

type Call = ListRequestLogsResponse['data'][number];

const toneOf = (status: number): Tone => (status < 400 ? 'good' : status < 500 ? 'warn' : 'bad');

const choices = (...values: readonly string[]) => [
  { value: '', label: 'any' },
  ...values.map((value) => ({ value, label: value })),
];

const Actor = ({ actor: { type, id, name } }: Pick<Call, 'actor'>) => (
  <TextLink href={`/${type === 'app' ? 'apps' : 'api-keys'}/${id}`}>
    <bdi>{name ?? id}</bdi>
  </TextLink>
);

export default resourcePages<Call>({
  path: '/api-calls',
  one: 'call',
  many: 'API calls',
  needs: 'api-keys:manage',
  about:
    'What your programs asked the API, and what it answered, without bodies, queries and addresses. Settings say for how many days calls are kept.',
  first: 'Calls of API keys and apps stand here within a second. What people do here is in the audit log.',
  idOf: ({ id }) => id,
  titleOf: ({ method, path }) => `${method} ${path}`,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  filters: [
    {
      name: 'status',
      label: 'Status',
      kind: 'select',
      choices: [
        { value: '', label: 'any' },
        { value: '2xx', label: '2xx: done' },
        { value: '4xx', label: '4xx: refused' },
        { value: '5xx', label: '5xx: failed' },
      ],
    },
    { name: 'method', label: 'Method', kind: 'select', choices: choices('GET', 'POST', 'PUT', 'PATCH', 'DELETE') },
    { name: 'actor', label: 'Id of the key or app', placeholder: 'key_' },
    { name: 'code', label: 'Error code', placeholder: 'VALIDATION_ERROR' },
    { name: 'requestId', label: 'Id of the request' },
    { name: 'from', label: 'From', kind: 'day' },
    { name: 'to', label: 'To', kind: 'day' },
  ],
  columns: [
    { name: 'Call', cell: ({ method, path }) => <code>{`${method} ${path}`}</code> },
    { name: 'Status', cell: ({ status }) => <StatusBadge status={String(status)} tone={toneOf(status)} /> },
    { name: 'Error code', cell: ({ code }) => (code === null ? '' : <code>{code}</code>) },
    { name: 'By', cell: ({ actor }) => <Actor actor={actor} /> },
    { name: 'ms', cell: ({ durationMs }) => durationMs.toLocaleString(), isEnd: true },
    { name: 'At', cell: ({ at }) => <Moment at={at} /> },
    { name: 'Request', cell: ({ requestId }) => <code>{requestId}</code> },
  ],
  refreshMs: () => 10_000,
});
