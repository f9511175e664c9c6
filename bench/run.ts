/**
 * `npm run bench [NAME…] [-- --OPTION=…]`: runs all benchmarks or the named ones, each in a process of its own with the
 * options, and says which missed their target.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { UNDECIDED } from './support/results.js';

const benchmarks = {
  accept: 'accepting an email durably, against the least that any program must do (some 4 minutes)',
  submission: 'taking a mail by SMTP durably, against a bare smtp-server that writes files (some 4 minutes)',
  'sign-in': 'a call with an access token, the first and the next ones, against one with an API key (some 30 seconds)',
  'end-to-end': 'an email from the call to the relay, against the pool of nodemailer (some 8 minutes)',
  dkim: 'an email signed with RSA-2048 from the call to the relay, against the pool of nodemailer that signs (some 10 minutes)',
  peers:
    'an email beside Fastify, BullMQ on Redis and nodemailer; needs redis-server and npm ci --prefix bench/peers (some 15 minutes)',
  expression: 'evaluating a calculated variable (some seconds)',
  components: 'rendering an email with every component, against the same by hand (some seconds)',
  render: 'rendering an order confirmation, against the same by hand (some seconds)',
  documents: 'PDF and Excel files, against pdfmake and exceljs by hand, and send calls beside them (some 2 minutes)',
  'first-document': 'the first PDF of a service, in a new process and in one that stands ready (some 20 seconds)',
  rebuild: 'rebuilding the read model of 100,000 emails, against a raw scan of the log (some 4 minutes)',
  'event-store': 'appending to and reading from EventStoreDB, against the bare client library (some 30 seconds)',
  bulk: 'bulk sends of 1,000: the call, the last mail, CPU beside single sends, a document for each (some 5 minutes)',
  lists: 'lists and searches over a million emails (some 6 minutes)',
  dashboard:
    'the dashboard in Chromium over a million emails: rows, filters, tabs, a minute of live events (some 5 minutes)',
  bus: 'pointers over NATS, against the bare driver; needs SEALPOST_TEST_NATS_URL (some 3 minutes)',
  distributed:
    'an email on servers by several processes, against a program that makes the same calls; lag, revoked keys; needs servers (some 20 minutes)',
  webhooks:
    'webhooks against bare signed posts, and an email that a subscription hears of against one without (some 5 minutes)',
  priorities: 'high mails while 50,000 low ones are queued and leave (some 2 minutes)',
  tracking: 'readers who fetch pixels and follow links, against a bare redirect (some 3 minutes)',
  storage: 'bytes that an email leaves on the disk, by file and table (some 1 minute)',
  start: 'the first start to listening, the next one, and --help (some 30 seconds)',
  'memory-by-package': 'memory and time that each dependency takes, and which a service at rest loads (some 2 minutes)',
  memory: 'memory at rest, and with 100,000 emails waiting (some 2 minutes)',
} as const;
type Name = keyof typeof benchmarks;

const isName = (text: string): text is Name => text in benchmarks;

const usage = (): string =>
  `Usage: npm run bench [NAME…] [-- --OPTION=…]\n\n${Object.entries(benchmarks)
    .map(([name, what]) => `  ${name.padEnd(18)} ${what}`)
    .join('\n')}\n`;

type Outcome = 'ok' | 'UNDECIDED' | 'FAILED';

/** Runs one; its output goes where ours goes. Out: whether it was right and met its targets. */
const run = async (name: Name, options: readonly string[]): Promise<Outcome> => {
  console.log(`\n── ${name}: ${benchmarks[name]}`);
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./${name}.js`, import.meta.url)), ...options], {
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0 ? 'ok' : code === UNDECIDED ? 'UNDECIDED' : 'FAILED';
};

const options = process.argv.slice(2).filter((one) => one.startsWith('-'));
const given = process.argv.slice(2).filter((one) => !one.startsWith('-'));
const unknown = given.filter((name) => !isName(name));
if (options.includes('--help')) {
  console.log(
    `${usage()}\nOptions of most: --pairs=N --emails=N --warm-up=N; fewer take less time and are less exact.`,
  );
} else if (unknown.length > 0) {
  console.error(`there is no benchmark ${unknown.join(', ')}\n\n${usage()}`);
  process.exitCode = 2;
} else {
  const chosen = given.length === 0 ? (Object.keys(benchmarks) as Name[]) : given.filter(isName);
  const outcomes: (readonly [Name, Outcome])[] = [];
  for (const name of chosen) outcomes.push([name, await run(name, options)]);
  console.log(`\n${outcomes.map(([name, outcome]) => `${outcome.padEnd(9)}  ${name}`).join('\n')}`);
  if (outcomes.some(([, outcome]) => outcome === 'FAILED')) process.exitCode = 1;
}
