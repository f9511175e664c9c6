/** The start page: first steps, what waits in the queue, and figures of the days and the filter of the address. */
import { useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTeam } from '../../api/team';
import { ButtonLink, Notice, TextLink } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { emailPath } from '../../ui/links';
import { Fault, Loading, State } from '../../ui/states';
import { StatusBadge } from '../../ui/status';
import { Moment } from '../../ui/time';
import { useTitle } from '../../ui/title';
import { type Failure, useChanges, useFigures, useQueue, useRankings, useSummary, withoutTemplate } from './data';
import { FiguresSection, RankingTables } from './figures';
import { Controls } from './controls';
import styles from './overview.module.css';
import { type Asked, askedOf, dayOf, LIST_DAYS_MAX, type OverviewSearch, overviewSearchOf } from './period';
import { QueueSection } from './queue';
import { StepsButton, StepsSection, useSteps } from './steps';

export const OverviewPage = () => {
  const { id } = useTeam();
  return <Overview key={id} />;
};

const Overview = () => {
  const team = useTeam();
  const address = useSearch({ from: '/inside/' });
  const search = useMemo(() => overviewSearchOf(address), [address]);
  const today = dayOf(new Date());
  const asked = useMemo(() => askedOf(search, today), [search, today]);
  const isAllowed = team.permissions.includes('analytics:read');
  const isLive = useChanges(team.id);
  const steps = useSteps(team);
  useTitle('Overview');
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <h1>Overview</h1>
        <StepsButton steps={steps} />
        <span
          className={cx(styles['live'], isLive && styles['isLive'])}
          title={isLive ? 'Changes are shown as they happen' : 'Changes are looked for every 15 seconds'}
        >
          {isLive ? 'Live' : 'Not live'}
        </span>
      </header>
      <StepsSection steps={steps} />
      {isAllowed ? (
        <>
          <QueuePart teamId={team.id} isLive={isLive} />
          <FiguresPart teamId={team.id} search={search} asked={asked} />
          <FailuresPart teamId={team.id} />
        </>
      ) : (
        <State title="You may not see figures">
          <p>
            As {team.role} of {team.name} you lack the permission <code>analytics:read</code>. An owner or admin of the
            team can give you another role.
          </p>
        </State>
      )}
    </div>
  );
};

const QueuePart = ({ teamId, isLive }: Readonly<{ teamId: string; isLive: boolean }>) => {
  const queue = useQueue(teamId, isLive);
  return (
    <section className={styles['section']} aria-labelledby="queue">
      <h2>
        <span id="queue">Queue</span>{' '}
        {queue.data === undefined ? null : (
          <span className={styles['soft']}>
            as of <Moment at={queue.data.asOf} />
          </span>
        )}
      </h2>
      {queue.data !== undefined ? (
        <>
          {queue.error === null ? null : <NotAnew fault={queue.error} />}
          <QueueSection queue={queue.data} />
        </>
      ) : queue.error === null ? (
        <Loading label="Loading the queue" />
      ) : (
        <Fault fault={queue.error} retry={() => void queue.refetch()} />
      )}
    </section>
  );
};

type FiguresPartProps = Readonly<{
  teamId: string;
  search: OverviewSearch;
  asked: Asked | Readonly<{ fault: string }>;
}>;

const FiguresPart = ({ teamId, search, asked }: FiguresPartProps) =>
  'fault' in asked ? (
    <section className={styles['section']} aria-labelledby="figures">
      <h2 id="figures">Figures</h2>
      <Controls search={search} asked={undefined} rankings={undefined} />
      <Notice kind="fault">{asked.fault}</Notice>
      <p>
        <ButtonLink href="/">Show the last 30 days</ButtonLink>
      </p>
    </section>
  ) : (
    <Found teamId={teamId} search={search} asked={asked} />
  );

/** Older figures stay in sight while they cannot be read again. */
const NotAnew = ({ fault }: Readonly<{ fault: Error }>) => (
  <Notice kind="fault">These were read earlier, and could not be read again: {fault.message}</Notice>
);

/** The figures of days and a filter without a fault. */
const Found = ({ teamId, search, asked }: Readonly<{ teamId: string; search: OverviewSearch; asked: Asked }>) => {
  const figures = useFigures(teamId, asked);
  const rankings = useRankings(teamId, asked);
  return (
    <>
      <section className={styles['section']} aria-labelledby="figures">
        <h2 id="figures">Figures</h2>
        <Controls search={search} asked={asked} rankings={rankings.data} />
        {figures.error !== null && (figures.data === undefined || figures.isPlaceholderData) ? (
          <Fault fault={figures.error} retry={() => void figures.refetch()} />
        ) : figures.data === undefined ? (
          <Loading label="Loading the figures" />
        ) : (
          <>
            {figures.error === null ? null : <NotAnew fault={figures.error} />}
            <FiguresSection figures={figures.data} rankings={rankings.data} isOld={figures.isPlaceholderData} />
          </>
        )}
      </section>
      <section className={styles['section']} aria-labelledby="names">
        <h2 id="names">By template, tag and recipient domain</h2>
        {asked.days > LIST_DAYS_MAX ? (
          <p className={styles['soft']}>
            These lists take at most {LIST_DAYS_MAX} days. Choose fewer days to see them.
          </p>
        ) : rankings.data !== undefined ? (
          <>
            {rankings.error === null ? null : <NotAnew fault={rankings.error} />}
            <RankingTables rankings={rankings.data} search={search} range={asked.range} />
          </>
        ) : rankings.error === null ? (
          <Loading label="Loading the lists" />
        ) : (
          <Fault fault={rankings.error} retry={() => void rankings.refetch()} />
        )}
      </section>
    </>
  );
};

const FailuresPart = ({ teamId }: Readonly<{ teamId: string }>) => {
  const { permissions } = useTeam();
  const summary = useSummary(teamId);
  return (
    <section className={styles['section']} aria-labelledby="failures">
      <h2 id="failures">Failed or bounced in the last 30 days</h2>
      {summary.data !== undefined ? (
        <Failures failures={summary.data.recentFailures} isLinked={permissions.includes('emails:read')} />
      ) : summary.error === null ? (
        <Loading label="Loading what failed" />
      ) : (
        <Fault fault={summary.error} retry={() => void summary.refetch()} />
      )}
    </section>
  );
};

const Failures = ({ failures, isLinked }: Readonly<{ failures: readonly Failure[]; isLinked: boolean }>) =>
  failures.length === 0 ? (
    <p className={styles['soft']}>None.</p>
  ) : (
    <>
      <p className={styles['soft']}>The newest emails, at most ten.</p>
      <ul className={styles['failures']}>
        {failures.map(({ id, status, templateId, emailTemplateName, failedRecipients, recipientCount, createdAt }) => {
          const name = withoutTemplate[templateId] ?? emailTemplateName;
          return (
            <li key={id}>
              <span className={styles['name']}>
                {isLinked ? <TextLink href={emailPath(id)}>{name}</TextLink> : name}
                <span className={styles['soft']}>
                  {recipientCount === 1
                    ? '1 recipient'
                    : `${failedRecipients.toLocaleString()} of ${recipientCount.toLocaleString()} recipients`}
                </span>
              </span>
              <StatusBadge status={status} />
              <span className={styles['soft']}>
                <Moment at={createdAt} />
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
