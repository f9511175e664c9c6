/** Detects the media type of a file from its bytes alone. */

export type MediaTypes = Readonly<{
  /**
   * The media type that the signature of the bytes shows, or undefined where they have none, as texts. Damaged bytes
   * have none either.
   */
  of: (bytes: Uint8Array) => Promise<string | undefined>;
}>;
