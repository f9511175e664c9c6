/** The bounds of what people do to their accounts, and how long what they are given is good. */

export const peopleLimits = {
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
