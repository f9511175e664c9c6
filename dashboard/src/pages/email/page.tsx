/** The page of one email: what became of it, its mail, and what can be done with it. */
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { ApiFault } from '../../api/client';
import { useTeam } from '../../api/team';
import { Button, ButtonLink, Notice, TextLink } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { emailPath, pagePath, recipientPath } from '../../ui/links';
import { Fault, Loading, State } from '../../ui/states';
import { StatusBadge } from '../../ui/status';
import { Moment } from '../../ui/time';
import { useTitle } from '../../ui/title';
import { Acts } from './acts';
import { type Email, useEmail } from './data';
import styles from './email.module.css';
import { History, Recipients } from './history';
import { Mail } from './mail';
import { reasonInWords } from './words';

export const EmailPage = () => {
  const { id } = useParams({ from: '/inside/emails/$id' });
  return <OneEmail key={id} id={id} />;
};

const OneEmail = ({ id }: Readonly<{ id: string }>) => {
  const team = useTeam();
  const { data: email, error, refetch, isLive, isBehind, isGone, readAgain } = useEmail(team.id, id);
  useTitle(email === undefined ? 'Email' : (email.subject ?? 'Archived email').slice(0, 100));
  const hidden = <h1 className={styles['unseen']}>Email</h1>;
  if (isGone || (error instanceof ApiFault && error.status === 404))
    return (
      <>
        {hidden}
        <State
          isAlert
          title="There is no such email"
          act={
            <ButtonLink href={pagePath('/emails')} look="main">
              See all emails
            </ButtonLink>
          }
        >
          <p>It was deleted, its record is no longer kept, or the address of this page is not whole.</p>
        </State>
      </>
    );
  if (email === undefined)
    return (
      <>
        {hidden}
        {error === null ? <Loading label="Loading the email" /> : <Fault fault={error} retry={() => void refetch()} />}
      </>
    );
  return (
    <article className={styles['page']}>
      <Head email={email} />
      {error === null ? null : (
        <Notice kind="note">What is shown may be old: {error.message} The page tries again by itself.</Notice>
      )}
      {isBehind ? (
        <Notice kind="note">
          Something happened to this email since you opened it.{' '}
          <Button isSmall onPress={() => void readAgain()}>
            Show what happened
          </Button>
        </Notice>
      ) : null}
      <div className={styles['columns']}>
        <Mail email={email} />
        <div className={styles['side']}>
          <Recipients email={email} />
          <History email={email} isLive={isLive} />
          <Facts email={email} />
        </div>
      </div>
    </article>
  );
};

const Head = ({ email }: Readonly<{ email: Email }>) => {
  const heading = useRef<HTMLHeadingElement>(null);
  // The row that led here is gone with its list.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header className={styles['head']}>
      <TextLink href={pagePath('/emails')}>Emails</TextLink>
      <div className={styles['top']}>
        <h1 ref={heading} tabIndex={-1}>
          <Subject email={email} />
        </h1>
        <Acts email={email} />
      </div>
      <div className={styles['state']}>
        <StatusBadge status={email.status} />
        {email.archived ? <span className={styles['tag']}>archived</span> : null}
        {email.confidential === true ? <span className={styles['tag']}>confidential</span> : null}
        {email.test ? <span className={styles['tag']}>test</span> : null}
        <StateText email={email} />
      </div>
      <Addresses email={email} />
    </header>
  );
};

const Subject = ({ email: { subject, archived } }: Readonly<{ email: Email }>) =>
  subject === null || subject === '' ? <em>{archived ? 'Archived email' : 'No subject'}</em> : <bdi>{subject}</bdi>;

/** Why it is in its state, or what comes next. */
const StateText = ({ email }: Readonly<{ email: Email }>) => {
  const { status, failureReason, scheduledAt, nextAttemptAt, cancelledAt, deliveredAt, sentAt, archivedAt } = email;
  if (email.archived && archivedAt !== null)
    return (
      <span>
        Addresses, subject and content were forgotten <Moment at={archivedAt} />
      </span>
    );
  if (failureReason !== null) return <span>{reasonInWords(failureReason)}</span>;
  const [words, at] =
    status === 'scheduled'
      ? ['It leaves', scheduledAt]
      : status === 'queued' && nextAttemptAt !== null
        ? ['Next attempt', nextAttemptAt]
        : status === 'cancelled'
          ? ['', cancelledAt]
          : ['', deliveredAt ?? sentAt];
  return at === null ? null : (
    <span>
      {words} <Moment at={at} />
    </span>
  );
};

const ADDRESSES_MAX = 4;

const Addresses = ({ email: { from, recipients } }: Readonly<{ email: Email }>) => (
  <dl className={styles['addresses']}>
    {from === null ? null : (
      <Fact name="From">
        {from.name === undefined ? null : (
          <>
            <bdi>{from.name}</bdi>{' '}
          </>
        )}
        <bdi className={styles['soft']}>{from.email}</bdi>
      </Fact>
    )}
    {(['to', 'cc', 'bcc'] as const).map((role) => {
      const known = recipients.filter((one) => one.role === role && one.email !== null);
      return known.length === 0 ? null : (
        <Fact key={role} name={{ to: 'To', cc: 'Cc', bcc: 'Bcc' }[role]}>
          {known.slice(0, ADDRESSES_MAX).map(({ email: address }, place) => (
            <span key={place}>
              {place === 0 ? '' : ', '}
              <TextLink href={recipientPath(address ?? '')}>
                <bdi>{address}</bdi>
              </TextLink>
            </span>
          ))}
          {known.length > ADDRESSES_MAX ? (
            <span className={styles['soft']}> and {known.length - ADDRESSES_MAX} more</span>
          ) : null}
        </Fact>
      );
    })}
  </dl>
);

const Fact = ({ name, children }: Readonly<{ name: string; children: ReactNode }>) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const Facts = ({ email }: Readonly<{ email: Email }>) => {
  const { templateId, templateVersion, tags, batchId, priority, locale, timeZone, replyTo, messageId, tracking } =
    email;
  const relay = email.attempts.findLast((attempt) => attempt.relay !== undefined)?.relay;
  const replies = typeof replyTo === 'string' ? [replyTo] : (replyTo ?? []).map((one) => one.email);
  return (
    <section className={styles['panel']} aria-labelledby="details">
      <h2 id="details">Details</h2>
      <dl className={cx(styles['facts'])}>
        <Fact name="Accepted">
          <Moment at={email.createdAt} />
        </Fact>
        <Fact name="Template">
          {templateId === 'inline' ? (
            'none: content of the call'
          ) : templateId === 'smtp' ? (
            'none: it came by SMTP'
          ) : (
            <>
              <TextLink href={pagePath('/emails', { template: templateId })}>
                <bdi>{email.emailTemplateName}</bdi>
              </TextLink>
              <span className={styles['soft']}>
                {' '}
                {templateVersion === null ? 'draft' : `version ${templateVersion}`}
              </span>
            </>
          )}
        </Fact>
        {tags.length === 0 ? null : (
          <Fact name="Tags">
            <span className={styles['tags']}>
              {tags.map((tag) => (
                <TextLink key={tag} href={pagePath('/emails', { tag })}>
                  {tag}
                </TextLink>
              ))}
            </span>
          </Fact>
        )}
        {batchId === null ? null : (
          <Fact name="Bulk send">
            <TextLink href={pagePath('/emails', { batch: batchId })}>{batchId.slice(0, 8)}…</TextLink>
          </Fact>
        )}
        {email.resentFrom === undefined ? null : (
          <Fact name="Copy of">
            <TextLink href={emailPath(email.resentFrom)}>another email</TextLink>
          </Fact>
        )}
        {replies.length === 0 ? null : (
          <Fact name="Replies to">
            <bdi>{replies.join(', ')}</bdi>
          </Fact>
        )}
        {relay === undefined ? null : <Fact name="Relay">{relay}</Fact>}
        {priority === 'normal' ? null : <Fact name="Priority">{priority}</Fact>}
        {locale === null ? null : <Fact name="Language">{locale}</Fact>}
        {timeZone === null ? null : <Fact name="Time zone">{timeZone}</Fact>}
        <Fact name="Tracking">
          {[tracking.opens ? 'opens' : '', tracking.clicks ? 'clicks' : ''].filter(Boolean).join(' and ') || 'off'}
        </Fact>
        <Fact name="Id">
          <code>{email.id}</code>
        </Fact>
        <Fact name="Message-ID">
          <code>{messageId}</code>
        </Fact>
      </dl>
    </section>
  );
};
