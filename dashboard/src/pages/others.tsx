/** Finds the page of an address in the registry, and loads it. */
import { useParams } from '@tanstack/react-router';
import { lazy, type LazyExoticComponent, Suspense } from 'react';
import { NothingHere } from '../resources/pages';
import { PlaceProvider } from '../resources/place';
import { Loading } from '../ui/states';
import { groups, others, type StepsPage } from './registry';

const pages: ReadonlyMap<string, LazyExoticComponent<StepsPage>> = new Map(
  [...groups.flatMap(({ entries }) => entries), ...others].map(({ path, load }) => [path, lazy(load)] as const),
);

export const OtherPage = () => {
  const [path = '', ...steps] = (useParams({ strict: false })._splat ?? '').split('/').filter((step) => step !== '');
  const Found = pages.get(path);
  return (
    <PlaceProvider>
      {Found === undefined ? (
        <NothingHere title="There is no such page" />
      ) : (
        <Suspense fallback={<Loading label="Loading the page" />}>
          <Found steps={steps} />
        </Suspense>
      )}
    </PlaceProvider>
  );
};
