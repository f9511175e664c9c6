/** How the commands end that look for faults. Every other command ends with 0, or with 1 where it could not do what it was asked for. */
export const exitCodes = {
  /** Nothing is wrong. */
  sound: 0,
  /** The command could not finish: what it found so far is not all. */
  unfinished: 1,
  /** Something is damaged or missing. */
  damaged: 2,
  /** The log, or a seal over it, is not what was written. */
  tampered: 3,
} as const;
