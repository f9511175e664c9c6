/** Needs of an email from its acceptance to its end. */
import type { SendEmailResponse } from '../../api/email.js';
import type { HeaderMatcher } from '../../domain/mime/compose.js';
import type { Recipient } from '../../domain/mime/address.js';
import type { Answer, JoinedCalls } from '../core/idempotency.js';
import type { DocumentNeeds } from '../documents/needs.js';
import type { DomainNeeds } from '../domains/needs.js';
import type { RecipientNeeds } from '../recipients/needs.js';
import type { Backlog } from './backlog.js';

export type EmailNeeds = DocumentNeeds &
  DomainNeeds &
  RecipientNeeds &
  Readonly<{
    /** How many emails of each team wait. */
    backlog: Backlog;
    /** The send calls under way in this process that carry an Idempotency-Key, by the id of their email. */
    joinSends: JoinedCalls<Answer<SendEmailResponse>>;
    /** Matches the instructions to relays that callers may give as headers; absent: none. */
    allowsHeader?: HeaderMatcher;
    /** Mails leave by a relay, which gets no sample sender and no sample company. */
    hasRelay?: true;
    /** The sender of account mails; absent if a relay is set and the sender is not. */
    accountSender?: Recipient;
  }>;
