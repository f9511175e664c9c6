/**
 * Named schemas of the API description. Each exported constant `XSchema` of this folder is the component `X`, or has
 * the name that the table below gives it. A schema that equals a component is written as a reference to it, wherever it
 * stands.
 */
import type { TSchema } from '@sinclair/typebox';
import * as analytics from './analytics.js';
import * as approvals from './approvals.js';
import * as apps from './apps.js';
import * as audit from './audit.js';
import * as billing from './billing.js';
import * as bulk from './bulk.js';
import * as common from './core/common.js';
import { pageOf } from './core/common.js';
import * as system from './core/system.js';
import * as domains from './domains.js';
import * as email from './email.js';
import * as emailContent from './email-content.js';
import * as keys from './keys.js';
import * as live from './live.js';
import * as mailbox from './mailbox.js';
import * as people from './people.js';
import * as privacy from './privacy.js';
import * as recipients from './recipients.js';
import * as severalEmails from './several-emails.js';
import * as teams from './teams.js';
import type { TemplateKind } from './templates/json-schema.js';
import * as convert from './templates/convert.js';
import * as templates from './templates/templates.js';
import * as unsaved from './templates/unsaved.js';
import * as webhooks from './webhooks.js';

/** The files whose exported schemas are components. */
export const schemaFiles = [
  analytics,
  approvals,
  apps,
  audit,
  billing,
  bulk,
  common,
  domains,
  email,
  emailContent,
  keys,
  live,
  mailbox,
  people,
  privacy,
  recipients,
  severalEmails,
  system,
  teams,
  templates,
  convert,
  unsaved,
  webhooks,
] as const;

type Files = typeof schemaFiles;

/** The names of the constants of one file, without `Schema`. Schemas of queries and paths become parameters. */
type SchemasOf<File> = {
  [Constant in keyof File]: Constant extends `${string}${'Query' | 'Params'}Schema`
    ? never
    : Constant extends `${infer Name}Schema`
      ? File[Constant] extends TSchema
        ? Name
        : never
      : never;
}[keyof File];

type SchemaName = { [Index in keyof Files]: SchemasOf<Files[Index]> }[number];

/** `text` says what the component is; what its schema says itself comes behind it. */
type Named = Readonly<{
  text: string;
  /** Default: the name of the constant, without `Schema`. */
  name?: string;
  /**
   * The body of a template: its variables and its content are checked part by part, and described by definitions of
   * their own.
   */
  template?: TemplateKind;
}>;

/** A line for each exported schema: the compiler lists those that have none. */
const named: Readonly<Record<SchemaName, string | Named>> = {
  Recipient: 'A mailbox: an address, and the name that clients show for it.',
  Attachment:
    'A file of an email, of one of four kinds: generated from an attachment template, given in base64, fetched from an address, or taken from the gallery.',
  PageMeta: 'Place of a page in its list, and the cursor of the next page.',
  ErrorBody: { name: 'ApiError', text: 'Every error answer: what was wrong, where, and what would be right.' },
  Deleted: 'The answer of a DELETE.',
  SendEmailRequest: 'One email: a template, its variables, and who gets it.',
  SendEmailResponse: { name: 'AcceptedEmail', text: 'The email as it was accepted: it is durable, and will be sent.' },
  SendEmailsRequest: 'Several different emails.',
  SendEmailsResult: 'The result of one email of a call with several: accepted, or refused and why.',
  SendEmailsResponse: { name: 'SentEmails', text: 'The result of each email of a call, or of its dry run.' },
  RetryEmailResponse: { name: 'RetriedEmail', text: 'The email as it is queued again.' },
  EmailRecord: 'The whole log record of one email, with each recipient and each attempt.',
  EmailListItem: 'One email in a list.',
  SentContent: 'The mail itself, as a recipient got it, without tracking.',
  Approval: 'A send that a program asked for, and what a person decided on it.',
  ApprovalContent: 'The mail of an approval as it would leave, with the values of the call.',
  ApproveRequest: { name: 'ApproveSendRequest', text: 'What the person approves.' },
  RejectRequest: { name: 'RejectSendRequest', text: 'Why the person rejects it.' },
  EmailCounts: 'Emails by state.',
  LiveChanges: 'The data of an event `changes`: the new items of lists.',
  System: 'How the instance is doing: its log, its queue, and each of its processes.',
  RequestLogEntry: 'One call of the API by a key or an app, without its body.',
  RetentionTable: 'How long each kind of data is kept, and what happens then.',
  RecipientSummary: 'What is held about one address: its last emails, suppressions and erasures.',
  EmailTotals: 'How many emails came to each point of their way for the first time.',
  EmailRates: 'Parts of these totals, in percent.',
  EmailTimes: 'How long emails took, on average.',
  AnalyticsPeriod: 'Numbers of emails by result in a range of days (UTC).',
  BulkDeleteRequest: { name: 'DeleteEmailsRequest', text: 'Ids of the emails to delete.' },
  BulkDeleteResponse: { name: 'DeletedEmails', text: 'How many emails were deleted, and how many not.' },
  CreateTemplateRequest: {
    template: 'email',
    text: 'A new template of an email; what GET answered of another is taken as it is.',
  },
  ImportTemplateRequest: { template: 'email', text: 'A template of an email as GET answered it, here or elsewhere.' },
  UpdateTemplateRequest: { template: 'email', text: 'Changes to the draft of an email template.' },
  TemplateRecord: { name: 'Template', text: 'A template of an email, with its draft.' },
  SavedTemplate: 'A template of an email as it was saved, with what its author should know.',
  TemplateListItem: 'A template of an email in a list, without its content.',
  TemplateVersion: 'A published version of a template of an email, without its content.',
  TemplateVersionRecord: 'A published version of a template of an email, with its content.',
  RestoreTemplateRequest: 'How a deleted template is taken back.',
  PreviewRequest: 'Variables and language for the preview of an email template.',
  PreviewLink: 'A link that shows a preview in a browser for a while.',
  PreviewResponse: { name: 'TemplatePreview', text: 'The mail as it would be sent.' },
  ConvertTemplateRequest: 'A mail of another service, with sample values.',
  ConvertedTemplate: 'A template made of a mail of another service, both rendered, and what could not be carried over.',
  PreviewUnsavedTemplateRequest: 'An email template that is not saved, with variables and language for its preview.',
  PreviewUnsavedBlockRequest: 'A block that is not saved, with variables and language for its preview.',
  PreviewUnsavedAttachmentRequest:
    'An attachment template that is not saved, with variables and language for its preview.',
  UnsavedTemplatePreview: 'The mail of a template that is not saved, as far as it can be shown, and what is wrong.',
  UnsavedBlockPreview: 'A mail with a block that is not saved, as far as it can be shown, and what is wrong.',
  UnsavedDocumentPreview:
    'The document of an attachment template that is not saved, as far as it can be shown, and what is wrong.',
  TestTemplateRequest: 'Whom a test of a template goes to, with its variables and language.',
  CreateAssetRequest: 'A file for the gallery, in base64.',
  AssetRecord: { name: 'Asset', text: 'A file of the gallery.' },
  CreateAttachmentTemplateRequest: {
    template: 'attachment',
    text: 'A new attachment template; what GET answered of another is taken as it is.',
  },
  ImportAttachmentTemplateRequest: {
    template: 'attachment',
    text: 'An attachment template as GET answered it, here or elsewhere.',
  },
  UpdateAttachmentTemplateRequest: { template: 'attachment', text: 'Changes to the draft of an attachment template.' },
  AttachmentTemplateRecord: { name: 'AttachmentTemplate', text: 'An attachment template, with its draft.' },
  SavedAttachmentTemplate: 'An attachment template as it was saved, with what its author should know.',
  AttachmentTemplateListItem: 'An attachment template in a list, without its content.',
  AttachmentTemplateVersion: 'A published version of an attachment template, without its content.',
  CreateBlockRequest: { template: 'block', text: 'A new block; what GET answered of another is taken as it is.' },
  ImportBlockRequest: { template: 'block', text: 'A block as GET answered it, here or elsewhere.' },
  UpdateBlockRequest: { template: 'block', text: 'Changes to the draft of a block.' },
  BlockRecord: { name: 'Block', text: 'A block, with its draft.' },
  SavedBlock: 'A block as it was saved, with what its author should know.',
  BlockListItem: 'A block in a list, without its content.',
  BlockVersion: 'A published version of a block, without its content.',
  PublishBlockRequest: 'How a block is published.',
  BlockUsage: 'Templates and blocks that name a block, in their drafts and published versions.',
  BlockImpact: 'Changes to each template that follows a block, if its draft were published.',
  BlockVersions: { name: 'BlockVersionList', text: 'The published versions of a block.' },
  BlockVersionRecord: 'A published version of a block, with its content.',
  AttachmentTemplateVersionRecord: 'A published version of an attachment template, with its content.',
  CreateApiKeyRequest: 'A new API key, with at most what the calling key has.',
  ApiKeyRecord: { name: 'ApiKey', text: 'An API key, without its secret.' },
  CreatedApiKey: 'A new API key with its secret, which is shown this once.',
  MailboxMessage: 'A mail that the built-in mailbox received.',
  Live: { name: 'Liveness', text: 'The process is alive.' },
  Ready: {
    name: 'Readiness',
    text: 'Whether the service should be given requests, with its workers and the state of its log.',
  },
  TimeSeries: {
    name: 'AnalyticsTimeSeries',
    text: 'Numbers of emails by result, for each day, week or month of a range.',
  },
  Overview: {
    name: 'AnalyticsOverview',
    text: 'Numbers of emails by result in a range of days, and their change since the range before.',
  },
  TemplateAnalytics: 'Numbers of emails by result for each template, in pages.',
  DomainAnalytics: 'Numbers of recipients by result for each domain, in pages.',
  TagAnalytics: 'Numbers of emails by result for each tag, in pages.',
  DashboardSummary: 'Numbers of emails of today, of 7 and of 30 days, the queue, and the newest failures.',
  CreateOAuthAppRequest: 'A new app that acts for people or teams by OAuth 2.',
  UpdateOAuthAppRequest: 'Changes to an OAuth app; fields that are left out keep their value.',
  OAuthAppRecord: { name: 'OAuthApp', text: 'An app that acts for people or teams by OAuth 2, without its secret.' },
  CreatedOAuthApp: 'A new OAuth app with its secret, which is shown this once.',
  RotateAppSecretRequest: {
    name: 'RotateOAuthAppSecretRequest',
    text: 'How long the old secret of an OAuth app stays good.',
  },
  RotatedAppSecret: {
    name: 'RotatedOAuthAppSecret',
    text: 'An OAuth app with its new secret, which is shown this once.',
  },
  OAuthGrantRecord: { name: 'OAuthGrant', text: 'What a person granted an app in a team.' },
  AuditEntry: 'An entry of the audit log: who did what, from where and with which result.',
  UsageStats: 'What a team has sent in the month, and what it may still send.',
  UsageByDay: 'Emails and credits of each day.',
  UsageByMonth: 'Emails and credits of each month.',
  AddCreditsRequest: 'Credits for a team, as a number or as paid blocks.',
  AddedCredits: 'The credits that were added, and the balance.',
  SendBulkRequest: 'One template, or one content, for many recipients, each with variables of their own.',
  SendBulkResponse: {
    name: 'AcceptedBatch',
    text: 'The bulk send as it was accepted: it is durable, and will be sent.',
  },
  DryRunResponse: { name: 'BulkDryRun', text: 'What a bulk send would do and cost, and its faults by recipient.' },
  BatchStatus: { name: 'Batch', text: 'A bulk send with its counts and its progress.' },
  CancelBatchResponse: { name: 'CancelledBatch', text: 'How far a bulk send had come when it was cancelled.' },
  AddDomainRequest: { name: 'AddSenderDomainRequest', text: 'A domain to send from.' },
  SetTrackingDomainRequest: 'The name that links in mails of a sender domain get.',
  DomainRecord: {
    name: 'SenderDomain',
    text: 'A sender domain with its DNS records, and what the last look-up found.',
  },
  DomainList: { name: 'SenderDomainList', text: 'All sender domains of a team.' },
  ResendEmailRequest: 'What of a copy of an email differs from it.',
  RescheduleEmailRequest: 'The new time of a scheduled email.',
  RescheduleEmailResponse: { name: 'RescheduledEmail', text: 'The email with its new time.' },
  CancelEmailResponse: { name: 'CancelledEmail', text: 'The email as it was cancelled.' },
  Timeline: {
    name: 'EmailTimeline',
    text: 'One page of everything that was recorded of an email, in the order of the log.',
  },
  QueueStats: 'What waits to be sent, since when, and how fast it leaves.',
  RetryEmailsRequest: 'Which waiting or failed emails are tried again.',
  RetryEmailsResponse: { name: 'RetriedEmails', text: 'How many emails are tried again, and the cursor of the rest.' },
  Content: { name: 'InlineContent', text: 'The content of an email that has no template.' },
  ChangeApiKeyRequest: 'Changes to an API key; fields that are left out keep their value.',
  MailboxPage: { name: 'MailboxMessageList', text: 'One page of the mails that the built-in mailbox received.' },
  MailboxCleared: 'How many mails were deleted from the built-in mailbox.',
  RegisterRequest: 'A new user.',
  Registered: {
    name: 'RegisteredUser',
    text: 'The user as registered, and whether a mail went out to confirm the address.',
  },
  FollowSignInLinkRequest: 'The token of a one-time link, and the code of a second factor where one is set.',
  LoginRequest: 'Address and password, and the code of a second factor where one is set.',
  RefreshRequest: 'The refresh token; without one, that of the cookie.',
  UserRecord: { name: 'User', text: 'A user, as they see themselves.' },
  GivenTokens: {
    name: 'RefreshedTokens',
    text: 'The next tokens of a session; with cookies, the token against forged calls.',
  },
  GivenSession: { name: 'SignedIn', text: 'The session that a sign-in began, and its tokens.' },
  PrepareSecondFactorRequest: 'The password, which a new second factor needs.',
  PreparedSecondFactor: 'The secret of a new second factor, to be confirmed by a code.',
  ConfirmSecondFactorRequest: 'A code that shows that the app has the secret.',
  RecoveryCodes: 'Codes that replace the second factor, once each.',
  WithCodeRequest: { name: 'PasswordAndCodeRequest', text: 'The password, and a code of the second factor.' },
  ChangePasswordRequest: 'The password as it is, and the new one.',
  SessionRecord: { name: 'Session', text: 'A session of a user: where and when it began, and when it ends.' },
  EraseOwnUserRequest: 'The password, and a code where a second factor is set: the user is erased for good.',
  UpdateUserRequest: 'Changes to the own user.',
  SignInProviders: { name: 'SignInProviderList', text: 'The providers by which people sign in.' },
  BeginIdentityLinkRequest: 'The password, and a code where a second factor is set.',
  BegunIdentityLink: 'Where the person goes on to link an identity.',
  LinkedIdentityRecord: { name: 'LinkedIdentity', text: 'An identity at a provider by which the user signs in.' },
  LinkedIdentities: { name: 'LinkedIdentityList', text: 'The identities by which the user signs in.' },
  Colleague: 'A user, as members of the same team see them.',
  JsonWebKeys: 'The public keys that verify access tokens (RFC 7517).',
  ChangeAddressRequest: 'Another address of the own user, with the password.',
  ConfirmRequest: { name: 'ConfirmAddressRequest', text: 'The token of the link in the mail, with the password.' },
  AddressRequest: { name: 'AskForLinkRequest', text: 'The address of a user, to which a mail with a link goes.' },
  ResetRequest: { name: 'ResetPasswordRequest', text: 'The token of the link in the mail, and the new password.' },
  Done: 'It is done; a message for people.',
  DataSubjectRequest: 'The address whose data is erased or exported.',
  ErasureReceipt: 'How far the erasure of an address has come, and the events that prove it.',
  Tracking: { name: 'TrackingSettings', text: 'Whether opens and clicks are recorded.' },
  TrackingRecord: { name: 'EmailTracking', text: 'The recorded opens and clicks of an email.' },
  FeedbackResponse: { name: 'RecordedFeedback', text: 'What a report about an email said, and what came of it.' },
  ProviderEventsResponse: 'How many events of a provider came in a call, and what became of them.',
  SuppressionRecord: { name: 'Suppression', text: 'An address that is not written to, and why.' },
  AddSuppressionRequest: 'An address that is not to be written to.',
  SuppressionCheck: 'Whether an address is suppressed.',
  SuppressionsImported: {
    name: 'ImportedSuppressions',
    text: 'How many addresses of a file were added, known or invalid.',
  },
  CreateTeamRequest: 'A new team.',
  UpdateTeamRequest: 'Changes to a team; fields that are left out keep their value.',
  TeamRecord: { name: 'Team', text: 'A team with its settings, and the role of the caller in it.' },
  TeamListItem: 'One team in a list.',
  MemberRecord: { name: 'Member', text: 'A person in a team, with their role.' },
  MemberList: 'All members of a team.',
  RemovedMember: 'The person who is out of the team, and the API keys that they made.',
  ChangeMemberRequest: 'Another role of a member.',
  TransferOwnershipRequest: 'The member who becomes the owner.',
  InviteRequest: { name: 'InviteMemberRequest', text: 'The address that is invited, and the role in the team.' },
  InvitationRecord: { name: 'Invitation', text: 'An invitation that is open.' },
  InvitationList: 'All open invitations of a team.',
  AcceptInvitationRequest: 'The token of the link in the mail.',
  AcceptedInvitation: 'The team that the person is in.',
  TeamActivity: 'One change in a team: who changed what, and when.',
  TemplateVersions: { name: 'TemplateVersionList', text: 'The published versions of a template of an email.' },
  AttachmentTemplateVersions: {
    name: 'AttachmentTemplateVersionList',
    text: 'The published versions of an attachment template.',
  },
  DocumentPreviewRequest: 'Variables, language and format for the preview of an attachment template.',
  CreateWebhookRequest: 'A new webhook subscription: where events are posted, and which.',
  UpdateWebhookRequest: 'Changes to a webhook subscription; fields that are left out keep their value.',
  WebhookRecord: { name: 'Webhook', text: 'A webhook subscription, without its secret.' },
  CreatedWebhook: 'A new webhook subscription with its secret, which is shown this once.',
  RotateSecretRequest: {
    name: 'RotateWebhookSecretRequest',
    text: 'How long the old secret of a webhook signs as well.',
  },
  RotatedSecret: {
    name: 'RotatedWebhookSecret',
    text: 'A webhook subscription with its new secret, which is shown this once.',
  },
  WebhookDelivery: 'The newest attempt to post an event.',
  WebhookDeliveries: { name: 'WebhookDeliveryList', text: 'One page of the deliveries of a webhook subscription.' },
  WebhookEvents: { name: 'WebhookEventList', text: 'Events of a webhook subscription, in the order of its chain.' },
  ReplayWebhookRequest: 'The time whose events are sent again.',
  ReplayedWebhook: { name: 'WebhookReplay', text: 'A replay that was begun.' },
  WebhookRetried: { name: 'WebhookRetry', text: 'A delivery that is tried again.' },
};

export type Component = Readonly<{ schema: TSchema; description: string; template?: TemplateKind }>;

const schemas: Readonly<Record<string, unknown>> = Object.assign({}, ...schemaFiles);

const listed: readonly (readonly [string, Component])[] = Object.entries<string | Named>(named).map(
  ([constant, given]) => {
    const { name = constant, text, template } = typeof given === 'string' ? { text: given } : given;
    return [
      name,
      {
        schema: schemas[`${constant}Schema`] as TSchema,
        description: text,
        ...(template === undefined ? {} : { template }),
      },
    ];
  },
);

/** The page of a list has the name of its items: `EmailList` has items of `EmailListItem`. */
const pages: readonly (readonly [string, Component])[] = listed.map(([name, { schema }]) => [
  `${name.replace(/ListItem$/, '')}List`,
  { schema: pageOf(schema), description: `One page of a list; each item is of the kind \`${name}\`.` },
]);

/** The bodies of webhook events. */
const bodies: readonly (readonly [string, Component])[] = webhooks.webhookBodies.map(({ name, when, schema }) => [
  name,
  { schema, description: `${when}.` },
]);

/** By name. Names of pages that no endpoint answers are among them. */
export const components: Readonly<Record<string, Component>> = Object.fromEntries([...pages, ...listed, ...bodies]);
