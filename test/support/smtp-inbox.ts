/** A relay on loopback that takes every message and keeps it as it came. */
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

export type SmtpInbox = Readonly<{
  url: string;
  port: number;
  /** The messages in the order in which they came, byte for byte (latin1). */ messages: string[];
  /** Those who got each of them. */ recipients: (readonly string[])[];
}>;

export const openSmtpInbox = async (t: Pick<Test, 'teardown'>): Promise<SmtpInbox> => {
  const messages: string[] = [];
  const recipients: (readonly string[])[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        messages.push(Buffer.concat(chunks).toString('latin1'));
        recipients.push(envelope.rcptTo.map(({ address: to }) => to));
        done();
      });
    },
  });
  // A program that is killed resets its connections.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the relay has no port');
  return { url: `smtp://127.0.0.1:${address.port}`, port: address.port, messages, recipients };
};
