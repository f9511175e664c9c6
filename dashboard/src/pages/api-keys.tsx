/** API keys: made, shown once, changed, revoked. */
import type {
  ChangeApiKeyData,
  ChangeApiKeyResponse,
  CreateApiKeyData,
  CreateApiKeyResponse,
  GetApiKeyData,
  GetApiKeyResponse,
  ListApiKeysData,
  ListApiKeysResponse,
  RevokeApiKeyData,
  RevokeApiKeyResponse,
} from '#api';
import { operation } from '../api/client';
import { resourcePages } from '../resources/pages';
import { bodyOf, changeOf, type Field, type Scope } from '../resources/resource';
import { Codes, Maybe } from '../resources/values';
import { TextLink } from '../ui/controls';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';

const list = operation<ListApiKeysData, ListApiKeysResponse>('GET', '/api/api-keys');
const create = operation<CreateApiKeyData, CreateApiKeyResponse>('POST', '/api/api-keys');
const get = operation<GetApiKeyData, GetApiKeyResponse>('GET', '/api/api-keys/{id}');
const change = operation<ChangeApiKeyData, ChangeApiKeyResponse>('PATCH', '/api/api-keys/{id}');
const revoke = operation<RevokeApiKeyData, RevokeApiKeyResponse>('DELETE', '/api/api-keys/{id}');

type Key = GetApiKeyResponse;

const meanings: Readonly<Record<Key['permissions'][number], string>> = {
  'emails:send': 'Send, retry, cancel and move emails',
  'emails:read': 'Read the list of emails and what became of each',
  'emails:content': 'Read the mails themselves, with their attachments',
  'emails:delete': 'Delete emails for good',
  'templates:read': 'Read and preview templates',
  'templates:write': 'Change and publish templates and assets',
  'analytics:read': 'Read figures and usage',
  'webhooks:manage': 'Manage webhooks and their deliveries',
  'api-keys:manage': 'Make and revoke other keys',
  'suppressions:manage': 'Read and change suppressed addresses',
  'domains:manage': 'Add, check and delete sender domains',
  'feedback:write': 'Report bounces and complaints',
  'privacy:manage': 'Export and erase what is held about an address',
  'tracking:manage': 'Choose whether opens and clicks are recorded',
  'credits:grant': 'Add credits',
};

const described = (key?: Key): readonly Field[] => [
  {
    name: 'name',
    label: 'Name',
    isRequired: true,
    hint: 'Which program uses it, such as “shop, production”',
    initial: key?.name ?? '',
  },
  { name: 'description', label: 'Description', kind: 'area', initial: key?.description ?? '' },
  {
    name: 'networks',
    label: 'Networks',
    kind: 'lines',
    hint: 'One in a line, such as 192.0.2.0/24; empty: it works from anywhere',
    initial: key?.networks?.join('\n') ?? '',
  },
  {
    name: 'rateLimit',
    label: 'Requests per minute',
    kind: 'number',
    hint: 'In place of the limits of the service',
    initial: key?.rateLimit?.toString() ?? '',
  },
];

const ofNew = ({ team }: Scope): readonly Field[] => [
  ...described().slice(0, 2),
  {
    name: 'permissions',
    label: 'Permissions',
    kind: 'checks',
    isRequired: true,
    initial: ['emails:send', 'emails:read'],
    choices: Object.entries(meanings)
      .filter(([permission]) => (team.permissions as readonly string[]).includes(permission))
      .map(([value, hint]) => ({ value, label: value, hint })),
  },
  {
    name: 'test',
    label: 'Test key: emails are accepted and shown, and none leaves the service',
    kind: 'switch',
  },
  { name: 'expiresAt', label: 'Works until', kind: 'moment', hint: 'In your time zone; empty: until it is revoked' },
  ...described().slice(2),
];

export default resourcePages<Key>({
  path: '/api-keys',
  one: 'API key',
  many: 'API keys',
  needs: 'api-keys:manage',
  about: 'A program calls the API with a key. Give each program its own, with the permissions that it needs.',
  idOf: ({ id }) => id,
  titleOf: ({ name }) => name,
  list: (query, { teamId }, signal) => list({ query }, { teamId, signal }),
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  columns: [
    { name: 'Name', cell: ({ name }) => name },
    { name: 'Key', cell: ({ start, end }) => <Codes of={[`${start}…${end}`]} />, isWide: true },
    {
      name: 'Status',
      cell: ({ status, test }) => (
        <>
          {<StatusBadge status={status} />}
          {test ? ' · test' : ''}
        </>
      ),
    },
    { name: 'Made', cell: ({ createdAt }) => <Moment at={createdAt} />, isWide: true },
    { name: 'Last used', cell: ({ lastUsedAt }) => <Maybe at={lastUsedAt} otherwise="never" /> },
  ],
  badge: ({ status }) => <StatusBadge status={status} />,
  facts: (key) => [
    ['Key', <code key="key">{`${key.start}…${key.end}`}</code>],
    ['Kind', key.test ? 'test: no email leaves the service' : 'live'],
    ['Permissions', <Codes key="permissions" of={key.permissions} />],
    key.description === null ? undefined : ['Description', key.description],
    ['Networks', key.networks === null ? 'from anywhere' : <Codes key="networks" of={key.networks} />],
    ['Requests per minute', key.rateLimit?.toLocaleString() ?? 'the limits of the service'],
    ['Made', <Moment key="made" at={key.createdAt} />],
    ['Last used', <Maybe key="used" at={key.lastUsedAt} otherwise="never" />],
    key.revokedAt === null
      ? ['Works until', <Maybe key="until" at={key.expiresAt} otherwise="it is revoked" />]
      : ['Revoked', <Moment key="revoked" at={key.revokedAt} />],
    [
      'Calls',
      <TextLink key="calls" href={`/api-calls?actor=${key.id}`}>
        what it asked, and what it was answered
      </TextLink>,
    ],
    ['Id', <code key="id">{key.id}</code>],
  ],
  create: {
    label: 'Make an API key',
    fields: ofNew,
    run: async (values, scope) => {
      const made = await create({ body: bodyOf(ofNew(scope), values) }, { teamId: scope.teamId });
      return {
        say: `The key ${made.name} is made.`,
        secret: {
          title: 'Copy the key',
          text: 'It is shown this once. Keep it where your program reads its secrets.',
          value: made.key,
        },
        open: `/api-keys/${made.id}`,
      };
    },
  },
  change: {
    isFor: ({ status }) => status === 'active',
    fields: (key) => described(key),
    run: async ({ id }, changed, { teamId }) => {
      const { name } = await change({ path: { id }, body: changeOf(described(), changed) }, { teamId });
      return { say: `The key ${name} is changed.` };
    },
  },
  acts: [
    {
      label: 'Revoke',
      look: 'danger',
      isFor: ({ status }) => status !== 'revoked',
      ask: ({ name, start, end }) => ({
        title: `Revoke ${name}?`,
        text: (
          <p>
            Programs that use <code>{`${start}…${end}`}</code> are refused at once, and for good. Emails that they sent
            stay.
          </p>
        ),
      }),
      fields: () => [{ name: 'withMade', label: 'Also revoke the keys that it made', kind: 'switch' }],
      run: async ({ id, name }, { withMade }, { teamId }) => {
        await revoke({ path: { id }, query: { withMade: withMade === true } }, { teamId });
        return { say: `The key ${name} is revoked.` };
      },
    },
  ],
});
