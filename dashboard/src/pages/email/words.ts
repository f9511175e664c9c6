/** Plain words for the codes of the service, and what may be done with an email. */
import type { Email } from './data';

export { entryInWords, reasonInWords, ruleInWords } from '../../templates/service';

/** Whether a retry sends to somebody: those with status `failed`, once the delivery has ended. */
export const isRetryable = ({ archived, status, recipients }: Email): boolean =>
  !archived &&
  ['failed', 'sent', 'delivered'].includes(status) &&
  recipients.some((recipient) => recipient.status === 'failed');

export const isCancellable = ({ status }: Email): boolean => status === 'scheduled' || status === 'queued';
