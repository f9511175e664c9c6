/** Passwords, kept by a function that is slow and needs much memory. */

export type Passwords = Readonly<{
  /**
   * In: a password in its normal form. Out: what is kept of it. Rejects with RATE_LIMIT_EXCEEDED where too many wait.
   */
  hash: (password: string) => Promise<string>;
  /**
   * Whether it is the password; undefined: there is none to compare with, which takes as long and is false. Rejects as
   * `hash`.
   */
  verify: (hash: string | undefined, password: string) => Promise<boolean>;
  /** Whether what is kept was made with other parameters than those of today. */
  isOutdated: (hash: string) => boolean;
  /** Whether the password is one of those that are tried first. */
  isCommon: (password: string) => boolean;
}>;
