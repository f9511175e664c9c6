/** The one table of every bound, with its default. Units stand last in the names. */

/* The bounds of the JSON of a body. */

const jsonLimits = {
  jsonMembersMax: 520_000,
  /** Names of members that differ from each other: each costs far more than a member of a name that stands there already. */
  jsonNamesMax: 100_000,
  /** A body of more members is checked and fingerprinted in a process of its own. */
  jsonMembersInlineMax: 50_000,
  /** So is one whose names of members have more bytes together. */
  jsonNameBytesInlineMax: 1024 * 1024,
  jsonDepthMax: 64,
};

/* The bounds of what people do to their accounts, and how long what they are given is good. */

const peopleLimits = {
  passwordCharsMin: 12,
  passwordCharsMax: 1_024,
  userNameCharsMax: 200,
  /** An access token is good for so long, and a session ends where it was not refreshed for so long. */
  accessTokenMs: 15 * 60_000,
  sessionUnusedMs: 30 * 24 * 3_600_000,
  /** How far the clock of another process of the instance may be from ours. */
  tokenSkewMs: 60_000,
  /** A longer bearer token is none of ours. */
  accessTokenCharsMax: 2_048,
  /** Access tokens that were checked and need not be checked again. */
  accessTokensKept: 10_000,
  verifyLinkMs: 24 * 3_600_000,
  resetLinkMs: 3_600_000,
  changeLinkMs: 24 * 3_600_000,
  recoveryCodes: 10,
  /** A second factor that was prepared is confirmed within that time. */
  secondFactorPreparedMs: 3_600_000,
  /** How long the audit log is kept: two years. */
  auditDays: 731,
  /** Events of the log among which one export of the audit log proves its entries. */
  auditExportEventsMax: 2_000_000,
} as const;

/* The bounds of what authors write into templates. */

const templateLimits = {
  templateNameCharsMax: 255,
  templateSlugCharsMax: 100,
  templateDescriptionCharsMax: 2_000,
  templateVariablesMax: 500,
  /** Other languages of one template, and its texts in each of them. */
  templateLanguagesMax: 20,
  templateTextsMax: 2_000,
  /** Names of one object that stands in a template: far more than any of its fields knows, and enough for a default value. */
  templateNamesMax: 10_000,
  componentsSavedMax: 200,
  componentsExpandedMax: 500,
  nestingDepthMax: 10,
  loopIterationsMax: 1_000,
  nestedLoopsMax: 3,
  nestedConditionsMax: 5,
  pathSegmentsMax: 20,
};

/* The bounds of calculated variables: what an author may write, and what one evaluation may do. */

export const defaultExpressionLimits = {
  /** Length of the source. */
  expressionCharsMax: 4_000,
  /** Length of all expressions of a template together. */
  expressionsTotalCharsMax: 100_000,
  /** Nesting of the parsed tree; a chain such as `a.b.c` counts each step. */
  expressionDepthMax: 100,
  /** What is written in one expression: operators, calls, accesses, functions, parts of templates, arrays and objects. */
  expressionOperationsMax: 1_000,
  /** What one evaluation may do, which goes over its data: a sum over 1,000 lines is some 3,000. `charge` in run.ts says what counts. */
  expressionRunOperationsMax: 25_000,
  /** Length of each text that an expression makes; also the most that a cell of a sheet holds. */
  expressionTextCharsMax: 32_767,
  /** Items of each array, members of each object that an expression makes. */
  expressionItemsMax: 1_000,
  /** Size of the results of all calculated variables of one call together: characters of text and names, and 8 for each value. */
  expressionResultsCharsMax: 1_000_000,
  /** Nesting of a result. */
  expressionResultDepthMax: 64,
} as const;

export type ExpressionLimits = { readonly [Name in keyof typeof defaultExpressionLimits]: number };

export const defaultLimits = {
  // Requests
  bodySizeBytesMax: 10 * 1024 * 1024,
  urlSizeBytesMax: 8 * 1024,
  headerSizeBytesMax: 16 * 1024,
  /** Connections of all clients together; one more is refused. */
  connectionsMax: 2_000,
  /** A request must have arrived whole within this time, its headers within the second one. */
  requestArrivalMs: 60_000,
  headersArrivalMs: 20_000,
  ...jsonLimits,
  requestIdCharsMax: 128,
  idempotencyKeyCharsMax: 255,

  ...peopleLimits,

  // One email
  recipientsMax: 50,
  attachmentsMax: 10,
  attachmentSizeBytesMax: 10 * 1024 * 1024,
  attachmentsTotalSizeBytesMax: 25 * 1024 * 1024,
  /** Of all attachments that the emails of a team keep: until the email is deleted or archived, generated ones for seven days. */
  teamAttachmentBytesMax: 10 * 1024 * 1024 * 1024,
  filenameCharsMax: 255,
  htmlSizeBytesMax: 1024 * 1024,
  /** QR codes and pictures of the gallery that travel inside one mail. */
  inlineImagesMax: 50,
  subjectCharsMax: 998,
  displayNameCharsMax: 320,
  addressOctetsMax: 254,
  localPartOctetsMax: 64,
  tagsMax: 50,
  tagCharsMax: 128,
  customHeadersMax: 50,
  headerNameCharsMax: 76,
  headerValueCharsMax: 998,
  metadataSizeBytesMax: 64 * 1024,
  /** What lists find of metadata: so many keys, of that length, with values of that length. */
  metadataKeysFoundMax: 50,
  metadataKeyFoundCharsMax: 128,
  metadataValueFoundCharsMax: 255,
  /** How many of them one list is filtered by. */
  metadataFiltersMax: 10,
  scheduledAheadDaysMax: 365,
  /** Of one bulk send, and the JSON of the variables of one of its recipients. */
  bulkRecipientsMax: 1_000,
  /** Of one bulk send: pairs of locale and time zone, for each of which its template is compiled. */
  bulkLanguagesMax: 100,
  bulkRecipientVariablesBytesMax: 100 * 1024,
  batchNameCharsMax: 255,
  /** Age at which the log of an email is archived and its key destroyed. */
  retentionDays: 30,
  /** For how long the record of an archived email, or of a bulk send, is kept: five years. */
  archiveDays: 1_826,
  /** How long templates, assets, webhook subscriptions and sender domains that were deleted can be restored. */
  restoreDays: 30,
  /** How long records of webhook deliveries are kept. */
  webhookRecordDays: 30,

  ...templateLimits,
  ...defaultExpressionLimits,

  // The work of one call, taken from one budget while it is done
  /** Characters of values that are written out; a mail at its largest takes about seven times its HTML. */
  workCharsMax: 8 * 1024 * 1024,
  /** Tags and placeholders in the HTML of a template, and cells that are written out; attributes, entities and declarations count a quarter. */
  workElementsMax: 5_000,
  /** Operations of all calculated variables together. */
  workOperationsMax: 100_000,
  /** Modules of all QR codes of a mail together. */
  workModulesMax: 150_000,

  // What is fetched from addresses that callers and authors give
  outboundUrlCharsMax: 2_048,
  outboundSizeBytesMax: 10 * 1024 * 1024,
  outboundTimeoutMs: 10_000,
  outboundRedirectsMax: 3,

  // The gallery
  assetSizeBytesMax: 10 * 1024 * 1024,
  /** Of all assets of a team together. */
  assetStorageBytesMax: 1024 * 1024 * 1024,
  assetsMax: 10_000,
  /** Uploads under way at once, each of which may hold a whole file in memory: of all teams, and of one. */
  uploadsAtOnceMax: 16,
  teamUploadsAtOnceMax: 4,

  // Documents
  /** How long a generated document is kept, counted from when its email is due. */
  generatedFileDays: 7,
  /** How long a file is kept that stands for nothing lasting: one whose writing was cut off. */
  temporaryFileHours: 24,
  pdfPagesMax: 30,
  pdfImagesMax: 50,
  /** Rows of data in all tables of a workbook; their headers and footers do not count. */
  excelRowsMax: 10_000,
  excelSheetsMax: 10,
  /** Of one table, and so of one sheet. */
  excelColumnsMax: 50,
  excelCellCharsMax: 32_767,
  documentSizeBytesMax: 7 * 1024 * 1024,
  /** All texts of a document together, before they are laid out. */
  documentTextCharsMax: 20_000_000,
  /** Rows, items and points that the data sources of a document give, all of them together. */
  documentItemsMax: 10_000,
  /** All pictures of a document together, and how long they may take to come. */
  documentImagesSizeBytesMax: 25 * 1024 * 1024,
  documentImagesTimeoutMs: 30_000,
  pdfTimeoutMs: 60_000,
  excelTimeoutMs: 120_000,
  /** A preview of an email whose template and variables have more characters is rendered in a document process. */
  previewInlineCharsMax: 32 * 1024,
  /** So is one whose rendering takes more than one such part of the budget of a call. */
  previewInlineShare: 8,
  previewTimeoutMs: 30_000,
  /** The drawing of one SVG as PNG, for a mail; and the trial of a font that is uploaded. */
  svgTimeoutMs: 10_000,
  /** Documents that are made at once, at least two; fewer where the machine has fewer cores to spare. No team has the last one. */
  generatorProcessesMax: 3,
  /** Documents of all teams that wait for a process, and for how long. */
  generatorQueueMax: 32,
  generatorQueueWaitMs: 30_000,
  /** Of one document process, beyond what the program itself takes. */
  generatorMemoryMbMax: 512,
  /** After which an idle process ends. */
  generatorIdleMs: 60_000,
  /** How long after the last document, and the last change of an attachment template, a process stands ready for the next one; 0: never. */
  generatorReadyMs: 24 * 60 * 60_000,

  // Lists
  pageSizeMax: 100,
  pageSizeDefault: 20,
  searchCharsMax: 200,
  /** How far the hits of a search are counted for the total of its list. */
  searchTotalMax: 1_000,
  listTotalMax: 10_000,
  bulkDeleteIdsMax: 1_000,

  // Analytics
  /** Templates, and tags, of a team that are counted by name on one day. What is stored depends on it: another bound needs a rebuild. */
  summaryRowsMax: 200,
  /** Days of one range: five years. */
  analyticsDaysMax: 1_827,
  /** Points of one time series, and days of a range whose templates or tags are listed. */
  analyticsPointsMax: 366,

  // The SMTP server of the return path, in one process
  inboundSmtpSizeBytesMax: 50 * 1024 * 1024,
  inboundSmtpConnectionsMax: 200,
  /** Of one network: an address, or the /64 of an IPv6 address. A relay sends all that it reports from one. */
  inboundSmtpNetworkConnectionsMax: 20,
  inboundSmtpNetworkConnectionsPerMinuteMax: 240,
  inboundSmtpNetworkCommandsPerMinuteMax: 6_000,
  inboundSmtpNetworkMessagesPerMinuteMax: 600,
  /** RFC 5321, section 4.5.3.2.7. */
  inboundSmtpSilenceMs: 5 * 60_000,
  inboundSmtpSessionMs: 10 * 60_000,
  inboundSmtpCloseMs: 2_000,

  // Keys
  apiKeyNameCharsMax: 255,
  apiKeyRateLimitMax: 10_000_000,
  apiKeyNetworksMax: 50,
  apiKeyUsedEveryMs: 5 * 60_000,
  /** How many keys stand between a key and the operator: each of them is looked at when the key is used. */
  apiKeyMakersMax: 8,

  // Teams
  teamNameCharsMax: 255,
  companyFieldCharsMax: 320,
  /** How many one person owns, those included that can be restored. */
  teamsOwnedMax: 50,
  teamMembersMax: 1_000,
  teamInvitationsMax: 100,
  invitationDays: 7,
  /** For how long a deleted team can be restored. */
  teamRestoreDays: 30,

  // Sender domains of one team
  senderDomainsMax: 100,
  /** Looked up at once by the daily check. */
  senderDomainsCheckedAtOnce: 10,

  // Log
  eventPayloadInlineBytesMax: 256 * 1024,
  ledgerSealEveryEvents: 10_000,
  ledgerSealEveryMs: 60_000,
  /** How old a key, a team, a template or a slug may be that is served from memory. */
  stateFreshnessMs: 1_000,

  // Work
  lanes: 64,
  busPointersMax: 4_096,
  deliveryDeadlineMs: 10 * 60_000,
  /** How long a mail waits for a host that takes no sessions, before it fails. */
  hostAwayHoursMax: 72,
  /** Emails of one team that are queued or in delivery. */
  queueWaitingMax: 200_000,
  mailboxMessagesMax: 1_000,
  shutdownDeadlineMs: 30_000,
  /** How long a service that is told to stop goes on as before, except that health says so: for balancers that ask now and then. */
  stopNoticeMs: 0,
} as const;

/** The bounds in force; config.ts makes them from the defaults and the settings. */
export type Limits = { readonly [Name in keyof typeof defaultLimits]: number };

/** The limits that a setting may change (`SEALPOST_LIMIT_…`): those that are read where the work is done, not in a schema. */
export const configurableLimits = [
  'bodySizeBytesMax',
  'urlSizeBytesMax',
  'headerSizeBytesMax',
  'connectionsMax',
  'jsonMembersMax',
  'jsonNamesMax',
  'jsonMembersInlineMax',
  'jsonNameBytesInlineMax',
  'jsonDepthMax',
  'recipientsMax',
  'attachmentsMax',
  'attachmentSizeBytesMax',
  'attachmentsTotalSizeBytesMax',
  'teamAttachmentBytesMax',
  'htmlSizeBytesMax',
  'inlineImagesMax',
  'assetSizeBytesMax',
  'assetStorageBytesMax',
  'assetsMax',
  'uploadsAtOnceMax',
  'teamUploadsAtOnceMax',
  'metadataSizeBytesMax',
  'scheduledAheadDaysMax',
  'customHeadersMax',
  'templateVariablesMax',
  'templateLanguagesMax',
  'templateTextsMax',
  'templateNamesMax',
  'bulkLanguagesMax',
  'componentsSavedMax',
  'componentsExpandedMax',
  'nestingDepthMax',
  'loopIterationsMax',
  'nestedLoopsMax',
  'nestedConditionsMax',
  'workCharsMax',
  'workElementsMax',
  'workOperationsMax',
  'workModulesMax',
  'pdfPagesMax',
  'pdfImagesMax',
  'excelRowsMax',
  'excelSheetsMax',
  'excelColumnsMax',
  'documentSizeBytesMax',
  'documentTextCharsMax',
  'documentItemsMax',
  'documentImagesSizeBytesMax',
  'documentImagesTimeoutMs',
  'pdfTimeoutMs',
  'excelTimeoutMs',
  'previewInlineCharsMax',
  'previewTimeoutMs',
  'generatorProcessesMax',
  'generatorQueueMax',
  'generatorQueueWaitMs',
  'generatorMemoryMbMax',
  'generatorIdleMs',
  'generatorReadyMs',
  'searchTotalMax',
  'listTotalMax',
  'ledgerSealEveryEvents',
  'ledgerSealEveryMs',
  'stateFreshnessMs',
  'lanes',
  'busPointersMax',
  'deliveryDeadlineMs',
  'hostAwayHoursMax',
  'queueWaitingMax',
  'mailboxMessagesMax',
  'shutdownDeadlineMs',
  'stopNoticeMs',
  'inboundSmtpSizeBytesMax',
  'inboundSmtpConnectionsMax',
  'inboundSmtpNetworkConnectionsMax',
  'inboundSmtpNetworkConnectionsPerMinuteMax',
  'inboundSmtpNetworkCommandsPerMinuteMax',
  'inboundSmtpNetworkMessagesPerMinuteMax',
  'inboundSmtpSilenceMs',
  'inboundSmtpSessionMs',
] as const satisfies readonly (keyof Limits)[];
