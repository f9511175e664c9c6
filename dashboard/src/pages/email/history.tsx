/** The past of an email: each recipient with the answer of the host, and everything that the log has of it. */
import { useTeam } from '../../api/team';
import { Button, TextLink } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { recipientPath } from '../../ui/links';
import { Fault, Loading } from '../../ui/states';
import { StatusBadge } from '../../ui/status';
import { Moment } from '../../ui/time';
import { type Email, type Entry, type Recipient, useTimeline } from './data';
import styles from './email.module.css';
import { entryInWords, ruleInWords } from './words';

export const Recipients = ({ email }: Readonly<{ email: Email }>) => (
  <section className={styles['panel']} aria-labelledby="recipients">
    <h2 id="recipients">
      Recipients
      {email.recipients.length > 1 ? <span className={styles['count']}> {email.recipients.length}</span> : null}
    </h2>
    <ul className={styles['recipients']}>
      {email.recipients.map((recipient, place) => (
        <li key={place}>
          <OneRecipient recipient={recipient} isArchived={email.archived} />
        </li>
      ))}
    </ul>
  </section>
);

const OneRecipient = ({ recipient, isArchived }: Readonly<{ recipient: Recipient; isArchived: boolean }>) => {
  const { email, name, role, status, erased, reply, replyCode, enhancedCode, rule, simulated } = recipient;
  const words = status === 'sent' || status === 'delivered' ? undefined : ruleInWords(rule);
  const codes = [replyCode, enhancedCode].filter((code) => code !== null && code !== undefined).join(' ');
  return (
    <>
      <div className={styles['line']}>
        <span className={styles['who']}>
          {role === 'to' ? null : <span className={styles['role']}>{role} </span>}
          {email === null ? (
            <em>{erased === true || !isArchived ? 'erased' : 'forgotten'}</em>
          ) : (
            <TextLink href={recipientPath(email)}>
              <bdi>{email}</bdi>
            </TextLink>
          )}
          {name === null || name === '' ? null : (
            <span className={styles['soft']}>
              {' '}
              <bdi>{name}</bdi>
            </span>
          )}
        </span>
        <StatusBadge status={status} />
      </div>
      {words === undefined ? null : <p>{words}</p>}
      {codes === '' && reply === null ? null : <p className={styles['reply']}>{reply ?? codes}</p>}
      <RecipientTimes recipient={recipient} />
      {simulated === true ? <p className={styles['soft']}>Simulated: no host was asked.</p> : null}
    </>
  );
};

const RecipientTimes = ({
  recipient: { bounceType, bounceSubType, reportedAt, openedAt, clickedAt },
}: Readonly<{ recipient: Recipient }>) => (
  <>
    {reportedAt === undefined ? null : (
      <p className={styles['soft']}>
        Reported <Moment at={reportedAt} />
        {bounceType === undefined
          ? null
          : `: ${bounceType} bounce${bounceSubType === undefined ? '' : `, ${bounceSubType}`}`}
      </p>
    )}
    {openedAt === null ? null : (
      <p className={styles['soft']}>
        Opened <Moment at={openedAt} />
      </p>
    )}
    {clickedAt === null ? null : (
      <p className={styles['soft']}>
        Clicked <Moment at={clickedAt} />
      </p>
    )}
  </>
);

export const History = ({ email, isLive }: Readonly<{ email: Email; isLive: boolean }>) => {
  const timeline = useTimeline(useTeam().id, email, isLive);
  const entries = timeline.data?.pages.flatMap(({ data }) => data);
  const isComplete = timeline.data?.pages.at(-1)?.meta.webhooksComplete ?? true;
  return (
    <section className={styles['panel']} aria-labelledby="history">
      <h2 id="history">What happened</h2>
      {timeline.error !== null && entries === undefined ? (
        <Fault fault={timeline.error} retry={() => void timeline.refetch()} />
      ) : entries === undefined ? (
        <Loading label="Loading what happened" />
      ) : (
        <ol className={styles['timeline']}>
          {entries.map((entry) => (
            <li key={entry.id}>
              <OneEntry entry={entry} hasSeveral={email.recipients.length > 1} />
            </li>
          ))}
        </ol>
      )}
      {timeline.hasNextPage ? (
        <Button isSmall isPending={timeline.isFetchingNextPage} onPress={() => void timeline.fetchNextPage()}>
          Show more
        </Button>
      ) : null}
      {isComplete ? null : (
        <p className={styles['soft']}>
          So much was sent to an endpoint since that some of its attempts may be missing here.
        </p>
      )}
    </section>
  );
};

const REPLIES_MAX = 5;

const OneEntry = ({ entry, hasSeveral }: Readonly<{ entry: Entry; hasSeveral: boolean }>) => {
  const { title, text, at, tone } = entryInWords(entry);
  const answered = entry.recipients.filter(
    ({ reply, replyCode }) => reply !== undefined || typeof replyCode === 'number',
  );
  return (
    <div className={cx(styles['entry'], styles[tone])}>
      <div className={styles['line']}>
        <strong>{title}</strong>
        <span className={styles['soft']}>
          <Moment at={entry.at} />
        </span>
      </div>
      {text === undefined ? null : (
        <p>
          <bdi>{text}</bdi>
          {at === undefined ? null : (
            <>
              {' '}
              <Moment at={at} />
            </>
          )}
        </p>
      )}
      {answered.slice(0, REPLIES_MAX).map(({ place, email, replyCode, enhancedCode, reply }) => (
        <p key={place} className={styles['reply']}>
          {hasSeveral && email !== null ? <bdi>{email}: </bdi> : null}
          {reply ?? [replyCode, enhancedCode].filter((code) => code !== null && code !== undefined).join(' ')}
        </p>
      ))}
      {answered.length > REPLIES_MAX ? (
        <p className={styles['soft']}>and {answered.length - REPLIES_MAX} more</p>
      ) : null}
      {entry.durationMs === null ? null : <p className={styles['soft']}>It took {duration(entry.durationMs)}</p>}
    </div>
  );
};

const duration = (ms: number): string =>
  ms < 1_000
    ? `${Math.round(ms).toLocaleString()} ms`
    : `${(ms / 1_000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s`;
