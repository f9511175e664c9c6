/** The three kinds of templates: their operations, addresses and fields. */
import type {
  BlockUsageData,
  BlockUsageResponse,
  CreateAttachmentTemplateData,
  CreateAttachmentTemplateResponse,
  CreateBlockData,
  CreateBlockResponse,
  CreateTemplateData,
  CreateTemplateResponse,
  DeleteAttachmentTemplateData,
  DeleteAttachmentTemplateResponse,
  DeleteBlockData,
  DeleteBlockResponse,
  DeleteTemplateData,
  DeleteTemplateResponse,
  GetAttachmentTemplateData,
  GetAttachmentTemplateResponse,
  GetAttachmentTemplateVersionData,
  GetAttachmentTemplateVersionResponse,
  GetBlockData,
  GetBlockResponse,
  GetBlockVersionData,
  GetBlockVersionResponse,
  GetTemplateData,
  GetTemplateResponse,
  GetTemplateVersionData,
  GetTemplateVersionResponse,
  ListAttachmentTemplatesData,
  ListAttachmentTemplatesResponse,
  ListAttachmentTemplateVersionsData,
  ListAttachmentTemplateVersionsResponse,
  ListBlocksData,
  ListBlocksResponse,
  ListBlockVersionsData,
  ListBlockVersionsResponse,
  ListTemplatesData,
  ListTemplatesResponse,
  ListTemplateVersionsData,
  ListTemplateVersionsResponse,
  PublishAttachmentTemplateData,
  PublishAttachmentTemplateResponse,
  PublishBlockData,
  PublishBlockResponse,
  PublishTemplateData,
  PublishTemplateResponse,
  RestoreAttachmentTemplateData,
  RestoreAttachmentTemplateResponse,
  RestoreAttachmentTemplateVersionData,
  RestoreAttachmentTemplateVersionResponse,
  RestoreBlockData,
  RestoreBlockResponse,
  RestoreBlockVersionData,
  RestoreBlockVersionResponse,
  RestoreTemplateData,
  RestoreTemplateResponse,
  RestoreTemplateVersionData,
  RestoreTemplateVersionResponse,
  UpdateAttachmentTemplateData,
  UpdateAttachmentTemplateResponse,
  UpdateBlockData,
  UpdateBlockResponse,
  UpdateTemplateData,
  UpdateTemplateResponse,
} from '#api';
import { operation, type Options } from '../api/client';
import type { Page } from '../resources/resource';
import { type Content, type Item, type Kind, kinds, type Stored } from './content';

export type VersionItem = Readonly<{ version: number; name: string; publishedAt: string; current: boolean }>;

type ListOptions = Readonly<{ limit?: number; cursor?: string } & Record<string, string | number | undefined>>;

type KindApi = Readonly<{
  list: (query: ListOptions, options: Options) => Promise<Page<Item>>;
  get: (id: string, options: Options) => Promise<Stored>;
  create: (body: Content, options: Options) => Promise<Stored>;
  update: (id: string, body: Content, options: Options) => Promise<Stored>;
  remove: (id: string, options: Options) => Promise<unknown>;
  restore: (id: string, body: Readonly<{ slug?: string }>, options: Options) => Promise<Stored>;
  publish: (id: string, body: Readonly<{ force?: boolean }>, options: Options) => Promise<Stored>;
  versions: (id: string, options: Options) => Promise<Readonly<{ data: readonly VersionItem[] }>>;
  version: (id: string, version: number, options: Options) => Promise<Content>;
  restoreVersion: (id: string, version: number, options: Options) => Promise<Stored>;
}>;

const email = {
  list: operation<ListTemplatesData, ListTemplatesResponse>('GET', '/api/templates'),
  get: operation<GetTemplateData, GetTemplateResponse>('GET', '/api/templates/{id}'),
  create: operation<CreateTemplateData, CreateTemplateResponse>('POST', '/api/templates'),
  update: operation<UpdateTemplateData, UpdateTemplateResponse>('PATCH', '/api/templates/{id}'),
  remove: operation<DeleteTemplateData, DeleteTemplateResponse>('DELETE', '/api/templates/{id}'),
  restore: operation<RestoreTemplateData, RestoreTemplateResponse>('POST', '/api/templates/{id}/restore'),
  publish: operation<PublishTemplateData, PublishTemplateResponse>('POST', '/api/templates/{id}/publish'),
  versions: operation<ListTemplateVersionsData, ListTemplateVersionsResponse>('GET', '/api/templates/{id}/versions'),
  version: operation<GetTemplateVersionData, GetTemplateVersionResponse>(
    'GET',
    '/api/templates/{id}/versions/{version}',
  ),
  restoreVersion: operation<RestoreTemplateVersionData, RestoreTemplateVersionResponse>(
    'POST',
    '/api/templates/{id}/versions/{version}/restore',
  ),
};

const attachment = {
  list: operation<ListAttachmentTemplatesData, ListAttachmentTemplatesResponse>('GET', '/api/templates/attachment'),
  get: operation<GetAttachmentTemplateData, GetAttachmentTemplateResponse>('GET', '/api/templates/attachment/{id}'),
  create: operation<CreateAttachmentTemplateData, CreateAttachmentTemplateResponse>(
    'POST',
    '/api/templates/attachment',
  ),
  update: operation<UpdateAttachmentTemplateData, UpdateAttachmentTemplateResponse>(
    'PATCH',
    '/api/templates/attachment/{id}',
  ),
  remove: operation<DeleteAttachmentTemplateData, DeleteAttachmentTemplateResponse>(
    'DELETE',
    '/api/templates/attachment/{id}',
  ),
  restore: operation<RestoreAttachmentTemplateData, RestoreAttachmentTemplateResponse>(
    'POST',
    '/api/templates/attachment/{id}/restore',
  ),
  publish: operation<PublishAttachmentTemplateData, PublishAttachmentTemplateResponse>(
    'POST',
    '/api/templates/attachment/{id}/publish',
  ),
  versions: operation<ListAttachmentTemplateVersionsData, ListAttachmentTemplateVersionsResponse>(
    'GET',
    '/api/templates/attachment/{id}/versions',
  ),
  version: operation<GetAttachmentTemplateVersionData, GetAttachmentTemplateVersionResponse>(
    'GET',
    '/api/templates/attachment/{id}/versions/{version}',
  ),
  restoreVersion: operation<RestoreAttachmentTemplateVersionData, RestoreAttachmentTemplateVersionResponse>(
    'POST',
    '/api/templates/attachment/{id}/versions/{version}/restore',
  ),
};

const block = {
  list: operation<ListBlocksData, ListBlocksResponse>('GET', '/api/blocks'),
  get: operation<GetBlockData, GetBlockResponse>('GET', '/api/blocks/{id}'),
  create: operation<CreateBlockData, CreateBlockResponse>('POST', '/api/blocks'),
  update: operation<UpdateBlockData, UpdateBlockResponse>('PATCH', '/api/blocks/{id}'),
  remove: operation<DeleteBlockData, DeleteBlockResponse>('DELETE', '/api/blocks/{id}'),
  restore: operation<RestoreBlockData, RestoreBlockResponse>('POST', '/api/blocks/{id}/restore'),
  publish: operation<PublishBlockData, PublishBlockResponse>('POST', '/api/blocks/{id}/publish'),
  versions: operation<ListBlockVersionsData, ListBlockVersionsResponse>('GET', '/api/blocks/{id}/versions'),
  version: operation<GetBlockVersionData, GetBlockVersionResponse>('GET', '/api/blocks/{id}/versions/{version}'),
  restoreVersion: operation<RestoreBlockVersionData, RestoreBlockVersionResponse>(
    'POST',
    '/api/blocks/{id}/versions/{version}/restore',
  ),
};

/** Operations of one kind. Bodies are written by people, and the service checks them. */
type Operations = Readonly<Record<keyof KindApi, (given: never, options?: Options) => Promise<unknown>>>;

const joined = (of: Operations): KindApi => {
  const run = <Answer>(name: keyof KindApi, given: object, options: Options): Promise<Answer> =>
    of[name](given as never, options) as Promise<Answer>;
  return {
    list: (query, options) => run('list', { query }, options),
    get: (id, options) => run('get', { path: { id } }, options),
    create: (body, options) => run('create', { body }, options),
    update: (id, body, options) => run('update', { path: { id }, body }, options),
    remove: (id, options) => run('remove', { path: { id } }, options),
    restore: (id, body, options) => run('restore', { path: { id }, body }, options),
    publish: (id, body, options) =>
      run('publish', { path: { id }, ...(Object.keys(body).length === 0 ? {} : { body }) }, options),
    versions: (id, options) => run('versions', { path: { id } }, options),
    version: (id, version, options) => run('version', { path: { id, version: String(version) } }, options),
    restoreVersion: (id, version, options) =>
      run('restoreVersion', { path: { id, version: String(version) } }, options),
  };
};

export const apiOf: Readonly<Record<Kind, KindApi>> = {
  email: joined(email),
  attachment: joined(attachment),
  block: joined(block),
};

export const blockUsage = operation<BlockUsageData, BlockUsageResponse>('GET', '/api/blocks/{id}/usage');

export type KindWords = Readonly<{ path: string; one: string; many: string; tab: string }>;

export const wordsOf: Readonly<Record<Kind, KindWords>> = {
  email: { path: '/templates/emails', one: 'email template', many: 'Email templates', tab: 'Emails' },
  attachment: { path: '/templates/documents', one: 'document template', many: 'Document templates', tab: 'Documents' },
  block: { path: '/templates/blocks', one: 'block', many: 'Blocks', tab: 'Blocks' },
};

/** In: the second step of an address. */
export const kindOf = (step: string): Kind | undefined => kinds.find((kind) => wordsOf[kind].path.endsWith(`/${step}`));

/** The path of the page of one template, without its view. */
export const templatePath = (kind: Kind, id: string): string => `${wordsOf[kind].path}/${encodeURIComponent(id)}`;

export const queryKeyOf = (kind: Kind, teamId: string, id: string) =>
  [wordsOf[kind].path, teamId, 'template', id] as const;
