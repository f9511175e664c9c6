/** The state of an email, of one recipient, or of another thing: a word with a colour, never a colour alone. */
import { cx } from './cx';
import styles from './status.module.css';

export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'still';

const tones: Readonly<Record<string, Tone>> = {
  queued: 'busy',
  processing: 'busy',
  scheduled: 'still',
  sent: 'good',
  delivered: 'good',
  failed: 'bad',
  bounced: 'bad',
  complained: 'warn',
  cancelled: 'still',
  suppressed: 'warn',
  active: 'good',
  expired: 'still',
  revoked: 'still',
  enabled: 'good',
  disabled: 'warn',
  deleted: 'still',
  success: 'good',
  denied: 'bad',
  verified: 'good',
  pending: 'busy',
  unverified: 'bad',
  right: 'good',
  missing: 'bad',
  wrong: 'bad',
  completed: 'good',
  published: 'good',
  changed: 'busy',
};

/** `tone`: default: that of the word. */
export const StatusBadge = ({ status, tone = tones[status] ?? 'still' }: Readonly<{ status: string; tone?: Tone }>) => (
  <span className={cx(styles['badge'], styles[tone])}>{status}</span>
);
