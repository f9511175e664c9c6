/** Routes of approvals: ask, list, read, show the mail, approve, reject, withdraw. */
import type { HookHandlerDoneFunction } from 'fastify';
import {
  ApprovalAttachmentParamsSchema,
  ApprovalContentSchema,
  ApprovalPageQuerySchema,
  ApprovalSchema,
  ApprovalsQuerySchema,
  ApproveRequestSchema,
  RejectRequestSchema,
} from '../../api/approvals.js';
import { idParams, pageOf } from '../../api/core/common.js';
import { SendEmailRequestSchema } from '../../api/email.js';
import { approveExamples, rejectExamples, sendExamples } from '../../api/examples.js';
import { approvalNotFound } from '../../domain/approvals/decider.js';
import { parseApprovalId, type ApprovalId, type TeamId } from '../../domain/core/ids.js';
import { nextTurn } from '../../shared/concurrency.js';
import { mailPage, openMailSlots, placeOf, sendAttachment, sendMailPage } from '../email/content.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { answered, bodyMayBeAbsent, checkIdempotencyKey, idempotencyOf } from '../server/headers.js';
import { pagingOf } from '../server/query.js';
import { coerceQuery } from '../server/validation.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits'>;
type Hook = (request: never, reply: never, done: HookHandlerDoneFunction) => void;

const tags = ['Approvals'];
const params = idParams('Id of the approval');
const unknownId = 'APPROVAL_NOT_FOUND';
const audited = { action: 'approval.content_read', target: 'approval', isOnce: true } as const;

/** A malformed id is answered as an unknown one. */
const approvalIdOf = (text: string): ApprovalId => {
  const id = parseApprovalId(text);
  if (id === undefined) throw approvalNotFound();
  return id;
};

/** Registers the routes under /api/approvals. */
export const approvalRoutes = (app: App, deps: Deps): void => {
  askRoute(app, deps);
  readRoutes(app, deps);
  mailRoutes(app, deps);
  decisionRoutes(app, deps);
};

const askRoute = (app: App, { commands, queries, limits }: Deps): void => {
  /** The calls of each team that are under way, in their order: the read models lack what they ask for. */
  const asking = new Map<TeamId, Set<object>>();
  /** Runs `ask`, which is told how many calls of the team began before and are still under way. */
  const inOrder = async <T>(teamId: TeamId, ask: (ahead: () => number) => Promise<T>): Promise<T> => {
    const calls = asking.get(teamId) ?? new Set();
    asking.set(teamId, calls);
    const call = {};
    calls.add(call);
    try {
      return await ask(() => [...calls].indexOf(call));
    } finally {
      calls.delete(call);
      if (calls.size === 0) asking.delete(teamId);
    }
  };
  app.post(
    '/api/approvals',
    {
      config: {
        access: 'emails:send',
        command: 'requestApproval',
        idempotent: true,
        examples: sendExamples,
        unknownId: 'ERR_TMPL_002',
      },
      onRequest: checkIdempotencyKey(limits.idempotencyKeyCharsMax) satisfies Hook,
      schema: {
        summary: 'Ask for the approval of a send',
        description: `The body of \`POST /api/emails/send\`, checked in the same way. Nothing is sent: a person of the team looks at it in the dashboard, and approves or rejects it within ${limits.approvalHours} hours. What is sent then is what was asked for: the version of the template, the files of addresses and the sender are those of this call.`,
        operationId: 'requestApproval',
        tags,
        body: SendEmailRequestSchema,
        response: { 201: ApprovalSchema },
      },
    },
    async (request, reply) => {
      if (request.isLargeBody) await nextTurn();
      const caller = callerOf(request);
      const { teamId } = caller;
      const storedBytes = () => queries.storedAttachmentBytes(teamId);
      const answer = await inOrder(teamId, (ahead) => {
        const open = async (): Promise<number> => {
          await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
          const before = ahead();
          return before + (await queries.openApprovals(teamId));
        };
        return commands.requestApproval(caller, request.body, { open, storedBytes }, idempotencyOf(request));
      });
      reply.code(201);
      return answered(reply, answer);
    },
  );
};

const readRoutes = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/approvals',
    {
      config: { access: 'emails:read', codes: ['INVALID_CURSOR'] },
      preValidation: coerceQuery(ApprovalsQuerySchema),
      schema: {
        summary: 'List approvals',
        description: 'Newest first; with `status=requested` those that wait for a person.',
        operationId: 'listApprovals',
        tags,
        querystring: ApprovalsQuerySchema,
        response: { 200: pageOf(ApprovalSchema) },
      },
    },
    async (request) => {
      const { teamId } = callerOf(request);
      const { status } = request.query;
      await queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
      return queries.listApprovals(teamId, { ...(status !== undefined && { status }) }, pagingOf(request.query));
    },
  );

  app.get(
    '/api/approvals/:id',
    {
      config: {
        audited: { action: 'approval.read', target: 'approval', isOnce: true },
        access: 'emails:read',
        command: 'getApproval',
        unknownId,
      },
      schema: {
        summary: 'Read an approval',
        description:
          'Who asked, what would leave, what it costs, and what became of it: `emailId` names the email once a person has approved it.',
        operationId: 'getApproval',
        tags,
        params,
        response: { 200: ApprovalSchema },
      },
    },
    (request) => commands.getApproval(callerOf(request), approvalIdOf(request.params.id)),
  );
};

const mailRoutes = (app: App, { commands }: Deps): void => {
  const slotted = openMailSlots();
  app.get(
    '/api/approvals/:id/content',
    {
      config: { access: 'emails:content', audited, command: 'approvalContent', unknownId },
      schema: {
        summary: 'Read the mail of an approval',
        description:
          'Subject, headers, HTML and text as they would leave now, without tracking, and the values of the call.',
        operationId: 'getApprovalContent',
        tags,
        params,
        response: { 200: ApprovalContentSchema },
      },
    },
    (request, reply) =>
      slotted(request, reply, () => commands.approvalContent(callerOf(request), approvalIdOf(request.params.id))),
  );

  app.get(
    '/api/approvals/:id/page',
    {
      config: { access: 'emails:content', audited, command: 'approvalMail', unknownId, media: 'text/html' },
      preValidation: coerceQuery(ApprovalPageQuerySchema),
      schema: {
        summary: 'Show the mail of an approval',
        description:
          'The HTML as a page for a sandboxed frame, as that of an email: nothing of it acts, and no picture of another host is loaded unless `pictures` is true.',
        operationId: 'showApproval',
        tags,
        params,
        querystring: ApprovalPageQuerySchema,
      },
    },
    async (request, reply) => {
      const { scheme, pictures = false } = request.query;
      const html = await slotted(request, reply, async () => {
        const { content, files } = await commands.approvalMail(callerOf(request), approvalIdOf(request.params.id));
        return mailPage(app, content, pictures, async (index = -1) => files[index]?.bytes);
      });
      return sendMailPage(reply, html, { pictures, isDark: scheme === 'dark' });
    },
  );

  app.get(
    '/api/approvals/:id/attachments/:index',
    {
      config: { access: 'emails:content', audited, command: 'approvalAttachment', unknownId, media: '*/*' },
      schema: {
        summary: 'Download an attachment of an approval',
        description: 'Documents are made anew from what was pinned when the approval was asked for.',
        operationId: 'getApprovalAttachment',
        tags,
        params: ApprovalAttachmentParamsSchema,
      },
    },
    async (request, reply) => {
      const { id, index } = request.params;
      const file = await slotted(request, reply, () =>
        commands.approvalAttachment(callerOf(request), approvalIdOf(id), placeOf(index)),
      );
      return sendAttachment(reply, file, index);
    },
  );
};

const decisionRoutes = (app: App, { commands, queries }: Deps): void => {
  app.post(
    '/api/approvals/:id/approve',
    {
      config: { access: 'approvals:decide', command: 'approveSend', examples: approveExamples, unknownId },
      schema: {
        summary: 'Approve a send',
        description:
          'For a person who is signed in and may send; no API key and no app can. `digest` is that of the approval that the person looked at. The email is made at once and at most one time, whoever approves it and however often; where it would be refused, so is this call, and the approval still waits.',
        operationId: 'approveSend',
        tags,
        params,
        body: ApproveRequestSchema,
        response: { 200: ApprovalSchema },
      },
    },
    (request) => {
      const caller = callerOf(request);
      return commands.approveSend(caller, approvalIdOf(request.params.id), request.body, () =>
        queries.storedAttachmentBytes(caller.teamId),
      );
    },
  );

  app.post(
    '/api/approvals/:id/reject',
    {
      config: { access: 'approvals:decide', command: 'rejectSend', examples: rejectExamples, unknownId },
      preValidation: bodyMayBeAbsent,
      schema: {
        summary: 'Reject a send',
        description:
          'For a person who is signed in and may send. The proposed email is destroyed; `reason` tells who asked what to do better.',
        operationId: 'rejectSend',
        tags,
        params,
        body: RejectRequestSchema,
        response: { 200: ApprovalSchema },
      },
    },
    (request) => commands.rejectSend(callerOf(request), approvalIdOf(request.params.id), request.body),
  );

  app.post(
    '/api/approvals/:id/withdraw',
    {
      config: { access: 'emails:send', command: 'withdrawApproval', unknownId },
      schema: {
        summary: 'Withdraw a send',
        description:
          'While it waits, by callers who may send. The proposed email is destroyed, and no person can approve it any more.',
        operationId: 'withdrawApproval',
        tags,
        params,
        response: { 200: ApprovalSchema },
      },
    },
    (request) => commands.withdrawApproval(callerOf(request), approvalIdOf(request.params.id)),
  );
};
