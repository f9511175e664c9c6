/** Values as pages of resources show them. */
import { type ReactNode, useId } from 'react';
import { CopyButton } from '../ui/copy';
import { Moment } from '../ui/time';
import styles from './page.module.css';
import type { Field, ListQuery, Values } from './resource';

/** A moment that may be absent. */
export const Maybe = ({ at, otherwise }: Readonly<{ at: string | null | undefined; otherwise: string }>): ReactNode =>
  at === null || at === undefined ? otherwise : <Moment at={at} />;

export const Codes = ({ of }: Readonly<{ of: readonly string[] }>) => (
  <span className={styles['list']}>
    {of.map((one) => (
      <code key={one}>{one}</code>
    ))}
  </span>
);

/** A text for machines, with a button that copies it. `isCut`: a long one is shown in part. */
export const Copied = ({ value, of, isCut = false }: Readonly<{ value: string; of: string; isCut?: boolean }>) => (
  <span className={styles['copied']}>
    <code className={isCut ? styles['cut'] : ''} title={value}>
      {value}
    </code>
    <CopyButton value={value} of={of} look="quiet" />
  </span>
);

/** How far something has come. In: percent. */
export const Progress = ({ percent, label }: Readonly<{ percent: number; label: string }>) => {
  const id = useId();
  return (
    <span className={styles['progress']}>
      <progress max={100} value={percent} aria-labelledby={id} />
      <span id={id}>
        <span className={styles['hidden']}>{label}: </span>
        {Math.floor(percent)} %
      </span>
    </span>
  );
};

/** Shows what was deleted and can be restored. */
export const deletedFilter: Field = {
  name: 'deleted',
  label: 'Show',
  kind: 'select',
  choices: [
    { value: '', label: 'in use' },
    { value: 'true', label: 'deleted' },
  ],
};

/** The query of a list as its operation takes it: the filters of a resource are named as those of the operation. */
export const queryOf = <Query,>(query: ListQuery): Query => query as Query;

/** In: the values of a form with the field `file`. Out: the body of an upload. */
export const fileForm = ({ file }: Values): { file: File } => {
  const form = new FormData();
  if (file instanceof File) form.set('file', file);
  // The client sends a form as it is; types of operations know its fields alone.
  return form as unknown as { file: File };
};

/** In: a count of bytes. */
export const sizeOf = (bytes: number): string =>
  bytes < 1_024
    ? `${bytes} B`
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toLocaleString(undefined, { maximumFractionDigits: 1 })} KiB`
      : `${(bytes / 1_048_576).toLocaleString(undefined, { maximumFractionDigits: 1 })} MiB`;
