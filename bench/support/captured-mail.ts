/** One mail as our own service makes it, byte for byte as a relay gets it. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { orderRequest } from './orders.js';
import { startService } from './service.js';

/** In: a directory for the service; what it is told of its relay beside the address. */
export const captureMail = async (directory: string, env: Readonly<Record<string, string>>): Promise<Buffer> => {
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
  const port = (listening.address() as AddressInfo).port;
  const service = await startService({ directory, env: { ...env, SEALPOST_SMTP_URL: `smtp://127.0.0.1:${port}` } });
  try {
    await service.accept(1, orderRequest);
    const raw = await mail;
    await service.stop();
    if (!raw.includes('Subject: Your order NW-10000 is confirmed\r\n'))
      throw new Error('the captured mail is not the order confirmation');
    return raw;
  } finally {
    service.kill();
    server.close();
  }
};
