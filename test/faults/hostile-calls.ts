/** Calls of hostile requests: against a server, or within the test. */
import type { JsonObject } from '../../src/domain/core/json.js';
import { sinkVariables } from '../support/kitchen-sink.js';
import { eventually } from '../support/wait.js';
import type { HostileRequest } from './hostile-inputs.js';

export type Answer = Readonly<{ status: number; body: JsonObject; chars?: number }>;
export type Call = (request: Pick<HostileRequest, 'method' | 'path' | 'headers' | 'body'>) => Promise<Answer>;

export const bodyOf = (value: unknown): Pick<HostileRequest, 'headers' | 'body'> => ({
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
});

/** Waits until nothing is left to be done for an email that was accepted, so that its delivery is measured with it. */
const settled = (call: Call, id: string): Promise<unknown> =>
  eventually('the email is delivered', async () => {
    const { body } = await call({ method: 'GET', path: `/api/emails/${id}`, headers: {}, body: undefined });
    return !['queued', 'processing'].includes(String(body['status']));
  });

/** Makes the call that follows an accepted input: the delivery, or the preview of the saved template. */
export const followed = async (
  call: Call,
  { method, path }: HostileRequest,
  { status, body }: Answer,
): Promise<readonly number[]> => {
  const { id } = body;
  if (status !== 201 || typeof id !== 'string' || method !== 'POST') return [];
  if (path.startsWith('/api/emails/send') && body['status'] === 'queued') await settled(call, id);
  if (!/^\/api\/templates(?:\/attachment(?:\/import)?)?$/.test(path)) return [];
  const own = `${path.replace('/import', '')}/${id}`;
  const preview =
    path === '/api/templates'
      ? {
          method: 'POST',
          path: `${own}/preview`,
          ...bodyOf({ variables: { ...sinkVariables, s: '<'.repeat(20_000) } }),
        }
      : { method: 'GET', path: `${own}/preview?version=draft`, headers: {}, body: undefined };
  const { status: shown } = await call(preview);
  await call({ method: 'DELETE', path: own, headers: {}, body: undefined });
  return [shown];
};
