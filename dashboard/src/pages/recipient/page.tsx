/** The page of one address: the emails that it got, and whether the team writes to it. */
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { GetRecipientData, GetRecipientResponse } from '#api';
import { ApiFault, call } from '../../api/client';
import { useTeam } from '../../api/team';
import { ButtonLink, TextLink } from '../../ui/controls';
import { emailPath, pagePath } from '../../ui/links';
import { Fault, Loading, State } from '../../ui/states';
import { StatusBadge } from '../../ui/status';
import { Moment } from '../../ui/time';
import { useTitle } from '../../ui/title';
import { reasonInWords } from '../email/words';
import styles from './recipient.module.css';

type Summary = GetRecipientResponse;

export const RecipientPage = () => {
  const { address } = useParams({ from: '/inside/recipients/$address' });
  const team = useTeam();
  useTitle(address.slice(0, 100));
  const { data, error, refetch } = useQuery({
    queryKey: ['recipient', team.id, address],
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      call<GetRecipientData, GetRecipientResponse>(
        'GET',
        { url: '/api/recipients/{address}', path: { address } },
        { teamId: team.id, signal },
      ),
  });
  const hidden = <h1 className={styles['unseen']}>Recipient</h1>;
  if (error instanceof ApiFault && error.status === 400)
    return (
      <>
        {hidden}
        <State isAlert title="This is no address">
          <p>
            <bdi>{address.slice(0, 200)}</bdi> is not an email address: {error.message}
          </p>
        </State>
      </>
    );
  if (data === undefined)
    return (
      <>
        {hidden}
        {error === null ? (
          <Loading label="Loading the address" />
        ) : (
          <Fault fault={error} retry={() => void refetch()} />
        )}
      </>
    );
  return <Found summary={data} key={data.email} />;
};

const Found = ({ summary }: Readonly<{ summary: Summary }>) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const { email, emails, emailsTotal, emailsTotalIsLowerBound, suppressions, unsubscribes, erasures } = summary;
  return (
    <article className={styles['page']}>
      <header className={styles['head']}>
        <TextLink href={pagePath('/emails')}>Emails</TextLink>
        <h1 ref={heading} tabIndex={-1}>
          <bdi>{email}</bdi>
        </h1>
      </header>
      <Standing {...{ suppressions, unsubscribes, erasures }} />
      <section className={styles['section']} aria-labelledby="emails">
        <h2 id="emails">
          What happened{' '}
          <span className={styles['soft']}>
            {emailsTotal.toLocaleString()}
            {emailsTotalIsLowerBound ? '+' : ''} {emailsTotal === 1 ? 'email' : 'emails'}
          </span>
        </h2>
        {emails.length === 0 ? (
          <State title="No email to this address">
            <p>The team has sent it none, or those that it sent are archived and no longer say who got them.</p>
          </State>
        ) : (
          <ul className={styles['emails']}>
            {emails.map((one) => (
              <li key={one.id}>
                <OneEmail email={one} />
              </li>
            ))}
          </ul>
        )}
        {emailsTotal > emails.length ? (
          <ButtonLink href={pagePath('/emails', { to: email })}>See all of them</ButtonLink>
        ) : null}
      </section>
    </article>
  );
};

const OneEmail = ({
  email: { id, subject, status, failureReason, createdAt, emailTemplateName, templateId },
}: Readonly<{ email: Summary['emails'][number] }>) => (
  <>
    <span className={styles['subject']}>
      <TextLink href={emailPath(id)}>
        {subject === null || subject === '' ? 'No subject' : <bdi>{subject}</bdi>}
      </TextLink>
      <span className={styles['soft']}>
        {failureReason !== null
          ? reasonInWords(failureReason)
          : templateId === 'inline' || templateId === 'smtp'
            ? 'without template'
            : emailTemplateName}
      </span>
    </span>
    <StatusBadge status={status} />
    <span className={styles['soft']}>
      <Moment at={createdAt} />
    </span>
  </>
);

const reasons: Readonly<Record<string, string>> = {
  'hard-bounce': 'A mail came back for good',
  complaint: 'They marked a mail as spam',
  manual: 'A member of the team put it on the list',
  import: 'It was imported',
};

/** Whether the team writes to the address, and why not. */
const Standing = ({
  suppressions,
  unsubscribes,
  erasures,
}: Pick<Summary, 'suppressions' | 'unsubscribes' | 'erasures'>) => (
  <section className={styles['section']} aria-labelledby="standing">
    <h2 id="standing">Does the team write to it?</h2>
    <ul className={styles['standing']}>
      {suppressions.length === 0 ? (
        <li>
          <strong className={styles['good']}>Yes</strong>, it is not on the suppression list.
        </li>
      ) : (
        suppressions.map(({ id, reason, emailId, createdAt }) => (
          <li key={id}>
            <strong className={styles['bad']}>No</strong>, it is suppressed since <Moment at={createdAt} />.{' '}
            {reasons[reason] ?? reason}
            {emailId === null ? (
              '.'
            ) : (
              <>
                : <TextLink href={emailPath(emailId)}>the email</TextLink>.
              </>
            )}
          </li>
        ))
      )}
      {unsubscribes.map(({ id, list, createdAt }) => (
        <li key={id}>
          Left{' '}
          {list === null ? (
            'all lists'
          ) : (
            <>
              the list <strong>{list}</strong>
            </>
          )}{' '}
          on <Moment at={createdAt} />.
        </li>
      ))}
      {erasures.map(({ id, requestedAt, completedAt }) => (
        <li key={id}>
          {completedAt === null ? (
            <>
              An erasure was asked for on <Moment at={requestedAt} />.
            </>
          ) : (
            <>
              Its personal data was erased on <Moment at={completedAt} />.
            </>
          )}
        </li>
      ))}
    </ul>
  </section>
);
