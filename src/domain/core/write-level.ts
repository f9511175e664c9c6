/**
 * What of the stored form a program may write, by number, so that one that reads more than another can write for both while they run
 * side by side. Every level is read for ever; a level is added where something is written that the program before cannot read.
 *
 * | level | written from it on |
 * |---|---|
 * | 1 | events whose sealed part is bound to the id of the event; rows of keys without a tag |
 * | 2 | sealed parts bound to the stream and the id of the event; rows of keys with a tag, bound to the number of the row; `TemplateRestored`, `InstanceSeen`, `LossAccepted` |
 * | 3 | `EmailRescheduled`, `TeamBillingChanged` and the events of credits; bulk sends; `TemplateRemoved`; sender domains; suppressed addresses and what they are to emails; webhooks; what is heard of an email after it has left; erasures by address; keys of recipients; what became of one copy of several; opens and clicks; members of teams; what the audit log tells beside other events, and from where audited calls came; apps and what is granted to them; assets, subscriptions and sender domains that are deleted and can be restored; networks and changes of API keys; test keys and their mails; mails that are shown to nobody; records of emails and bulk sends that are kept no longer, and what is left of their events; templates in several languages, and emails and bulk sends that say theirs; tags of the seal key behind the hashes of events, and seals that it signs |
 */
export const WRITE_LEVEL_FIRST = 1;
export const WRITE_LEVEL_NEWEST = 3;

/** The level from which the ledger holds heartbeats, which a program before takes for something slipped in. */
export const HEARTBEATS_FROM = 2;

/** The level from which sealed parts and rows of keys are bound to their place. */
export const BOUND_SEALS_FROM = 2;

/** The level from which the log says what was given up. */
export const LOSSES_FROM = 2;

/** The level from which a scheduled email may be given another time. */
export const RESCHEDULES_FROM = 3;

/** The level from which templates that were deleted long ago are removed. */
export const TEMPLATE_REMOVALS_FROM = 3;

/** The level from which bulk sends are accepted. */
export const BULK_SENDS_FROM = 3;

/** The level from which teams are billed otherwise than unmetered, and credits are counted. */
export const CREDITS_FROM = 3;

/** The level from which sender domains are kept. */
export const SENDER_DOMAINS_FROM = 3;

/** The level from which addresses are suppressed, and emails say that they were not sent for that. */
export const SUPPRESSIONS_FROM = 3;

/** The level from which webhooks are subscribed to and sent. */
export const WEBHOOKS_FROM = 3;

/** The level from which what is heard of an email after it has left is recorded. */
export const REPORTS_FROM = 3;

/** The level from which everything about an address may be erased. */
export const ERASURES_FROM = 3;

/** The level from which an email with several recipients has a key for each of them. */
export const RECIPIENT_KEYS_FROM = 3;

/** The level from which emails leave as one copy for each recipient. */
export const COPIES_FROM = 3;

/** The level from which opens and clicks are recorded, and emails, bulk sends, templates and teams say which of them. */
export const TRACKING_FROM = 3;

/** The level from which people are users and members of teams, and grant something to apps. */
export const PEOPLE_FROM = 3;

/** The level from which assets, webhook subscriptions and sender domains that are deleted can be restored for some days. */
export const TRASH_FROM = 3;

/** The level from which keys are bound to networks, and changed. */
export const KEY_BOUNDS_FROM = 3;

/** The level from which there are test keys, and mails of them. */
export const TEST_KEYS_FROM = 3;

/** The level from which templates have texts in several languages, and emails and bulk sends say in which they are. */
export const LANGUAGES_FROM = 3;

/** The level from which records of archived emails, and of bulk sends, are removed, and years later leave the log. */
export const RECORD_REMOVALS_FROM = 3;

/** The level from which events and seals are under a seal key. */
export const SEAL_KEYS_FROM = 3;
