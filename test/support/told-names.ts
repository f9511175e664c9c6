/**
 * A resolver that tells what the test says: loaded before the program (node --import). TOLD_NAMES is a JSON object of
 * host names, each with its answers in turn, the last one again and again: a list of addresses, or a code of node:dns
 * with which the look-up fails. Other names are looked up as always.
 */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';

const told = new Map(
  Object.entries(
    JSON.parse(process.env['TOLD_NAMES'] ?? '{}') as Readonly<Record<string, (readonly string[] | string)[]>>,
  ),
);
const system = dns.promises.lookup;

const lookup = (hostname: string, options: dns.LookupAllOptions): Promise<dns.LookupAddress[]> => {
  const answers = told.get(hostname);
  if (answers === undefined) return system(hostname, options);
  const answer = (answers.length > 1 ? answers.shift() : answers[0])!;
  return typeof answer === 'string'
    ? Promise.reject(Object.assign(new Error(`lookup of ${hostname}: ${answer}`), { code: answer }))
    : Promise.resolve(answer.map((address) => ({ address, family: isIP(address) })));
};

dns.promises.lookup = lookup as typeof system;
syncBuiltinESMExports();
