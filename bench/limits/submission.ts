/**
 * The least that any program must do to take a mail by SMTP durably: smtp-server with a login, and a file for each mail
 * that survives a power loss before 250.
 */
import { createHash, randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

const [directory = '', key = ''] = process.argv.slice(2);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const known = new Set([hashOf(key)]);

const server = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  allowInsecureAuth: true,
  disableReverseLookup: true,
  size: 36 * 1024 * 1024,
  socketTimeout: 5 * 60_000,
  onAuth: ({ password = '' }, _session, done) =>
    known.has(hashOf(String(password))) ? done(null, { user: {} }) : done(new Error('a wrong key')),
  onData: (stream, _session, done) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const id = randomUUID();
      void (async () => {
        const file = await open(join(directory, id), 'w');
        await file.writeFile(Buffer.concat(chunks));
        await file.sync();
        await file.close();
        done(null, `taken as ${id}`);
      })();
    });
  },
});
server.listen(0, '127.0.0.1', () =>
  console.log(`listening on smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`),
);
process.on('SIGTERM', () => process.exit(0));
