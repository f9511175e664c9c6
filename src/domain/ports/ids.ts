/** Fresh identifiers and secrets; the only source of randomness outside the sealing of data. */

export type Ids = Readonly<{
  /** A UUIDv7 (RFC 9562): time-ordered, so that new streams lie side by side in the store. */
  uuid: () => string;
  /** `sizeBytes` bytes from the system's generator. */
  bytes: (sizeBytes: number) => Buffer;
}>;
