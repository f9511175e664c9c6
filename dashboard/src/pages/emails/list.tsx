/** The list of emails: search, filters by status, rows as they come, more of them while the reader scrolls. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Link as AriaLink } from 'react-aria-components';
import { useTeam } from '../../api/team';
import { serviceUrl } from '../../api/values';
import { Button, ButtonLink } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { Fault, Loading, State } from '../../ui/states';
import tabStyles from '../../ui/tabs.module.css';
import { useTitle } from '../../ui/title';
import styles from './list.module.css';
import { type EmailCounts, useEmails } from './live';
import { emailSearchOf, faultOf, queryOf, type EmailSearch, type Status } from './search';
import { SearchBox } from './search-box';
import { EmailTable } from './table';

/** The tabs above the list. A tab may stand for several states. */
const tabs: readonly Readonly<{ name: string; statuses: readonly Status[] }>[] = [
  { name: 'All', statuses: [] },
  { name: 'In queue', statuses: ['queued', 'processing'] },
  { name: 'Scheduled', statuses: ['scheduled'] },
  { name: 'Sent', statuses: ['sent'] },
  { name: 'Delivered', statuses: ['delivered'] },
  { name: 'Bounced', statuses: ['bounced'] },
  { name: 'Failed', statuses: ['failed'] },
  { name: 'Complained', statuses: ['complained'] },
  { name: 'Cancelled', statuses: ['cancelled'] },
];

export const EmailsPage = () => {
  const address = useSearch({ from: '/inside/emails' });
  const search = useMemo(() => emailSearchOf(address), [address]);
  const navigate = useNavigate({ from: '/emails' });
  useTitle('Emails');
  const fault = faultOf(search);
  const show = (filters: EmailSearch): void => {
    // The router keeps the team.
    void navigate({ to: '/emails', search: filters });
  };
  return (
    <div className={styles['emails']}>
      <header className={styles['head']}>
        <h1>Emails</h1>
        <SearchBox search={search} fault={fault} onSearch={show} />
      </header>
      {fault === undefined ? <Found search={search} onClear={() => show({})} /> : null}
    </div>
  );
};

/** The emails that match filters without a fault. */
const Found = ({ search, onClear }: Readonly<{ search: EmailSearch; onClear: () => void }>) => {
  const { id: teamId } = useTeam();
  const query = useMemo(() => queryOf(search), [search]);
  const emails = useEmails(teamId, query);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <StatusTabs search={search} counts={emails.counts} isLive={emails.isLive} />
      {emails.fresh > 0 ? (
        <div className={styles['fresh']} role="status">
          <Button isSmall onPress={emails.showFresh}>
            {emails.fresh}
            {emails.isFreshLowerBound ? '+' : ''} new
          </Button>
        </div>
      ) : null}
      <div className={styles['body']}>
        {emails.fault !== null && emails.rows === undefined ? (
          <Fault fault={emails.fault} retry={emails.retry} />
        ) : emails.rows === undefined ? (
          <Loading label="Loading emails" />
        ) : emails.rows.length > 0 ? (
          <EmailTable
            rows={emails.rows}
            hasMore={emails.hasMore}
            isLoadingMore={emails.isLoadingMore}
            loadMore={emails.loadMore}
            search={search}
          />
        ) : isFiltered ? (
          <State title="No email matches" act={<Button onPress={onClear}>Clear the filters</Button>}>
            <p>An archived email is found by status, template and time only.</p>
          </State>
        ) : (
          <State
            title="No emails yet"
            act={
              <ButtonLink href={serviceUrl.href} look="main">
                Send a first email
              </ButtonLink>
            }
          >
            <p>Emails that your programs send appear here, each with what became of it.</p>
          </State>
        )}
      </div>
    </>
  );
};

type StatusTabsProps = Readonly<{ search: EmailSearch; counts: EmailCounts | undefined; isLive: boolean }>;

const StatusTabs = ({ search, counts, isLive }: StatusTabsProps) => {
  const chosen = search.status ?? '';
  return (
    <div className={styles['bar']}>
      <nav className={cx(tabStyles['list'], styles['tabs'])} aria-label="Emails by status">
        {tabs.map(({ name, statuses }) => {
          const status = statuses.join(',');
          const { status: _status, ...others } = search;
          const to = status === '' ? others : { ...others, status };
          const count = counts === undefined ? undefined : countOf(counts, statuses);
          return (
            <AriaLink
              key={name}
              href={`/emails${queryText(to)}`}
              className={cx(tabStyles['tab'])}
              {...(chosen === status ? { 'aria-current': 'page' } : {})}
            >
              {name}
              {count === undefined ? null : (
                <span className={tabStyles['count']}>
                  {count.total.toLocaleString()}
                  {count.isLowerBound ? '+' : ''}
                </span>
              )}
            </AriaLink>
          );
        })}
      </nav>
      <span
        className={cx(styles['live'], isLive && styles['isLive'])}
        title={isLive ? 'Changes are shown as they happen' : 'Changes are looked for every 15 seconds'}
      >
        {isLive ? 'Live' : 'Not live'}
      </span>
    </div>
  );
};

const countOf = ({ counts, total, totalIsLowerBound, lowerBounds }: EmailCounts, wanted: readonly Status[]) =>
  wanted.length === 0
    ? { total, isLowerBound: totalIsLowerBound }
    : {
        total: wanted.reduce((sum, status) => sum + (counts[status] ?? 0), 0),
        isLowerBound: lowerBounds.some((status) => wanted.includes(status)),
      };

/** The team of the address goes on with its links. */
const queryText = (search: EmailSearch): string => {
  const parameters = new URLSearchParams(search);
  const team = new URLSearchParams(window.location.search).get('team');
  if (team !== null) parameters.set('team', team);
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
};
