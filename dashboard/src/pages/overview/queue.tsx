/** The queue in words: how many wait, since when, how fast they leave, and what is held back and why. */
import type { ReactNode } from 'react';
import { useTeam } from '../../api/team';
import { TextLink } from '../../ui/controls';
import { cx } from '../../ui/cx';
import { pagePath } from '../../ui/links';
import { Moment } from '../../ui/time';
import type { Queue } from './data';
import styles from './overview.module.css';
import { DataTable } from './table';

const priorityNames = { high: 'High', normal: 'Normal', low: 'Low' } as const;

export const QueueSection = ({ queue }: Readonly<{ queue: Queue }>) => {
  const used = (['high', 'normal', 'low'] as const).filter((name) => waitsIn(queue.priorities[name]));
  return (
    <>
      <dl className={cx(styles['tiles'], styles['six'])}>
        <Tile name="Waiting" value={<Counted count={queue.depth} status="queued,processing" />}>
          {queue.depth === 0 ? 'Nothing waits for its turn' : 'Due, or being delivered'}
        </Tile>
        <Tile
          name="Longest wait"
          value={queue.oldestAgeSeconds === null ? '–' : durationInWords(queue.oldestAgeSeconds)}
        >
          {queue.oldestQueuedAt === null ? (
            'No email waits for its turn'
          ) : (
            <>
              Since <Moment at={queue.oldestQueuedAt} />
            </>
          )}
        </Tile>
        <Tile
          name="Rate (5 minutes)"
          value={
            <>
              {queue.ratePerMinute.toLocaleString()} <span className={styles['soft']}>a minute</span>
            </>
          }
        >
          {emptyIn(queue)}
        </Tile>
        <Tile name="Next attempt later" value={queue.deferred.toLocaleString()}>
          {queue.deferred === 0
            ? 'No host has asked to wait'
            : 'A receiving host asked to wait, or was away; each is tried again by itself'}
        </Tile>
        <Tile name="Held back" value={queue.held.toLocaleString()}>
          {queue.held === 0
            ? 'Nothing waits for a relay'
            : 'The relay takes no mail at the moment; they leave as soon as it does'}
        </Tile>
        <Tile name="Scheduled" value={<Counted count={queue.scheduled} status="scheduled" />}>
          {queue.scheduled === 0 ? 'None waits for its time' : 'Wait for the time of their call'}
        </Tile>
      </dl>
      {used.length < 2 ? null : (
        <DataTable
          label="Queue by priority"
          columns={['Priority', 'Waiting', 'Longest wait', 'A minute', 'Later', 'Held back', 'Scheduled']}
          rows={used.map((name) => {
            const one = queue.priorities[name];
            return {
              id: name,
              cells: [
                priorityNames[name],
                one.depth.toLocaleString(),
                one.oldestAgeSeconds === null ? '–' : durationInWords(one.oldestAgeSeconds),
                one.ratePerMinute.toLocaleString(),
                one.deferred.toLocaleString(),
                one.held.toLocaleString(),
                one.scheduled.toLocaleString(),
              ],
            };
          })}
        />
      )}
    </>
  );
};

type TileProps = Readonly<{ name: string; value: ReactNode; children: ReactNode }>;

/** A figure with its name above and what it means below. */
export const Tile = ({ name, value, children }: TileProps) => (
  <div className={styles['tile']}>
    <dt>{name}</dt>
    <dd className={styles['value']}>{value}</dd>
    <dd className={styles['soft']}>{children}</dd>
  </div>
);

/** A count that leads to its emails, for those who may see them. */
const Counted = ({ count, status }: Readonly<{ count: number; status: string }>) => {
  const { permissions } = useTeam();
  const shown = count.toLocaleString();
  return count === 0 || !permissions.includes('emails:read') ? (
    shown
  ) : (
    <TextLink href={pagePath('/emails', { status })}>{shown}</TextLink>
  );
};

const waitsIn = ({ depth, deferred, held, scheduled }: Queue['priorities']['high']): boolean =>
  depth + deferred + held + scheduled > 0;

const emptyIn = ({ depth, ratePerMinute, estimatedSeconds }: Queue): string => {
  if (depth === 0) return ratePerMinute === 0 ? 'Nothing left in the last five minutes' : 'The queue is empty';
  return estimatedSeconds === null
    ? 'Unknown how long it takes: nothing leaves'
    : `Empty in about ${durationInWords(estimatedSeconds)}`;
};

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** In: seconds. Out: the two largest units, such as `2 h 5 min`. */
const durationInWords = (seconds: number): string => {
  const parts: string[] = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [unit, length] of units) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0 || (unit === 'second' && parts.length === 0))
      parts.push(new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'short' }).format(count));
    if (parts.length === 2) break;
  }
  return parts.join(' ');
};
