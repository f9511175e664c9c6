/** An endpoint on loopback that takes what is signed with a secret, as any receiver should. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../domain/ports/clock.js';

const HOST = '127.0.0.1';
/** A post that was signed longer ago may be one that somebody kept. */
const TOLERANCE_S = 300;
/** Twice what a body may have. */
const BODY_BYTES_MAX = 512 * 1024;

export type LocalReceiver = Readonly<{ url: string; close: () => void }>;

/** `secret`: asked for at each post. `take`: the id of the event, and its body. `refuse`: why a post is not taken. */
export type ReceiverOptions = Readonly<{
  clock: Pick<Clock, 'now'>;
  port: number;
  secret: () => string;
  take: (id: string, body: string) => void;
  refuse: (reason: string) => void;
}>;

/** Rejects where the port cannot be had. */
export const openReceiver = async ({ clock, port, secret, take, refuse }: ReceiverOptions): Promise<LocalReceiver> => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > BODY_BYTES_MAX) request.destroy();
      else chunks.push(chunk);
    });
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const fault = faultOf(request.headers, body, secret(), clock.now());
      response.writeHead(fault === undefined ? 204 : 401).end();
      if (fault === undefined) take(String(request.headers['x-service-event-id']), body.toString());
      else refuse(fault);
    });
  });
  server.listen(port, HOST);
  await once(server, 'listening');
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** undefined where the post is signed with the secret, lately. */
const faultOf = (headers: IncomingHttpHeaders, body: Buffer, secret: string, nowMs: number): string | undefined => {
  const timestamp = String(headers['x-service-timestamp'] ?? '');
  if (!(Math.abs(nowMs / 1_000 - Number(timestamp || Number.NaN)) <= TOLERANCE_S)) return 'its X-Service-Timestamp is not of now';
  const expected = Buffer.from(`v1=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`);
  const given = Buffer.from(String(headers['x-service-signature'] ?? ''));
  return given.length === expected.length && timingSafeEqual(given, expected) ? undefined : 'its X-Service-Signature is wrong';
};
