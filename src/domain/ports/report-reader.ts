/** Reads what mail systems send back: delivery reports (RFC 3464), complaints (RFC 5965) and bounces of no standard. */

/** `blocked`: the cause is the sender (reputation, policy, rate, authentication), not the address. */
export type BounceType = 'hard' | 'soft' | 'blocked';

/** Result of a report for one recipient; if possible, the report names the address that we had written to. */
export type ReportedRecipient = Readonly<{
  addresses: readonly string[];
  /** `delayed`, `relayed` and `expanded` say nothing that would be the end of it. */
  action: 'failed' | 'delivered' | 'delayed' | 'relayed' | 'expanded';
  bounceType: BounceType;
  bounceSubType: string;
  enhancedCode: string | null;
  /** In words; may hold addresses. */
  text: string;
}>;

export type Report = Readonly<{
  content:
    | Readonly<{ kind: 'delivery-status'; recipients: readonly ReportedRecipient[] }>
    | Readonly<{ kind: 'complaint'; feedbackType: string; addresses: readonly string[] }>
    /** An answer by hand or of a machine, or anything else that reports nothing. */
    | Readonly<{ kind: 'other' }>;
  /**
   * The addresses that the report was sent to, and those that the mail it is about had for a sender: one of them may be
   * a return path.
   */
  senders: readonly string[];
}>;

/** Bytes of a message that are searched for a report: the report stands before the returned message. */
export const REPORT_BYTES_READ_MAX = 256 * 1024;

export type ReportReader = Readonly<{
  /**
   * Looks at the beginning of the message alone. Never rejects for what is in it: what cannot be read is of kind
   * `other`.
   */
  read: (raw: Uint8Array) => Promise<Report>;
}>;
