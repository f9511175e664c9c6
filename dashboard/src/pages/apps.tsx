/** OAuth apps: programs that act for people, within scopes that these grant. */
import type {
  CreateOAuthAppData,
  CreateOAuthAppResponse,
  DeleteOAuthAppData,
  DeleteOAuthAppResponse,
  GetOAuthAppData,
  GetOAuthAppResponse,
  ListOAuthAppsData,
  ListOAuthAppsResponse,
  RotateOAuthAppSecretData,
  RotateOAuthAppSecretResponse,
  UpdateOAuthAppData,
  UpdateOAuthAppResponse,
} from '#api';
import { operation } from '../api/client';
import { resourcePages } from '../resources/pages';
import { bodyOf, changeOf, type Field } from '../resources/resource';
import { Codes, Copied, queryOf } from '../resources/values';
import { TextLink } from '../ui/controls';
import { Moment } from '../ui/time';

const list = operation<ListOAuthAppsData, ListOAuthAppsResponse>('GET', '/api/oauth-apps');
const create = operation<CreateOAuthAppData, CreateOAuthAppResponse>('POST', '/api/oauth-apps');
const get = operation<GetOAuthAppData, GetOAuthAppResponse>('GET', '/api/oauth-apps/{id}');
const update = operation<UpdateOAuthAppData, UpdateOAuthAppResponse>('PATCH', '/api/oauth-apps/{id}');
const remove = operation<DeleteOAuthAppData, DeleteOAuthAppResponse>('DELETE', '/api/oauth-apps/{id}');
const rotate = operation<RotateOAuthAppSecretData, RotateOAuthAppSecretResponse>(
  'POST',
  '/api/oauth-apps/{id}/rotate-secret',
);

type App = GetOAuthAppResponse;

const scopes: Readonly<Record<App['scopes'][number], string>> = {
  'emails:send': 'Send emails',
  'emails:read': 'Read the list of emails',
  'emails:content': 'Read the mails themselves',
  'templates:read': 'Read templates',
  'templates:write': 'Change templates',
  'webhooks:read': 'Read webhooks',
  'webhooks:write': 'Change webhooks',
  'analytics:read': 'Read figures',
  'suppressions:read': 'Read suppressed addresses',
  'profile:read': 'Read the profile of the person',
};

const fields = (app?: App): readonly Field[] => [
  { name: 'name', label: 'Name', isRequired: true, hint: 'People see it when they grant', initial: app?.name ?? '' },
  { name: 'description', label: 'Description', kind: 'area', empty: '', initial: app?.description ?? '' },
  { name: 'homepage', label: 'Home page', kind: 'url', empty: '', initial: app?.homepage ?? '' },
  {
    name: 'redirectUris',
    label: 'Redirect URIs',
    kind: 'lines',
    isRequired: true,
    hint: 'One in a line, each exactly as the app sends it',
    initial: app?.redirectUris.join('\n') ?? '',
  },
  {
    name: 'scopes',
    label: 'Scopes',
    kind: 'checks',
    isRequired: true,
    initial: app?.scopes ?? [],
    hint: 'At most these can be granted to it',
    choices: Object.entries(scopes).map(([value, hint]) => ({ value, label: value, hint })),
  },
];

const ofNew: readonly Field[] = [
  ...fields(),
  {
    name: 'kind',
    label: 'Kind',
    kind: 'select',
    initial: 'confidential',
    choices: [
      { value: 'confidential', label: 'confidential: a server keeps its secret' },
      { value: 'public', label: 'public: an app on a device, without a secret' },
    ],
  },
];

const KEEP = 'It is shown this once. Keep it where the server of the app reads its secrets.';

export default resourcePages<App>({
  path: '/apps',
  one: 'app',
  many: 'Apps',
  needs: 'oauth-apps:manage',
  about: 'An app acts for people who grant it scopes (OAuth 2.1). Register here the apps that your team makes.',
  idOf: ({ id }) => id,
  titleOf: ({ name }) => name,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  columns: [
    { name: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
    { name: 'Kind', cell: ({ kind }) => kind },
    { name: 'Scopes', cell: (app) => app.scopes.length, isEnd: true },
    { name: 'Registered', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ],
  facts: (app) => [
    ['Client id', <Copied key="id" value={app.id} of="the client id" />],
    [
      'Calls',
      <TextLink key="calls" href={`/api-calls?actor=${app.id}`}>
        what it asked, and what it was answered
      </TextLink>,
    ],
    ['Kind', app.kind],
    app.description === null ? undefined : ['Description', app.description],
    app.homepage === null ? undefined : ['Home page', app.homepage],
    ['Redirect URIs', <Codes key="uris" of={app.redirectUris} />],
    ['Scopes', <Codes key="scopes" of={app.scopes} />],
    ['Registered', <Moment key="made" at={app.createdAt} />],
    ['Changed', <Moment key="changed" at={app.updatedAt} />],
  ],
  create: {
    label: 'Register an app',
    fields: () => ofNew,
    run: async (values, { teamId }) => {
      const { id, name, clientSecret } = await create({ body: bodyOf(ofNew, values) }, { teamId });
      const done = { say: `${name} is registered.`, open: `/apps/${id}` };
      return clientSecret === null
        ? done
        : { ...done, secret: { title: 'Copy the client secret', text: KEEP, value: clientSecret } };
    },
  },
  change: {
    fields,
    run: async ({ id }, changed, { teamId }) => {
      const { name } = await update({ path: { id }, body: changeOf(fields(), changed) }, { teamId });
      return { say: `${name} is changed.` };
    },
  },
  acts: [
    {
      label: 'Rotate the secret',
      isFor: ({ kind }) => kind === 'confidential',
      ask: ({ name }) => ({
        title: `Make another secret for ${name}?`,
        text: <p>Both secrets work for a while, so that the app can change to the new one.</p>,
      }),
      fields: () => [
        {
          name: 'overlapHours',
          label: 'Hours for which the old one works, too',
          kind: 'number',
          isRequired: true,
          initial: '24',
          hint: '0 to 168',
        },
      ],
      run: async ({ id, name }, { overlapHours }, { teamId }) => {
        const answer = await rotate({ path: { id }, body: { overlapHours: Number(overlapHours) } }, { teamId });
        return {
          say: `The secret of ${name} is rotated.`,
          secret: { title: 'Copy the new client secret', text: KEEP, value: answer.clientSecret },
        };
      },
    },
    {
      label: 'Delete',
      look: 'danger',
      ask: ({ name }) => ({
        title: `Delete ${name}?`,
        text: <p>Whatever people granted to it ends at once. It cannot be restored.</p>,
      }),
      run: async ({ id, name }, _values, { teamId }) => {
        await remove({ path: { id } }, { teamId });
        return { say: `${name} is deleted.`, isGone: true };
      },
    },
  ],
});
