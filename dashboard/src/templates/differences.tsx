/** Differences of two contents in words. */
import type { Difference } from './service';
import styles from './page.module.css';

const SHOWN_MAX = 200;
const VALUE_CHARS_MAX = 160;

const textOf = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text;
};

export const Differences = ({ of }: Readonly<{ of: readonly Difference[] }>) =>
  of.length === 0 ? (
    <p>Nothing is other.</p>
  ) : (
    <>
      <ul className={styles['differences']}>
        {of.slice(0, SHOWN_MAX).map(({ what, where, field, before, after }, place) => (
          <li key={place}>
            <span className={styles[what]}>{what}</span>{' '}
            <strong>
              <bdi>{where}</bdi>
            </strong>{' '}
            {field === undefined ? null : <code>{field}</code>}
            {before === undefined && after === undefined ? null : (
              <span className={styles['values']}>
                {before === undefined ? null : (
                  <del>
                    <bdi>{textOf(before)}</bdi>
                  </del>
                )}{' '}
                {after === undefined ? null : (
                  <ins>
                    <bdi>{textOf(after)}</bdi>
                  </ins>
                )}
              </span>
            )}
          </li>
        ))}
      </ul>
      {of.length > SHOWN_MAX ? <p>And {of.length - SHOWN_MAX} more.</p> : null}
    </>
  );
