/** Needs of suppressions, feedback and tracking. */
import type { ReturnPathDomain } from '../../domain/domains/dns.js';
import type { ReturnPath } from '../../domain/email/feedback.js';
import type { ReportReader } from '../../domain/ports/report-reader.js';
import type { CorePorts } from '../core/ports.js';

/** Reader of reports and return paths; it exists if a return path domain is set. */
export type Feedback = Readonly<{ returnPath: ReturnPath; at: ReturnPathDomain; reader: ReportReader }>;

/** Called when a domain refuses mail of this service for its sender, with the reason and the number of recipients. */
export type NoteBlocked = (domain: string, reason: string, recipients: number) => void;

export type RecipientNeeds = CorePorts &
  Readonly<{
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
