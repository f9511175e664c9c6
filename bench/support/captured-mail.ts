/** One mail as our own service makes it, byte for byte as a relay gets it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { orderRequest } from './orders.js';
import { withDirectory } from './scratch.js';
import { startService } from './service.js';

/** In: what sends one mail to the relay at a port, and ends when the mail was taken. Out: that mail. */
export const captureFrom = async (
  send: (port: number, taken: Promise<Buffer>) => Promise<unknown>,
): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let taken: (mail: Buffer) => void;
  const mail = new Promise<Buffer>((resolve) => (taken = resolve));
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData: (stream, _session, done) => {
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        done();
        taken(Buffer.concat(chunks));
      });
    },
  });
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  try {
    await send((listening.address() as AddressInfo).port, mail);
  } finally {
    server.close();
  }
  const raw = await mail;
  if (!raw.includes('Subject: Your order NW-10000 is confirmed\r\n'))
    throw new Error('the captured mail is not the order confirmation');
  return raw;
};

/** In: a directory for the service; what it is told of its relay beside the address. */
export const captureMail = (directory: string, env: Readonly<Record<string, string>>): Promise<Buffer> =>
  captureFrom(async (port, taken) => {
    const service = await startService({ directory, env: { ...env, SEALPOST_SMTP_URL: `smtp://127.0.0.1:${port}` } });
    try {
      await service.accept(1, orderRequest);
      await taken;
      await service.stop();
    } finally {
      service.kill();
    }
  });

/** The calls of a program that renders the order confirmation itself: the n-th body of a send call. */
export const inlineCalls = async (): Promise<(n: number) => unknown> => {
  const { html = '' } = await PostalMime.parse(await withDirectory((directory) => captureMail(directory, {})));
  return (n) => {
    const { to, tags } = orderRequest(n);
    return { content: { subject: `Your order NW-${10_000 + n} is confirmed`, html }, to, tags };
  };
};
