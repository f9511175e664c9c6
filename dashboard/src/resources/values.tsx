/** Values as pages of resources show them. */
import type { ReactNode } from 'react';
import { CopyButton } from '../ui/copy';
import { Moment } from '../ui/time';
import styles from './page.module.css';

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

/** A text for machines, with a button that copies it. */
export const Copied = ({ value, of }: Readonly<{ value: string; of: string }>) => (
  <span className={styles['copied']}>
    <code>{value}</code>
    <CopyButton value={value} of={of} look="quiet" />
  </span>
);

/** In: a count of bytes. */
export const sizeOf = (bytes: number): string =>
  bytes < 1_024
    ? `${bytes} B`
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toLocaleString(undefined, { maximumFractionDigits: 1 })} KiB`
      : `${(bytes / 1_048_576).toLocaleString(undefined, { maximumFractionDigits: 1 })} MiB`;
