/** Requests to addresses that a caller or an author gave: guarded against reaching what is not public. */
import type { TeamId } from '../ids.js';

export type Fetched = Readonly<{
  bytes: Uint8Array;
  /** The media type that the server said, without parameters, in lower case; undefined where it said none. */ contentType:
    string | undefined;
}>;

/** Why nothing came: each has a sentence of its own for the caller. */
export type FetchFault =
  'busy' | 'address-not-allowed' | 'too-many-redirects' | 'too-large' | 'timeout' | 'status' | 'unreachable' | 'not-http';

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
   * GET over http or https. The address that is really connected to is checked, on each redirect anew; bounded in redirects,
   * bytes (of the decoded body) and time. Few run at once: teams take turns, and the time counts while one waits. Rejects with OutboundFault.
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
