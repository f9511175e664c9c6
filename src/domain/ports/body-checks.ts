/** Large bodies, checked in a process of their own, so that they neither hold the event loop nor fill its memory. */
import type { ErrorCode, ErrorDetails } from '../core/errors.js';

/** Crosses to the process as plain data. */
export type BodyToCheck = Readonly<{
  bytes: Uint8Array;
  /** The JSON schema of the body. */
  schema: unknown;
  /** The canonical form is wanted. */
  isIdempotent: boolean;
}>;

export type CheckedBody = Readonly<{
  kind: 'checked';
  /** The text to parse, in UTF-8: without names that are written with an escape, where the body has such. */
  plain?: Uint8Array;
  /** RFC 8785, in UTF-8. */
  canonical?: Uint8Array;
}>;
export type BodyCheckAnswer =
  CheckedBody | Readonly<{ kind: 'refused'; code: ErrorCode; message: string; details: ErrorDetails }>;

export type BodyChecks = Readonly<{
  /**
   * Rejects with DomainError: what is wrong with the body, JSON_TOO_COMPLEX where it takes too much memory or time to
   * be read, TOO_MANY_LARGE_BODIES where too many others are being read.
   */
  check: (body: BodyToCheck, team: string) => Promise<CheckedBody>;
  close: () => Promise<void>;
}>;
