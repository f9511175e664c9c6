/** Networks of keys: how they are written, what lies in them, and which lie in which. */
import fc from 'fast-check';
import t from 'tap';
import { isFrom, outside, readNetwork } from '../../src/domain/keys/networks.js';

const formOf = (typed: string): string | undefined => {
  const read = readNetwork(typed);
  return read.ok ? read.network : undefined;
};

void t.test('a network has one form, however it is typed', async (t) => {
  for (const [typed, form] of [
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['2001:DB8:0::1', '2001:db8::1/128'],
    ['2001:db8:0:0:0:0:0:0/32', '2001:db8::/32'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['::ffff:10.0.0.1', '10.0.0.1/32'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221/128'],
  ] as const)
    t.equal(formOf(typed), form, typed);
});

void t.test('what is no network, and what names an address inside one, is refused', async (t) => {
  for (const typed of [
    '',
    'x',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4/33',
    '1.2.3.4/08',
    '1.2.3.4/',
    '1.2.3.4/-1',
    ' 1.2.3.4',
    '1.2.3.4/24/24',
  ])
    t.match(readNetwork(typed), { ok: false, reason: /is no network/ }, typed);
  for (const typed of [
    '::1/129',
    ':::',
    '1::2::3',
    '[::1]',
    '1:2:3:4:5:6:7',
    '12345::',
    'fe80::1%eth0',
    '2001:db8::/032',
    '::1.2.3',
    'example.com',
  ])
    t.match(readNetwork(typed), { ok: false, reason: /is no network/ }, typed);
  t.match(readNetwork('192.0.2.7/24'), { ok: false, reason: /the network is 192\.0\.2\.0\/24$/ });
  t.match(readNetwork('2001:db8::1/64'), { ok: false, reason: /the network is 2001:db8::\/64$/ });
});

void t.test('an address lies in a network by its first bits; IPv4 in IPv6 is IPv4', async (t) => {
  for (const [network, address, lies] of [
    ['192.0.2.0/24', '192.0.2.0', true],
    ['192.0.2.0/24', '192.0.2.255', true],
    ['192.0.2.0/24', '192.0.3.0', false],
    ['192.0.2.0/25', '192.0.2.128', false],
    ['192.0.2.0/24', '::ffff:192.0.2.3', true],
    ['192.0.2.0/24', '::ffff:c000:203', true],
    ['192.0.2.0/24', '::192.0.2.3', false],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '192.0.2.1', false],
    ['2001:db8::/33', '2001:db8:7fff:ffff::1', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['192.0.2.1/32', '', false],
    ['192.0.2.1/32', 'unix:', false],
  ] as const)
    t.equal(isFrom([network], address), lies, `${address} in ${network}`);
  t.notOk(isFrom(['of a later form', '192.0.2.0/24'], '198.51.100.1'));
  t.ok(isFrom(['of a later form', '192.0.2.0/24'], '192.0.2.1'));
});

void t.test('a network lies in another with all its addresses', async (t) => {
  t.same(outside(['10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/7', '11.0.0.0/8', '::/128'], ['10.0.0.0/8']), [
    '10.0.0.0/7',
    '11.0.0.0/8',
    '::/128',
  ]);
  t.same(outside(['2001:db8:1::/48'], ['10.0.0.0/8', '2001:db8::/32']), []);
  t.same(outside([], ['10.0.0.0/8']), []);
  t.same(outside(['10.0.0.1/32'], []), ['10.0.0.1/32']);
});

void t.test(
  'for any address and prefix: its network holds it, and every narrower network of it lies inside',
  async () => {
    const bits = (text: string): string =>
      text
        .split('.')
        .map((part) => Number(part).toString(2).padStart(8, '0'))
        .join('');
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (one, other, prefix) => {
        const number = Number.parseInt(bits(one).slice(0, prefix).padEnd(32, '0'), 2);
        const network = `${[24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff).join('.')}/${prefix}`;
        return (
          formOf(network) === network &&
          isFrom([network], one) &&
          isFrom([network], other) === (bits(other).slice(0, prefix) === bits(one).slice(0, prefix)) &&
          outside([`${one}/32`], [network]).length === 0
        );
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (address) => formOf(address) !== undefined && isFrom([formOf(address)!], address)),
    );
  },
);
