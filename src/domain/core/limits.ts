/** The table of all limits with their defaults. Each name ends with its unit. */

/** Limits of the JSON of a body. */
const jsonLimits = {
  jsonMembersMax: 520_000,
  /** Distinct names of members. A new name costs far more memory than another member with a known name. */
  jsonNamesMax: 100_000,
  /** A larger body is checked and fingerprinted in a separate process, */
  jsonInlineBytesMax: 256 * 1024,
  /** if it has more quotation marks, commas, backslashes and opening brackets than these. */
  jsonMarksInlineMax: 100_000,
  jsonDepthMax: 64,
};

/** Limits of accounts of people, and how long tokens, links and sessions are valid. */
const peopleLimits = {
  passwordCharsMin: 12,
  passwordCharsMax: 1_024,
  userNameCharsMax: 200,
  /** How long an access token is valid. */
  accessTokenMs: 15 * 60_000,
  /** A session that is not refreshed for this long ends. */
  sessionUnusedMs: 30 * 24 * 3_600_000,
  /** How far the clocks of two processes of the instance may differ. */
  tokenSkewMs: 60_000,
  /** A longer bearer token is refused unread. */
  accessTokenCharsMax: 2_048,
  /** Verified access tokens that are kept in memory. */
  accessTokensKept: 10_000,
  verifyLinkMs: 24 * 3_600_000,
  resetLinkMs: 3_600_000,
  signInLinkMs: 3_600_000,
  changeLinkMs: 24 * 3_600_000,
  recoveryCodes: 10,
  /** A prepared second factor must be confirmed within this time. */
  secondFactorPreparedMs: 3_600_000,
  /** How long the audit log is kept: two years. */
  auditDays: 731,
  /** How long calls of the API are kept in the log of calls; 0: none is logged. */
  requestLogDays: 7,
  /** Calls of one team in the log of calls. The oldest give way. */
  requestLogCallsMax: 100_000,
  /** Most events of the log that one export of the audit log may read to prove its entries. */
  auditExportEventsMax: 2_000_000,
} as const;

/** Limits of templates. */
const templateLimits = {
  templateNameCharsMax: 255,
  templateSlugCharsMax: 100,
  templateDescriptionCharsMax: 2_000,
  templateVariablesMax: 500,
  /** Languages of one template beside its own. */
  templateLanguagesMax: 20,
  /** Texts of one template in each of these languages. */
  templateTextsMax: 2_000,
  /** Members of one object in a template: far more than any field has, and enough for a default value. */
  templateNamesMax: 10_000,
  componentsSavedMax: 200,
  componentsExpandedMax: 500,
  nestingDepthMax: 10,
  loopIterationsMax: 1_000,
  nestedLoopsMax: 3,
  nestedConditionsMax: 5,
  pathSegmentsMax: 20,
};

/** Limits of calculated variables: of the source, and of one evaluation. */
export const defaultExpressionLimits = {
  /** Length of the source. */
  expressionCharsMax: 4_000,
  /** Length of all expressions of a template together. */
  expressionsTotalCharsMax: 100_000,
  /** Nesting of the parsed tree; a chain such as `a.b.c` counts each step. */
  expressionDepthMax: 100,
  /** Operators, calls, accesses, functions, parts of templates, arrays and objects in one expression. */
  expressionOperationsMax: 1_000,
  /** Operations of one evaluation: a sum over 1,000 lines takes about 3,000. `charge` in run.ts says what counts. */
  expressionRunOperationsMax: 25_000,
  /** Length of each text that an expression makes; a cell of a sheet holds no more. */
  expressionTextCharsMax: 32_767,
  /** Items of each array, members of each object that an expression makes. */
  expressionItemsMax: 1_000,
  /**
   * Size of the results of all calculated variables of one call together: characters of text and names, and 8 for each
   * value.
   */
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
  /** Connections of one network: an IPv4 address, or the /64 of an IPv6 address. Trusted proxies have no such bound. */
  networkConnectionsMax: 500,
  /** Requests that wait on one connection while another is answered. A client that sends more loses the connection. */
  pipelinedRequestsMax: 32,
  /** Bytes of answers that were made and are not read yet: of one network, whose next requests get 429, and of all. */
  networkUnsentBytesMax: 64 * 1024 * 1024,
  unsentBytesMax: 256 * 1024 * 1024,
  /** A connection ends whose client reads nothing of an answer for this long. */
  answerSilenceMs: 60_000,
  /** A request must have arrived whole within this time, its headers within the second one. */
  requestArrivalMs: 60_000,
  headersArrivalMs: 20_000,
  ...jsonLimits,
  requestIdCharsMax: 128,
  idempotencyKeyCharsMax: 255,

  ...peopleLimits,

  // One email
  recipientsMax: 50,
  /** Members of the `variables` of a call. They are copied where defaults are filled in. */
  variableNamesMax: 10_000,
  attachmentsMax: 10,
  attachmentSizeBytesMax: 10 * 1024 * 1024,
  attachmentsTotalSizeBytesMax: 25 * 1024 * 1024,
  /**
   * All stored attachments of a team together. They are stored until the email is deleted or archived, generated ones
   * for seven days.
   */
  teamAttachmentBytesMax: 10 * 1024 * 1024 * 1024,
  filenameCharsMax: 255,
  htmlSizeBytesMax: 1024 * 1024,
  /** QR codes and pictures of the gallery that travel inside one mail. */
  inlineImagesMax: 50,
  subjectCharsMax: 998,
  displayNameCharsMax: 320,
  /** Mailboxes of `replyTo`. */
  replyToMax: 10,
  addressOctetsMax: 254,
  localPartOctetsMax: 64,
  tagsMax: 50,
  tagCharsMax: 128,
  customHeadersMax: 50,
  headerNameCharsMax: 76,
  headerValueCharsMax: 998,
  /** `References` of a call; of more than `headerValueCharsMax` those in the middle are left out. */
  referencesCharsMax: 32_000,
  metadataSizeBytesMax: 64 * 1024,
  /** How many metadata keys of an email lists find, and the longest key and value that they find. */
  metadataKeysFoundMax: 50,
  metadataKeyFoundCharsMax: 128,
  metadataValueFoundCharsMax: 255,
  /** Metadata filters of one list request. */
  metadataFiltersMax: 10,
  scheduledAheadDaysMax: 365,
  /** Emails of one call that sends several. */
  callEmailsMax: 100,
  /** Documents that are generated, and files that are fetched from addresses, for all emails of such a call. */
  callFilesMax: 100,
  /** Sends of a team that wait for a person's approval, and for how long each waits. */
  openApprovalsMax: 100,
  approvalHours: 24,
  bulkRecipientsMax: 1_000,
  /** Pairs of locale and time zone in one bulk send; the template is compiled for each pair. */
  bulkLanguagesMax: 100,
  /** JSON of the variables of one recipient. */
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

  // The work of one call: one budget, charged while the work is done
  /** Characters of values that are written out; a mail at its largest takes about seven times its HTML. */
  workCharsMax: 8 * 1024 * 1024,
  /**
   * Tags and placeholders in the HTML of a template, and cells that are written out; attributes, entities and
   * declarations count a quarter.
   */
  workElementsMax: 5_000,
  /** Operations of all calculated variables together. */
  workOperationsMax: 100_000,
  /** Modules of all QR codes of a mail together. */
  workModulesMax: 150_000,

  // Fetches from addresses that callers and authors give
  outboundUrlCharsMax: 2_048,
  outboundSizeBytesMax: 10 * 1024 * 1024,
  outboundTimeoutMs: 10_000,
  outboundRedirectsMax: 3,

  // The gallery
  assetSizeBytesMax: 10 * 1024 * 1024,
  /** Total size of all assets of a team. */
  assetStorageBytesMax: 1024 * 1024 * 1024,
  assetsMax: 10_000,
  /** Uploads under way at once, each of which may hold a whole file in memory: of all teams, and of one. */
  uploadsAtOnceMax: 16,
  teamUploadsAtOnceMax: 4,

  // Reports that a host pipes in: under way at once, and waiting for their turn, in one process
  reportsAtOnceMax: 8,
  reportsWaitingMax: 512,
  teamReportsWaitingMax: 256,
  // Calls of providers with events: bytes of one; how many are recorded at once, and how many are read or wait, of all
  // networks and of one, in one process
  providerCallBytesMax: 1024 * 1024,
  providerCallsAtOnceMax: 16,
  networkProviderCallsAtOnceMax: 12,
  providerCallsMax: 512,
  networkProviderCallsMax: 256,

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
  /** Columns of one table, and so of one sheet. */
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
  /** A preview whose rendering takes more than this part (1/8) of the budget of a call goes there too. */
  previewInlineShare: 8,
  previewTimeoutMs: 30_000,
  /** For drawing one SVG as PNG for a mail, and for trying an uploaded font. */
  svgTimeoutMs: 10_000,
  /**
   * Documents made at once: at least two, and fewer on a machine with few cores. One team cannot take all processes.
   */
  generatorProcessesMax: 3,
  /** Documents of all teams that wait for a process. */
  generatorQueueMax: 32,
  /** How long a document waits for a process. */
  generatorQueueWaitMs: 30_000,
  /** Memory of one document process beyond that of the program itself. */
  generatorMemoryMbMax: 512,
  /** An idle process ends after this time. */
  generatorIdleMs: 60_000,
  /** How long one process is kept ready after the last document or change of an attachment template; 0: not at all. */
  generatorReadyMs: 24 * 60 * 60_000,

  // Lists
  pageSizeMax: 100,
  pageSizeDefault: 20,
  searchCharsMax: 200,
  /** The hits of a search are counted up to this number for the total of its list. */
  searchTotalMax: 1_000,
  listTotalMax: 10_000,
  bulkDeleteIdsMax: 1_000,

  // Analytics
  /**
   * Templates, and tags, of a team that have their own row for one day. Changing it needs a rebuild of the read model.
   */
  summaryRowsMax: 200,
  /** Most days of one range: five years. */
  analyticsDaysMax: 1_827,
  /** Most points of one time series, and most days of a range for lists of templates or tags. */
  analyticsPointsMax: 366,

  // The SMTP server of the return path; each process counts for itself
  inboundSmtpSizeBytesMax: 50 * 1024 * 1024,
  inboundSmtpConnectionsMax: 200,
  /** Per network: an IPv4 address, or the /64 of an IPv6 address. A relay sends all its reports from one network. */
  inboundSmtpNetworkConnectionsMax: 20,
  inboundSmtpNetworkConnectionsPerMinuteMax: 240,
  inboundSmtpNetworkCommandsPerMinuteMax: 6_000,
  inboundSmtpNetworkMessagesPerMinuteMax: 600,
  /** RFC 5321, section 4.5.3.2.7. */
  inboundSmtpSilenceMs: 5 * 60_000,
  inboundSmtpSessionMs: 10 * 60_000,
  inboundSmtpCloseMs: 2_000,

  // The SMTP servers of submission; each process counts for itself
  /** As large as 25 MB of attachments in base64, with a text. */
  submissionSizeBytesMax: 36 * 1024 * 1024,
  submissionConnectionsMax: 500,
  submissionNetworkConnectionsMax: 200,
  submissionNetworkConnectionsPerMinuteMax: 6_000,
  submissionNetworkCommandsPerMinuteMax: 120_000,
  /** Messages that arrive at once, together. One team has half of it. */
  submissionMemoryBytesMax: 256 * 1024 * 1024,
  submissionSilenceMs: 5 * 60_000,
  submissionMessageMs: 10 * 60_000,
  submissionSessionMs: 60 * 60_000,
  submissionCloseMs: 2_000,

  // Keys
  apiKeyNameCharsMax: 255,
  apiKeyRateLimitMax: 10_000_000,
  apiKeyNetworksMax: 50,
  apiKeyUsedEveryMs: 5 * 60_000,
  /**
   * Longest chain of keys that made each other, from the operator to a key. Each key of the chain is checked when the
   * key is used.
   */
  apiKeyMakersMax: 8,

  // Teams
  teamNameCharsMax: 255,
  companyFieldCharsMax: 320,
  /** The pages of the service carry the logo of a team inside of them. */
  brandLogoSizeBytesMax: 262_144,
  /** Teams that one person owns, including deleted ones that can be restored. */
  teamsOwnedMax: 50,
  teamMembersMax: 1_000,
  teamInvitationsMax: 100,
  invitationDays: 7,
  /** For how long a deleted team can be restored. */
  teamRestoreDays: 30,

  /** Blocks of one team, those that are deleted aside. */
  templateBlocksMax: 500,

  /** Webhook subscriptions of one team whose plan allows more, or that has no plan. */
  webhooksMax: 100,

  // Sender domains of one team
  senderDomainsMax: 100,
  /** Domains that the daily check looks up at once. */
  senderDomainsCheckedAtOnce: 10,

  // Log
  eventPayloadInlineBytesMax: 256 * 1024,
  ledgerSealEveryEvents: 10_000,
  ledgerSealEveryMs: 60_000,
  /** A key, team, template or slug from memory is at most this old. */
  stateFreshnessMs: 1_000,

  // Work
  lanes: 64,
  busPointersMax: 4_096,
  deliveryDeadlineMs: 10 * 60_000,
  /** A mail fails when its host has refused sessions for this long. */
  bounceAlertPerMille: 50,
  complaintAlertPerMille: 3,
  rateAlertRecipientsMin: 200,
  hostAwayHoursMax: 72,
  /** Emails of one team that are queued or in delivery. */
  queueWaitingMax: 200_000,
  /** Events of streams that wait for their next step or had one just now, decrypted and kept in memory. */
  hotBytesMax: 4 * 1024 * 1024,
  mailboxMessagesMax: 1_000,
  shutdownDeadlineMs: 30_000,
  /**
   * After a stop signal the service serves for this long while health says `stopping`, so that load balancers notice.
   */
  stopNoticeMs: 0,
} as const;

/** The limits in force, made from the defaults and the settings. */
export type Limits = { readonly [Name in keyof typeof defaultLimits]: number };
