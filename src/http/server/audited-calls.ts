/** Tells the audit log of reads of content and of refusals, after the answer is on its way. */
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { auditedPersonOf } from '../../commands/core/denials.js';
import type { AuditedCall, AuditRecorder } from '../../commands/audit/record.js';
import type { Caller } from '../../commands/core/caller.js';
import { callOrigin } from '../../domain/access/origins.js';
import { NO_TEAM } from '../../domain/core/ids.js';
import type { App } from './context.js';

/** What a route lets people and keys read: `email.read`, and of which kind it is. */
export type AuditedRead = Readonly<{ action: string; target?: string }>;

const ID_CHARS_MAX = 100;

const auditedCall = (request: FastifyRequest, { teamId, actor }: Pick<Caller, 'teamId' | 'actor'>): AuditedCall => ({
  teamId,
  actor,
  requestId: request.id,
  calledFrom: () => callOrigin(request.ip ?? '', String(request.headers['user-agent'] ?? '')),
});

const targetOf = (request: FastifyRequest, kind: string | undefined): string | null => {
  const { id, batchId = id } = (request.params ?? {}) as Readonly<{ id?: string; batchId?: string }>;
  return kind === undefined || batchId === undefined ? null : `${kind}:${batchId.slice(0, ID_CHARS_MAX).toLowerCase()}`;
};

/** Every route that declares what it lets read tells of each time that it did. Others have no hook, and cost nothing. */
export const auditReads = (app: App, audit: Pick<AuditRecorder, 'read'>): void => {
  app.addHook('onRoute', (route) => {
    const { audited } = route.config ?? {};
    if (audited === undefined) return;
    const tell = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
      if (request.caller !== null && reply.statusCode < 400)
        audit.read(auditedCall(request, request.caller), audited.action, targetOf(request, audited.target));
      done();
    };
    route.onResponse = [route.onResponse ?? [], tell].flat();
  });
};

/** Refusals that tell an auditor something; of these 404 is none, for a foreign id is answered as an unknown one. */
const isDenied = (status: number): boolean => status === 401 || status === 403;

/** In: how a request failed. Nothing is told where nobody knows who called. */
export const auditDenial = (
  audit: Pick<AuditRecorder, 'denied'>,
  request: FastifyRequest,
  { code, status }: Readonly<{ code: string; status: number }>,
  fault: unknown,
): void => {
  if (!isDenied(status)) return;
  const person = auditedPersonOf(fault);
  const who = request.caller ?? request.refused ?? (person && { teamId: NO_TEAM, actor: `user:${person}` });
  if (who === undefined) return;
  const endpoint = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
  audit.denied(auditedCall(request, who), endpoint, code, null);
};
