/** Looks up names by Node's resolver, which asks the servers of the system or those that are given. */
import { Resolver } from 'node:dns/promises';
import type { Dns } from '../../domain/ports/dns.js';

/** `servers`: addresses, with a port if it is not 53; empty for those of the system. */
type ResolverOptions = Readonly<{ servers: readonly string[]; timeoutMs?: number; tries?: number }>;

const TIMEOUT_MS = 3_000;
const TRIES = 2;
/** Further records of a name are ignored. */
const RECORDS_MAX = 100;

/** Codes that say that there is no such record. */
const NOTHING: readonly string[] = ['ENODATA', 'ENOTFOUND'];

export const openResolver = ({ servers, timeoutMs = TIMEOUT_MS, tries = TRIES }: ResolverOptions): Dns => {
  // Each look-up has a resolver of its own, because `cancel` ends all look-ups of a resolver.
  const open = (): Resolver => {
    const resolver = new Resolver({ timeout: timeoutMs, tries });
    if (servers.length > 0) resolver.setServers(servers);
    return resolver;
  };
  const lookUp = async <Answer extends Readonly<{ kind: 'found' }>>(
    signal: AbortSignal,
    ask: (resolver: Resolver) => Promise<Answer | undefined>,
  ): Promise<Answer | Readonly<{ kind: 'none' | 'failed' }>> => {
    if (signal.aborted) return { kind: 'failed' };
    const resolver = open();
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return (await ask(resolver)) ?? { kind: 'none' };
    } catch (fault) {
      return {
        kind: fault instanceof Error && 'code' in fault && NOTHING.includes(String(fault.code)) ? 'none' : 'failed',
      };
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
  return {
    txt: (name, signal) => lookUp(signal, async (resolver) => textsOf(await resolver.resolveTxt(name))),
    mx: (name, signal) => lookUp(signal, async (resolver) => mxHostsOf(await resolver.resolveMx(name))),
    cname: (name, signal) => lookUp(signal, async (resolver) => hostsOf(await resolver.resolveCname(name))),
  };
};

const textsOf = (records: readonly (readonly string[])[]) =>
  records.length === 0
    ? undefined
    : { kind: 'found' as const, texts: records.slice(0, RECORDS_MAX).map((parts) => parts.join('')) };

const mxHostsOf = (records: readonly Readonly<{ exchange: string }>[]) =>
  hostsOf(records.map(({ exchange }) => exchange));

const hostsOf = (names: readonly string[]) =>
  names.length === 0
    ? undefined
    : {
        kind: 'found' as const,
        hosts: names.slice(0, RECORDS_MAX).map((name) => name.toLowerCase().replace(/\.$/, '')),
      };
