/** Faults of a template and doubts of its preview, each with the way to its place. */
import { useState } from 'react';
import { Button } from '../ui/controls';
import type { ContentFault } from './draft';
import styles from './page.module.css';
import type { Previewed } from './previewing';

type FaultsProps = Readonly<{
  faults: readonly ContentFault[];
  previewed: Previewed;
  onJump: (path: string) => void;
}>;

/** More are shown on demand. */
const FEW = 6;

export const Faults = ({ faults, previewed: { shown }, onJump }: FaultsProps) => {
  const { warnings = [], emptyPaths = [] } = shown ?? {};
  return (
    <div className={styles['faults']} aria-live="polite">
      <List
        title={faults.length === 1 ? '1 fault' : `${faults.length} faults`}
        kind="bad"
        items={faults.map(({ path, message }) => ({ path, message }))}
        onJump={onJump}
      />
      <List
        title={warnings.length === 1 ? '1 doubt' : `${warnings.length} doubts`}
        kind="warn"
        items={warnings.map(({ field, message }) => ({ path: field, message }))}
        onJump={onJump}
      />
      {emptyPaths.length === 0 ? null : (
        <p className={styles['empty']}>
          <strong>Without a value:</strong>{' '}
          {emptyPaths.map((path) => (
            <code key={path}>{path}</code>
          ))}
        </p>
      )}
    </div>
  );
};

type ListProps = Readonly<{
  title: string;
  kind: 'bad' | 'warn';
  items: readonly Readonly<{ path: string; message: string }>[];
  onJump: (path: string) => void;
}>;

const List = ({ title, kind, items, onJump }: ListProps) => {
  const [isWhole, setIsWhole] = useState(false);
  if (items.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 className={styles[kind]}>{title}</h2>
      <ul>
        {items.slice(0, isWhole ? undefined : FEW).map(({ path, message }, place) => (
          <li key={place}>
            <button type="button" className={styles['jump']} onClick={() => onJump(path)}>
              <code>{path === '' ? 'template' : path}</code>
            </button>{' '}
            <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
      {items.length <= FEW ? null : (
        <Button isSmall onPress={() => setIsWhole(!isWhole)}>
          {isWhole ? 'Fewer' : `All ${items.length}`}
        </Button>
      )}
    </section>
  );
};
