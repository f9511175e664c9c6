/** Looks up names in the DNS. */

/**
 * `found`: the texts of all TXT records of the name, each put together of its strings. `none`: the name, or records of
 * that type, do not exist. `failed`: no server answered in time, or none that could; nothing is known then.
 */
export type TxtLookup = Readonly<{ kind: 'found'; texts: readonly string[] }> | Readonly<{ kind: 'none' | 'failed' }>;

/** Result of an MX or CNAME lookup: the names of the hosts in lower case, without a dot at the end. */
export type HostLookup = Readonly<{ kind: 'found'; hosts: readonly string[] }> | Readonly<{ kind: 'none' | 'failed' }>;

export type Dns = Readonly<{
  /** Never rejects for what servers answer. Ends with `failed` where the signal aborts. */
  txt: (name: string, signal: AbortSignal) => Promise<TxtLookup>;
  mx: (name: string, signal: AbortSignal) => Promise<HostLookup>;
  /** The name that this name stands for. */
  cname: (name: string, signal: AbortSignal) => Promise<HostLookup>;
}>;
