/** A dialog that chooses a picture of the gallery, or adds one. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import type {
  CreateAssetData,
  CreateAssetResponse,
  GetAssetContentData,
  ListAssetsData,
  ListAssetsResponse,
} from '#api';
import { addressOf, operation } from '../../../api/client';
import { Button, Spinner } from '../../../ui/controls';
import { Dialog } from '../../../ui/dialog';
import styles from './forms.module.css';

const list = operation<ListAssetsData, ListAssetsResponse>('GET', '/api/assets');
const create = operation<CreateAssetData, CreateAssetResponse>('POST', '/api/assets');

const PAGE = 60;
/** A shorter search would find too much, and the service refuses it. */
const SEARCH_CHARS_MIN = 2;

const pictureOf = (id: string, teamId: string): string => {
  const data: GetAssetContentData = { url: '/api/assets/{id}/content', path: { id } };
  return `${addressOf(data)}?team=${encodeURIComponent(teamId)}`;
};

/** `onChoose` gets the address of the picture, as templates name it. */
const GalleryDialog = ({
  teamId,
  onChoose,
  onClose,
}: Readonly<{ teamId: string; onChoose: (address: string) => void; onClose: () => void }>) => {
  const client = useQueryClient();
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const search = useDeferredValue(typed.trim());
  const filter = search.length < SEARCH_CHARS_MIN ? {} : { search };
  const assets = useInfiniteQuery({
    queryKey: ['pictures of forms', teamId, filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ signal, pageParam }) =>
      list(
        { query: { limit: PAGE, ...filter, ...(pageParam === undefined ? {} : { cursor: pageParam }) } },
        { teamId, signal },
      ),
    getNextPageParam: ({ meta }) => meta.nextCursor ?? undefined,
  });
  const pictures = (assets.data?.pages ?? [])
    .flatMap(({ data }) => data)
    .filter(({ contentType }) => contentType.startsWith('image/'));
  const upload = async (file: File): Promise<void> => {
    setFault(undefined);
    setIsBusy(true);
    const form = new FormData();
    form.set('file', file);
    try {
      const { id } = await create({ body: form as unknown as CreateAssetData['body'] }, { teamId });
      await client.invalidateQueries({ queryKey: ['pictures of forms', teamId] });
      onChoose(`asset:${id}`);
    } catch (error) {
      setFault(error instanceof Error ? error.message : 'The picture could not be added.');
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <Dialog title="Choose a picture" isOpen onClose={onClose} acts={<Button onPress={onClose}>Cancel</Button>}>
      <div className={styles['gallery']}>
        <span className={styles['row']}>
          <input
            className={styles['input']}
            type="search"
            aria-label="Search pictures by name"
            placeholder="Search by name"
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
          <label className={styles['upload']}>
            {isBusy ? 'Adding…' : 'Add a picture'}
            <input
              type="file"
              accept="image/*"
              disabled={isBusy}
              onChange={({ target }) => {
                const [file] = target.files ?? [];
                if (file !== undefined) void upload(file);
              }}
            />
          </label>
        </span>
        {fault === undefined ? null : (
          <span className={styles['fault']} role="alert">
            {fault}
          </span>
        )}
        {assets.isPending ? (
          <Spinner label="Loading pictures" />
        ) : assets.error !== null ? (
          <span className={styles['fault']}>{assets.error.message}</span>
        ) : pictures.length === 0 ? (
          <p>{search === '' ? 'The gallery has no picture yet.' : 'No picture has such a name.'}</p>
        ) : (
          <ul className={styles['pictures']}>
            {pictures.map(({ id, filename }) => (
              <li key={id}>
                <button type="button" onClick={() => onChoose(`asset:${id}`)}>
                  <img src={pictureOf(id, teamId)} alt="" loading="lazy" />
                  <bdi>{filename}</bdi>
                </button>
              </li>
            ))}
          </ul>
        )}
        {assets.hasNextPage ? (
          <Button isSmall isPending={assets.isFetchingNextPage} onPress={() => void assets.fetchNextPage()}>
            Show more
          </Button>
        ) : null}
      </div>
    </Dialog>
  );
};

export default GalleryDialog;
