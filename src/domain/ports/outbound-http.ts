/** Requests to addresses that a caller or an author gave: guarded against reaching what is not public. */
import type { TeamId } from '../core/ids.js';

export type Fetched = Readonly<{
  bytes: Uint8Array;
  /** The media type that the server said, without parameters, in lower case; undefined where it said none. */ contentType:
    string | undefined;
}>;

/** Why nothing came: each has a sentence of its own for the caller. */
export type FetchFault =
  | 'busy'
  | 'address-not-allowed'
  | 'too-many-redirects'
  | 'too-large'
  | 'timeout'
  | 'status'
  | 'unreachable'
  | 'not-http';

export class OutboundFault extends Error {
  override readonly name = 'OutboundFault';
  readonly fault: FetchFault;
  /** `detail` tells the caller more (a status, a bound) and nothing about our network. */
  constructor(fault: FetchFault, detail: string) {
    super(detail);
    this.fault = fault;
  }
}

export type OutboundHttp = Readonly<{
  /**
   * GET over http or https. The address that is really connected to is checked, on each redirect anew; bounded in
   * redirects, bytes (of the decoded body) and time. Few run at once: teams take turns, and the time counts while one
   * waits. Rejects with OutboundFault.
   */
  get: (
    url: string,
    options: Readonly<{
      teamId: TeamId;
      sizeBytesMax: number;
      timeoutMs: number;
      redirectsMax: number;
      accept?: string;
      signal: AbortSignal;
    }>,
  ) => Promise<Fetched>;
  close: () => Promise<void>;
}>;

/** Answer of a receiver. `body`: the beginning of it, at most as long as was asked for. */
export type Posted = Readonly<{ status: number; retryAfter: string | undefined; body: string }>;

export type OutboundPost = Readonly<{
  /**
   * POST over https, to public addresses alone: judged when it connects, the certificate verified, no redirect
   * followed; to hosts of the operator's choice also over http and on loopback. The time counts from the call to the
   * end of the answer, of which no more is read than `answerBytesMax` and a little. Calls of one `sender` share
   * connections, and no others do. Rejects with OutboundFault.
   */
  post: (
    url: string,
    options: Readonly<{
      sender: string;
      headers: Readonly<Record<string, string>>;
      body: string;
      answerBytesMax: number;
      timeoutMs: number;
      signal: AbortSignal;
    }>,
  ) => Promise<Posted>;
  /** Ends the connections of a sender. */
  forget: (sender: string) => void;
  close: () => Promise<void>;
}>;
