/** A server of the DNS on loopback that answers for TXT, MX and CNAME records as the test says. */
import { createSocket } from 'node:dgram';
import type { Test } from 'tap';
import { decode, encode, RECURSION_AVAILABLE, type Answer } from 'dns-packet';

/**
 * The answer for a name: its texts (under `MX name` and `CNAME name`: its hosts), a fault of the server, or none at all. Other names do
 * not exist.
 */
export type Zone = Map<string, readonly string[] | 'servfail' | 'silent'>;

export type DnsServer = Readonly<{
  address: string;
  zone: Zone;
  /** The names that were asked for, in order. */ asked: string[];
}>;

const NXDOMAIN = 3;
const SERVFAIL = 2;

/** The strings of one record have at most 255 bytes each. */
const stringsOf = (text: string): string[] => text.match(/.{1,255}/gs) ?? [''];

export const openDnsServer = async (t: Pick<Test, 'teardown'>): Promise<DnsServer> => {
  const zone: Zone = new Map();
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (bytes, from) => {
    const query = decode(bytes);
    const [question] = query.questions ?? [];
    if (question === undefined) return;
    const name = question.name.toLowerCase();
    asked.push(name);
    const found = zone.get(question.type === 'TXT' ? name : `${question.type} ${name}`);
    if (found === 'silent') return;
    const rcode = found === undefined ? NXDOMAIN : found === 'servfail' ? SERVFAIL : 0;
    const answers: Answer[] = Array.isArray(found)
      ? found.map((text) =>
          question.type === 'MX'
            ? { type: 'MX', name: question.name, ttl: 60, data: { preference: 10, exchange: text } }
            : question.type === 'CNAME'
              ? { type: 'CNAME', name: question.name, ttl: 60, data: text }
              : { type: 'TXT', name: question.name, ttl: 60, data: stringsOf(text) },
        )
      : [];
    const flags = RECURSION_AVAILABLE | rcode;
    socket.send(
      encode({ type: 'response', id: query.id ?? 0, flags, questions: [question], answers }),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { address: `127.0.0.1:${socket.address().port}`, zone, asked };
};
