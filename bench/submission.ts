/**
 * Taking a mail by SMTP durably on 64 connections, against a bare smtp-server that writes a file for each and waits for
 * the disk: CPU per mail.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { compareMeasures } from './support/pairs.js';
import { pinToLoad, startProgram, type Program } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { CONNECTIONS, startService, storedCount } from './support/service.js';

const TARGET = 1.5;
const { pairs, emails, 'warm-up': warmUp } = numbersGiven({ pairs: 6, emails: 5_000, 'warm-up': 10_000 });

const HTML =
  `<p>Dear customer, your order is on its way. <a href="https://shop.example/orders">See it</a>.</p>\r\n`.repeat(40);

const mailOf = (n: number): string =>
  [
    'From: Shop <shop@example.com>',
    `To: Customer ${n} <customer-${n}@example.com>`,
    `Subject: Your order ${n}`,
    `Message-ID: <${randomUUID()}@shop.example>`,
    'Date: Sat, 28 Nov 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative; boundary="part"',
    '',
    '--part',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Dear customer, your order is on its way.',
    '--part',
    'Content-Type: text/html; charset=utf-8',
    '',
    `${HTML}--part--`,
    '.',
    '',
  ].join('\r\n');

/** Sends so many mails on one connection, one after the other, with the commands before DATA in one packet. */
const session = (port: number, key: string, next: () => number | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const login = Buffer.from(`\0bench\0${key}`).toString('base64');
    const steps = ['220', '250', '235'];
    const replies = [`EHLO bench.example\r\n`, `AUTH PLAIN ${login}\r\n`];
    let step = 0;
    let n: number | undefined;
    let text = '';
    const begin = (): void => {
      n = next();
      if (n === undefined) {
        socket.end('QUIT\r\n');
        return resolve();
      }
      steps.push('250', '250', '354', '250');
      socket.write(`MAIL FROM:<shop@example.com>\r\nRCPT TO:<customer-${n}@example.com>\r\nDATA\r\n`);
    };
    const answered = (reply: string): void => {
      const wanted = steps[step++];
      if (wanted === undefined || !reply.startsWith(wanted))
        return void socket.destroy(new Error(`${wanted} was wanted: ${reply}`));
      if (wanted === '354') socket.write(mailOf(n!));
      else if (step <= replies.length) socket.write(replies[step - 1]!);
      else if (step === steps.length) begin();
    };
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        if (line[3] === ' ') answered(line);
      }
    });
    socket.on('error', reject);
  });

let sent = 0;
const send = async (port: number, key: string, count: number): Promise<void> => {
  let left = count;
  const next = (): number | undefined => (left-- > 0 ? (sent += 1) : undefined);
  await Promise.all(Array.from({ length: CONNECTIONS }, () => session(port, key, next)));
};

const cpuOf = async (program: Program, accept: (count: number) => Promise<void>): Promise<number> => {
  await accept(warmUp);
  const before = program.cpuUs();
  await accept(emails);
  return (program.cpuUs() - before) / emails;
};

const check = (stored: number): void => {
  if (stored !== warmUp + emails) throw new Error(`${warmUp + emails} mails were taken, ${stored} are stored`);
};

const limitProgram = fileURLToPath(new URL('./limits/submission.js', import.meta.url));

const limit = (): Promise<number> =>
  withDirectory(async (directory) => {
    const key = randomUUID();
    const program = startProgram({ command: process.execPath, args: [limitProgram, directory, key], side: 'system' });
    try {
      const port = Number((await program.saw(/listening on smtp:\/\/[^\s:]+:(\d+)/))[1]);
      const cpuUs = await cpuOf(program, (count) => send(port, key, count));
      await program.stop();
      check(readdirSync(directory).length);
      return cpuUs;
    } finally {
      program.kill();
    }
  });

const ours = (): Promise<number> =>
  withDirectory(async (directory) => {
    const service = await startService({ directory, env: { SEALPOST_ROLES: 'http', SEALPOST_SUBMISSION_PORT: '0' } });
    try {
      const port = Number((await service.program.saw(/Mail by SMTP +smtp:\/\/[^\s:]+:(\d+)/))[1]);
      const key = service.authorization.slice('Bearer '.length);
      const cpuUs = await cpuOf(service.program, (count) => send(port, key, count));
      await service.stop();
      check(
        storedCount(join(directory, 'data', 'events.db'), `SELECT count(*) FROM events WHERE type = 'EmailQueued.v1'`),
      );
      return cpuUs;
    } finally {
      service.kill();
    }
  });

pinToLoad();
const result = await compareMeasures({ name: 'take a mail by SMTP durably', ours, limit, pairs, operations: emails });
report({
  name: 'submission',
  figures: figuresOf(result, 'µs/mail', { atMost: TARGET }),
  machine: machineWithDisk(),
  details: { ...result, connections: CONNECTIONS },
});
