/** Pages and parts of pages that have nothing to show: they load, are empty, or failed. */
import { type ReactNode, useState } from 'react';
import { ApiFault } from '../api/client';
import { dashboardUrl } from '../api/values';
import { Button, ButtonLink, Spinner } from './controls';
import { cx } from './cx';
import styles from './states.module.css';

/** `isPage`: it stands in the place of the whole page, so its title is the heading of the page. */
export const State = ({
  title,
  children,
  act,
  isAlert = false,
  isPage = false,
}: Readonly<{ title: string; children?: ReactNode; act?: ReactNode; isAlert?: boolean; isPage?: boolean }>) => (
  <div className={styles['state']} {...(isAlert ? { role: 'alert' } : {})}>
    {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
    {children === undefined ? null : <div className={styles['text']}>{children}</div>}
    {act === undefined ? null : <div className={styles['act']}>{act}</div>}
  </div>
);

/** Says what failed, in the words of the service, and offers to try again. */
export const Fault = ({
  fault,
  retry,
  isPage = false,
}: Readonly<{ fault: Error; retry?: () => void; isPage?: boolean }>) => {
  const api = fault instanceof ApiFault ? fault : undefined;
  return (
    <State
      isAlert
      isPage={isPage}
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
      isPage
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

type FaultProps = Readonly<{ error: unknown; reset: () => void }>;

export const FaultPage = (props: FaultProps) => (
  <Whole>
    <PartFault {...props} />
  </Whole>
);

/** A page that consists of a state alone. */
export const Whole = ({ children }: Readonly<{ children: ReactNode }>) => (
  <main className={cx(styles['whole'])}>{children}</main>
);

/** A part of the page that could not be drawn, in the place of that part. */
export const PartFault = ({ error, reset }: FaultProps) =>
  error instanceof Error && PART_MISSING.test(error.message) ? (
    <PartMissing />
  ) : (
    <Fault isPage fault={error instanceof Error ? error : new Error(String(error))} retry={reset} />
  );

/** Browsers and the bundler say this where a script or style of a page does not come. */
const PART_MISSING = /dynamically imported module|importing a module script|preload CSS/i;

/** In: loads a part of the page. Out: as before, but the router does not reload the page by itself if that fails. */
export const part =
  <Part,>(load: () => Promise<Part>) =>
  (): Promise<Part> =>
    load().catch((fault: unknown) => {
      throw new Error(`A dynamically imported module did not come: ${String(fault)}`);
    });

/** A newer service has other scripts, and none of the page that is open. */
const PartMissing = () => {
  const [isAway, setIsAway] = useState(false);
  const reload = async (): Promise<void> => {
    const isThere = await fetch(dashboardUrl, { method: 'HEAD' }).then(
      ({ ok }) => ok,
      () => false,
    );
    // A reload without a service would lose the page.
    if (isThere) window.location.reload();
    setIsAway(!isThere);
  };
  return (
    <State
      isAlert
      isPage
      title={isAway ? 'The service cannot be reached' : 'A newer version is there'}
      act={
        <Button look="main" onPress={() => void reload()}>
          Reload
        </Button>
      }
    >
      <p>
        This page needs a part that the service no longer has, or that did not come. What you typed in forms is kept.
      </p>
    </State>
  );
};
