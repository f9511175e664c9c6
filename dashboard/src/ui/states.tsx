/** Pages and parts of pages that have nothing to show: they load, are empty, or failed. */
import type { ReactNode } from 'react';
import { ApiFault } from '../api/client';
import { Button, ButtonLink, Spinner } from './controls';
import { cx } from './cx';
import styles from './states.module.css';

export const State = ({
  title,
  children,
  act,
  isAlert = false,
}: Readonly<{ title: string; children?: ReactNode; act?: ReactNode; isAlert?: boolean }>) => (
  <div className={styles['state']} {...(isAlert ? { role: 'alert' } : {})}>
    <h2>{title}</h2>
    {children === undefined ? null : <div className={styles['text']}>{children}</div>}
    {act === undefined ? null : <div className={styles['act']}>{act}</div>}
  </div>
);

/** Says what failed, in the words of the service, and offers to try again. */
export const Fault = ({ fault, retry }: Readonly<{ fault: Error; retry?: () => void }>) => {
  const api = fault instanceof ApiFault ? fault : undefined;
  return (
    <State
      isAlert
      title={titleOf(api)}
      act={
        retry === undefined ? undefined : (
          <Button onPress={retry} look="main">
            Try again
          </Button>
        )
      }
    >
      <p>{api === undefined ? 'The page met a fault of its own.' : api.message}</p>
      {api?.requestId === undefined ? null : (
        <p className={styles['soft']}>
          Request <code>{api.requestId}</code>
        </p>
      )}
    </State>
  );
};

const titles: Readonly<Record<number, string>> = {
  0: 'The service cannot be reached',
  403: 'You may not see this',
  404: 'There is nothing here',
  429: 'Too many calls for the moment',
};

const titleOf = (fault: ApiFault | undefined): string =>
  (fault === undefined ? undefined : titles[fault.status]) ?? 'This could not be loaded';

export const Loading = ({ label }: Readonly<{ label: string }>) => (
  <div className={styles['state']}>
    <Spinner label={label} />
  </div>
);

export const NotFoundPage = () => (
  <main className={cx(styles['whole'])}>
    <State
      title="There is no such page"
      act={
        <ButtonLink href="/" look="main">
          Go to the dashboard
        </ButtonLink>
      }
    >
      <p>The address may be mistyped, or the page is gone.</p>
    </State>
  </main>
);

export const FaultPage = ({ error, reset }: Readonly<{ error: unknown; reset: () => void }>) => (
  <main className={cx(styles['whole'])}>
    <Fault fault={error instanceof Error ? error : new Error(String(error))} retry={reset} />
  </main>
);
