/** Needs of suppressions, feedback and tracking. */
import type { ReturnPathDomain } from '../../domain/domains/dns.js';
import type { ReturnPath } from '../../domain/email/feedback.js';
import type { ReportReader } from '../../domain/ports/report-reader.js';
import type { EmailId } from '../../domain/core/ids.js';
import type { FeedbackProvider, ProviderFeedback } from '../../domain/ports/provider-feedback.js';
import type { ProviderEventOutcome } from '../../api/recipients.js';
import type { CorePorts } from '../core/ports.js';

/** Reader of reports and return paths; it exists if a return path domain is set. */
export type Feedback = Readonly<{ returnPath: ReturnPath; at: ReturnPathDomain; reader: ReportReader }>;

/** Called when a domain refuses mail of this service for its sender, with the reason and the number of recipients. */
export type NoteBlocked = (domain: string, reason: string, recipients: number) => void;

/**
 * Called for each event of a provider with what became of it: `refused` for a whole call, with the reason; `kept` with
 * the email.
 */
export type NoteProviderEvent = (
  provider: FeedbackProvider,
  outcome: ProviderEventOutcome | 'refused',
  about?: Readonly<{ reason?: string; emailId?: EmailId }>,
) => void;

export type RecipientNeeds = CorePorts &
  Readonly<{
    /** Reader of the events of mail providers; absent if no provider is set up. */
    providerFeedback?: ProviderFeedback;
    /** Absent if nobody counts them. */
    noteProviderEvent?: NoteProviderEvent;
    /** Feedback about emails after they have left; absent if no return path is set up. */
    feedback?: Feedback;
    /** Absent if nobody counts them. */
    noteBlocked?: NoteBlocked;
    /**
     * The beginning of links in mails, as `https://mail.example.com`; absent if no public address of the service is
     * set.
     */
    linkBase?: string;
  }>;
