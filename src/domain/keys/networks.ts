/**
 * Networks in CIDR notation: read, brought into one form, and asked whether an address lies in one. IPv4 inside IPv6
 * (`::ffff:192.0.2.1`) is IPv4.
 */

/** 4 or 16 bytes. */
type Address = readonly number[];

type Network = Readonly<{ bytes: Address; bits: number }>;

type ReadNetwork = Readonly<{ ok: true; network: string }> | Readonly<{ ok: false; reason: string }>;

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

const IPV6 = /^[0-9a-f:.]{2,45}$/i;

const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

const MAPPED_BITS = 96;

/** Parsed lists of networks: each call by a key with networks checks the same list again. */
const parsed = new WeakMap<readonly string[], readonly Network[]>();

/**
 * In: a network as it is typed, `192.0.2.0/24` or an address alone. Out: the form in which API keys store it, or what
 * is wrong with it.
 */
export const readNetwork = (typed: string): ReadNetwork => {
  const network = networkOf(typed);
  if (network === undefined)
    return { ok: false, reason: 'is no network; give CIDR such as 192.0.2.0/24 or 2001:db8::/32, or one address' };
  const first = { ...network, bytes: network.bytes.map((_, index) => within(network.bytes, network.bits, index)) };
  const text = textOf(first);
  return textOf(network) !== text
    ? { ok: false, reason: `names an address inside its network; the network is ${text}` }
    : { ok: true, network: text };
};

/** Whether an address, as a socket or a proxy gives it, lies in one of the networks of a key. */
export const isFrom = (networks: readonly string[], address: string): boolean => {
  const bytes = addressOf(address);
  return bytes !== undefined && parsedOf(networks).some((network) => contains(network, bytes));
};

/** The networks of the first list that lie in no single network of the second. */
export const outside = (networks: readonly string[], bounds: readonly string[]): readonly string[] =>
  networks.filter((text) => {
    const network = networkOf(text);
    return (
      network === undefined ||
      !parsedOf(bounds).some((bound) => bound.bits <= network.bits && contains(bound, network.bytes))
    );
  });

const parsedOf = (networks: readonly string[]): readonly Network[] => {
  const known = parsed.get(networks);
  if (known !== undefined) return known;
  // A network that cannot be read, as one that a later program stored, contains no address.
  const read = networks.flatMap((text) => networkOf(text) ?? []);
  parsed.set(networks, read);
  return read;
};

const networkOf = (text: string): Network | undefined => {
  const [, address = '', prefix] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const bytes = bytesOf(address);
  if (bytes === undefined) return undefined;
  const bits = prefix === undefined ? bytes.length * 8 : Number(prefix);
  if (bits > bytes.length * 8) return undefined;
  return isMapped(bytes) && bits >= MAPPED_BITS
    ? { bytes: bytes.slice(12), bits: bits - MAPPED_BITS }
    : { bytes, bits };
};

/** An address as a socket or a proxy gives it; the zone of a link-local one does not count. */
const addressOf = (text: string): Address | undefined => {
  const bytes = bytesOf(text.split('%', 1)[0]!);
  return bytes !== undefined && isMapped(bytes) ? bytes.slice(12) : bytes;
};

const bytesOf = (text: string): Address | undefined =>
  IPV4.test(text) ? bytesOfV4(text) : IPV6.test(text) ? bytesOfV6(text) : undefined;

const bytesOfV4 = (text: string): Address => text.split('.').map(Number);

/** The URL parser reads every notation of IPv6 and writes it in at most eight groups of hexadecimal digits. */
const bytesOfV6 = (text: string): Address | undefined => {
  if (!URL.canParse(`http://[${text}]`)) return undefined;
  const [left = '', right] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (part: string | undefined): readonly string[] =>
    part === undefined || part === '' ? [] : part.split(':');
  const [before, after] = [groupsOf(left), groupsOf(right)];
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
};

const isMapped = (bytes: Address): boolean =>
  bytes.length === 16 && MAPPED_PREFIX.every((byte, index) => bytes[index] === byte);

const contains = ({ bytes, bits }: Network, address: Address): boolean =>
  bytes.length === address.length && bytes.every((byte, index) => byte === within(address, bits, index));

/** The byte at `index`, with the bits beyond the prefix cleared. */
const within = (bytes: Address, bits: number, index: number): number => {
  const left = Math.min(8, Math.max(0, bits - index * 8));
  return bytes[index]! & (0xff00 >> left) & 0xff;
};

const textOf = ({ bytes, bits }: Network): string => {
  if (bytes.length === 4) return `${bytes.join('.')}/${bits}`;
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bytes[index * 2]! << 8) | bytes[index * 2 + 1]!).toString(16),
  );
  return `${new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)}/${bits}`;
};
