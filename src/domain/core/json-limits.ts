/** The bounds of the JSON of a body. */

export const jsonLimits = {
  jsonMembersMax: 520_000,
  /** Names of members that differ from each other: each costs far more than a member of a name that stands there already. */
  jsonNamesMax: 100_000,
  /** A body of more members is checked and fingerprinted in a process of its own. */
  jsonMembersInlineMax: 50_000,
  /** So is one whose names of members have more bytes together. */
  jsonNameBytesInlineMax: 1024 * 1024,
  jsonDepthMax: 64,
};
