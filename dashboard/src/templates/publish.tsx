/** The question before a publish: what becomes other, and for a block what it changes elsewhere. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { BlockImpactData, BlockImpactResponse } from '#api';
import { ApiFault, operation } from '../api/client';
import { DialogFrame } from '../resources/dialogs';
import { usePlace } from '../resources/place';
import { Button, Notice } from '../ui/controls';
import { Fault, Loading } from '../ui/states';
import { type Stored, versionOf, wholeOf } from './content';
import { differencesOf } from './service';
import { Differences } from './differences';
import type { ContentFault, Draft } from './draft';
import { apiOf } from './kinds';
import styles from './page.module.css';

const blockImpact = operation<BlockImpactData, BlockImpactResponse>('GET', '/api/blocks/{id}/impact');

type PublishProps = Readonly<{
  draft: Draft;
  faults: readonly ContentFault[];
  onClose: () => void;
  onDone: (version: number) => void;
}>;

export const PublishDialog = ({ draft, faults, onClose, onDone }: PublishProps) => {
  const { scope } = usePlace();
  const { teamId } = scope;
  const { kind, stored, content, isChanged } = draft;
  const { publishedVersion } = stored;
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<Error>();
  const [breaks, setBreaks] = useState(false);
  const published = useQuery({
    queryKey: ['template-version', teamId, kind, stored.id, publishedVersion],
    enabled: publishedVersion !== null,
    staleTime: Infinity,
    queryFn: ({ signal }) => apiOf[kind].version(stored.id, publishedVersion ?? 1, { teamId, signal }),
  });
  // The service compares what is saved, so a block with changes is saved first.
  const impact = useQuery({
    queryKey: ['block-impact', teamId, stored.id, stored.revision],
    enabled: kind === 'block' && !isChanged && stored.status === 'draft',
    queryFn: ({ signal }) => blockImpact({ path: { id: stored.id } }, { teamId, signal }),
  });

  const save = async (): Promise<Stored> => (isChanged ? draft.save() : stored);
  const publish = async (force: boolean): Promise<void> => {
    setIsBusy(true);
    setFault(undefined);
    try {
      const { id, revision } = await save();
      const done = await apiOf[kind].publish(id, force ? { force } : {}, { teamId, ifMatch: revision });
      draft.settle(done);
      onDone(done.publishedVersion ?? 1);
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(String(error)));
      setBreaks(error instanceof ApiFault && error.code === 'BLOCK_BREAKS_TEMPLATES');
      setIsBusy(false);
    }
  };
  const changed = impact.data?.templates.filter((one) => one.changed || one.faults.length > 0) ?? [];
  return (
    <DialogFrame title={`Publish ${String(content['name'] ?? stored.name)}?`} onClose={onClose}>
      {faults.length === 0 ? null : (
        <Notice kind="note">
          {faults.length === 1 ? 'It has a fault' : `It has ${faults.length} faults`}, so the service will refuse it.
        </Notice>
      )}
      {publishedVersion === null ? (
        <p>It is published for the first time. Calls can name it from then on.</p>
      ) : published.error !== null ? (
        <Fault fault={published.error} retry={() => void published.refetch()} />
      ) : published.data === undefined ? (
        <Loading label="Comparing with what is published" />
      ) : (
        <div className={styles['difference']} tabIndex={0} role="region" aria-label="What becomes other">
          <p>Other than version {publishedVersion}:</p>
          <Differences of={differencesOf(versionOf(kind, published.data, content), wholeOf(kind, content))} />
        </div>
      )}
      {impact.error === null ? null : <Fault fault={impact.error} />}
      {kind !== 'block' || isChanged || impact.data === undefined ? null : (
        <div className={styles['difference']} tabIndex={0} role="region" aria-label="Templates that follow the block">
          <p>
            {changed.length === 0
              ? 'No template looks other by it.'
              : `${changed.length} ${changed.length === 1 ? 'template looks' : 'templates look'} other by it:`}
          </p>
          <ul className={styles['impact']}>
            {changed.map((one) => (
              <li key={`${one.type} ${one.id}`}>
                <strong>
                  <bdi>{one.name}</bdi>
                </strong>
                {one.diff.length === 0 ? null : <pre>{one.diff.join('\n')}</pre>}
                {one.faults.map(({ field, message }, place) => (
                  <p key={place} className={styles['bad']}>
                    <code>{field}</code> {message}
                  </p>
                ))}
              </li>
            ))}
          </ul>
        </div>
      )}
      {kind === 'block' && isChanged ? <p>Save it first to see which templates become other by it.</p> : null}
      {fault === undefined ? null : (
        <Notice kind="fault">
          {fault.message}
          {fault instanceof ApiFault && fault.errors.length > 1 ? ` And ${fault.errors.length - 1} more.` : ''}
        </Notice>
      )}
      <div className={styles['buttons']}>
        <Button look="main" isPending={isBusy} onPress={() => void publish(false)}>
          {isChanged ? 'Save and publish' : 'Publish'}
        </Button>
        {breaks ? (
          <Button look="danger" isPending={isBusy} onPress={() => void publish(true)}>
            Publish although templates break
          </Button>
        ) : null}
        <Button onPress={onClose}>Cancel</Button>
      </div>
    </DialogFrame>
  );
};
