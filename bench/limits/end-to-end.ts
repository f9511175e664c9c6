/** The least that any program must do to get mails to a relay: the pool of nodemailer, sending a mail that is ready, signed by DKIM where a key is named. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import nodemailer from 'nodemailer';

const [
  port = '',
  file = '',
  connections = '',
  messagesPerConnection = '',
  domainName = '',
  keySelector = '',
  keyFile = '',
] = process.argv.slice(2);
const raw = readFileSync(file);
const pool = nodemailer.createTransport({
  pool: true,
  host: '127.0.0.1',
  port: Number(port),
  secure: false,
  maxConnections: Number(connections),
  maxMessages: Number(messagesPerConnection),
  ...(keyFile === '' ? {} : { dkim: { domainName, keySelector, privateKey: readFileSync(keyFile, 'utf8') } }),
});
const envelope = { from: 'hello@sealpost.example', to: 'ada@example.com' };

// Each line that comes says how many mails to send.
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const count = Number(line);
  await Promise.all(Array.from({ length: count }, () => pool.sendMail({ envelope, raw })));
  console.log(`sent ${count}`);
}
