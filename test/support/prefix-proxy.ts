/** A proxy that serves the service below the path /mail, which it removes from requests. */
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** A proxy that serves the service below `/mail/` and strips that; what a browser asks for elsewhere is `missed`. */
export const prefixProxy = async (t: Test) => {
  const missed: string[] = [];
  let target = 0;
  const proxy = createServer((request, reply) => {
    const { method, headers, url = '' } = request;
    if (!url.startsWith('/mail/')) {
      missed.push(`${method} ${url}`);
      return void reply.writeHead(404).end();
    }
    const onward = httpRequest(
      { port: target, host: '127.0.0.1', method, headers, path: url.slice('/mail'.length) },
      (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(reply);
      },
    );
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void proxy.close(() => undefined).closeAllConnections());
  const publicUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mail`;
  return { publicUrl, missed, leadTo: (port: number) => void (target = port) };
};
