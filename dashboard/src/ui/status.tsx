/** The state of an email or of one recipient: a word with a colour, never a colour alone. */
import { cx } from './cx';
import styles from './status.module.css';

type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'still';

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
};

export const StatusBadge = ({ status }: Readonly<{ status: string }>) => (
  <span className={cx(styles['badge'], styles[tones[status] ?? 'still'])}>{status}</span>
);
