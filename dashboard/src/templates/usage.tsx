/** The templates, documents and blocks that show a block, and which of them change with its next version. */
import { useQuery } from '@tanstack/react-query';
import type { BlockUsageResponse } from '#api';
import { usePlace } from '../resources/place';
import { TextLink } from '../ui/controls';
import { Fault, Loading, State } from '../ui/states';
import { blockUsage, templatePath, wordsOf } from './kinds';
import type { ViewProps } from './page';
import styles from './views.module.css';

type Use = BlockUsageResponse['data'][number];

/** The places that name the block: the draft, and published versions. */
const placesIn = ({ draft, versions, current }: Use): string => {
  const numbers =
    versions.length === 0 ? [] : [`${versions.length === 1 ? 'version' : 'versions'} ${versions.join(', ')}`];
  const places = [...(draft ? ['the draft'] : []), ...numbers];
  return `in ${places.join(' and ')}${current ? '' : ', not in the newest'}`;
};

const UsageView = ({ draft: { stored } }: ViewProps) => {
  const { scope } = usePlace();
  const { teamId } = scope;
  const usage = useQuery({
    queryKey: ['block-usage', teamId, stored.id],
    staleTime: 0,
    queryFn: ({ signal }) => blockUsage({ path: { id: stored.id } }, { teamId, signal }),
  });
  const uses = usage.data?.data;
  if (uses === undefined)
    return usage.error === null ? (
      <Loading label="Loading where the block is used" />
    ) : (
      <Fault fault={usage.error} retry={() => void usage.refetch()} />
    );
  return (
    <div className={styles['view']}>
      {uses.length === 0 ? (
        <State title="No template shows this block yet">
          <p>In a template, add the component Block and choose it.</p>
        </State>
      ) : (
        <>
          <p className={styles['soft']}>
            Those that follow change with the next publish, which shows first how. Others stay at the version that they
            name.
          </p>
          <ul className={styles['versions']} aria-label="Templates that show this block">
            {uses.map((use) => (
              <li key={`${use.type} ${use.id}`}>
                <span>
                  <TextLink href={templatePath(use.type, use.id)}>
                    <bdi>{use.name}</bdi>
                  </TextLink>{' '}
                  <span className={styles['soft']}>
                    {wordsOf[use.type].one}, {placesIn(use)}
                  </span>
                </span>
                <span>{use.follows ? 'follows the newest' : 'stays at its version'}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
};

export default UsageView;
