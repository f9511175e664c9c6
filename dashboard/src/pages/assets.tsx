/** The gallery: pictures for templates and files for attachments. */
import type {
  CreateAssetData,
  CreateAssetResponse,
  DeleteAssetData,
  DeleteAssetResponse,
  GetAssetContentData,
  GetAssetData,
  GetAssetResponse,
  ListAssetsData,
  ListAssetsResponse,
  RestoreAssetData,
  RestoreAssetResponse,
} from '#api';
import { addressOf, download, operation } from '../api/client';
import { resourcePages, Section } from '../resources/pages';
import styles from '../resources/page.module.css';
import type { Scope } from '../resources/resource';
import { Copied, deletedFilter, fileForm, queryOf, sizeOf } from '../resources/values';
import { Moment } from '../ui/time';

const list = operation<ListAssetsData, ListAssetsResponse>('GET', '/api/assets');
const create = operation<CreateAssetData, CreateAssetResponse>('POST', '/api/assets');
const get = operation<GetAssetData, GetAssetResponse>('GET', '/api/assets/{id}');
const remove = operation<DeleteAssetData, DeleteAssetResponse>('DELETE', '/api/assets/{id}');
const restore = operation<RestoreAssetData, RestoreAssetResponse>('POST', '/api/assets/{id}/restore');

type Asset = GetAssetResponse;

const contentOf = (id: string): GetAssetContentData => ({ url: '/api/assets/{id}/content', path: { id } });

const isThere = ({ deletedAt }: Asset): boolean => deletedAt === undefined;

const sidesOf = ({ width, height }: Asset): string =>
  width === undefined || height === undefined ? '' : `${width} × ${height}`;

/** A browser asks for a picture without headers, so its address names the team. */
const More = ({ row, scope }: Readonly<{ row: Asset; scope: Scope }>) =>
  row.contentType.startsWith('image/') ? (
    <Section title="Picture">
      <img
        className={styles['picture']}
        src={`${addressOf(contentOf(row.id))}?team=${encodeURIComponent(scope.teamId)}`}
        alt={row.filename}
      />
    </Section>
  ) : null;

export default resourcePages<Asset>({
  path: '/gallery',
  one: 'asset',
  many: 'Assets',
  needs: 'templates:read',
  about: 'Pictures for templates, and files that emails carry as attachments.',
  idOf: ({ id }) => id,
  titleOf: ({ filename }) => filename,
  list: (query, { teamId }, signal) => list({ query: queryOf(query) }, { teamId, signal }),
  get: (id, { teamId }, signal) => get({ path: { id } }, { teamId, signal }),
  hasPage: isThere,
  filters: [{ name: 'search', label: 'Name', placeholder: 'logo' }, deletedFilter],
  columns: [
    { name: 'File', cell: ({ filename }) => <bdi>{filename}</bdi> },
    { name: 'Type', cell: ({ contentType }) => contentType.split(/[/.]/).at(-1) ?? '' },
    { name: 'Size', cell: ({ sizeBytes }) => sizeOf(sizeBytes), isEnd: true },
    { name: 'Pixels', cell: sidesOf, isWide: true },
    { name: 'Added', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ],
  facts: (asset) => [
    ['In templates', <Copied key="name" value={`asset:${asset.id}`} of="the name for templates" />],
    ['Type', asset.contentType],
    ['Size', sizeOf(asset.sizeBytes)],
    sidesOf(asset) === '' ? undefined : ['Pixels', sidesOf(asset)],
    ['Added', <Moment key="added" at={asset.createdAt} />],
    ['SHA-256', <code key="sha">{asset.sha256}</code>],
  ],
  More,
  create: {
    label: 'Upload a file',
    needs: 'templates:write',
    fields: () => [
      {
        name: 'file',
        label: 'File',
        kind: 'file',
        accept: '',
        isRequired: true,
        hint: 'A picture, a font, a PDF, a text, a document of an office program, or a ZIP file',
      },
    ],
    run: async (values, { teamId }) => {
      const body = fileForm(values) as unknown as CreateAssetData['body'];
      const { id, filename } = await create({ body }, { teamId });
      return { say: `${filename} is in the gallery.`, open: `/gallery/${id}` };
    },
  },
  acts: [
    {
      label: 'Download',
      isFor: isThere,
      run: async ({ id, filename }, _values, { teamId }) => {
        await download<GetAssetContentData>('GET', contentOf(id), filename, { teamId });
        return { say: `${filename} is downloaded.` };
      },
    },
    {
      label: 'Restore',
      needs: 'templates:write',
      isFor: (asset) => !isThere(asset),
      run: async ({ id, filename }, _values, { teamId }) => {
        await restore({ path: { id } }, { teamId });
        return { say: `${filename} is restored.` };
      },
    },
    {
      label: 'Delete',
      needs: 'templates:write',
      look: 'danger',
      isFor: isThere,
      ask: ({ filename }) => ({
        title: `Delete ${filename}?`,
        text: (
          <p>
            Templates that name it can use it no more. Emails already accepted keep it. For 30 days it can be restored.
          </p>
        ),
      }),
      run: async ({ id, filename }, _values, { teamId }) => {
        await remove({ path: { id } }, { teamId });
        return { say: `${filename} is deleted.`, isGone: true };
      },
    },
    {
      label: 'Delete for good',
      needs: 'templates:write',
      look: 'danger',
      isFor: (asset) => !isThere(asset),
      ask: ({ filename }) => ({ title: `Delete ${filename} for good?`, text: <p>Its bytes are destroyed.</p> }),
      run: async ({ id, filename }, _values, { teamId }) => {
        await remove({ path: { id }, query: { permanently: true } }, { teamId });
        return { say: `${filename} is destroyed.` };
      },
    },
  ],
});
