import type { BounceType } from '../email/email-status.js';

/** What a report says of one recipient; where it can, the report names the address that we had written to. */
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
