/** From where a person signs in, so coarse that the same device at the same place is taken for the same again. */

const IPV6_GROUPS = 8;
/** Of an IPv6 address what a provider gives to one customer, at the least. */
const IPV6_GROUPS_OF_NETWORK = 3;
const IPV4_PARTS_OF_NETWORK = 3;

/** The network of an address as it comes from a socket: 24 bits of IPv4, 48 of IPv6. Of anything else the text itself. */
export const networkOf = (address: string): string => {
  const plain = (/^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address.split('%')[0]!).toLowerCase();
  if (!plain.includes(':')) return plain.split('.').slice(0, IPV4_PARTS_OF_NETWORK).join('.');
  const [front = '', back] = plain.split('::');
  const [before, after] = [groupsIn(front), groupsIn(back ?? '')];
  const zeros = back === undefined ? 0 : Math.max(0, IPV6_GROUPS - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return groups
    .slice(0, IPV6_GROUPS_OF_NETWORK)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
};

const groupsIn = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));

/** What a program says of itself, without its versions: an update makes no other device of it. */
export const deviceOf = (userAgent: string): string => userAgent.toLowerCase().replaceAll(/[\d._]+/g, '');
