/** Joins the SMTP servers of submission to the commands: logins by API key, the rates of the API, replies to errors. */
import type { SubmissionReply, SubmissionServers, SubmissionUser } from '../adapters/submission/smtp-submission.js';
import type { KeyAuthenticated } from '../commands/core/caller.js';
import { DomainError, wholeText, type ErrorCode } from '../domain/core/errors.js';
import { isAllowed } from '../domain/access/permissions.js';
import { isFrom } from '../domain/keys/networks.js';
import { callerWith } from '../http/server/admission.js';
import type { HttpDeps } from '../http/server/context.js';
import { failureOf, type Failure } from '../http/server/errors.js';
import { limitInWords, policyOf, windowsOf, windowsOfAddress } from '../http/server/rates.js';
import type { Config } from './settings/config.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limiter' | 'limits' | 'clock' | 'ids' | 'logger' | 'answered'>;

/** `seen`: what the key was when it was looked at last. */
type User = SubmissionUser &
  Readonly<{ password: string; address: string }> & { seen: Readonly<{ key: KeyAuthenticated; atMs: number }> };

/** A message begins without another look at a key that was looked at this shortly before; it ends with one. */
const SEEN_FOR_MS = 1_000;

/** Messages count as calls of this endpoint. */
const POLICY = policyOf('POST', '/api/emails/send');

/** undefined where the settings ask for none, or where this process serves no requests. */
export const openSubmissionServers = async (
  { submission, roles }: Config,
  deps: Deps,
): Promise<SubmissionServers | undefined> => {
  if (submission === undefined || !roles.includes('http')) return undefined;
  const { limits } = deps;
  const { openSubmission } = await import('../adapters/submission/smtp-submission.js');
  return openSubmission<User>({
    ...submission,
    bounds: {
      connectionsMax: limits.submissionNetworkConnectionsMax,
      connectionsPerMinute: limits.submissionNetworkConnectionsPerMinuteMax,
      commandsPerMinute: limits.submissionNetworkCommandsPerMinuteMax,
      messagesPerMinute: Infinity,
      allConnectionsMax: limits.submissionConnectionsMax,
      sizeBytesMax: limits.submissionSizeBytesMax,
      recipientsMax: limits.recipientsMax,
      memoryBytesMax: limits.submissionMemoryBytesMax,
      silenceMs: limits.submissionSilenceMs,
      messageMs: limits.submissionMessageMs,
      sessionMs: limits.submissionSessionMs,
      closeMs: limits.submissionCloseMs,
    },
    clock: deps.clock,
    logger: deps.logger,
    logIn: (password, address) => logIn(deps, password, address),
    begin: (user) => begin(deps, user),
    submit: (user, mail) => submit(deps, submission.name, user, mail),
  }).catch((fault: unknown) => {
    if (fault instanceof Error && 'code' in fault && fault.code === 'EADDRINUSE')
      throw new Error(
        `a port of ${submission.ports.map(({ port }) => port).join(' and ')} on ${submission.host} is in use; stop what uses it, or set SEALPOST_SUBMISSION_PORT and SEALPOST_SUBMISSION_TLS_PORT to others`,
        { cause: fault },
      );
    throw fault;
  });
};

/** A wrong key counts against its network as in the API; beyond that limit the connection ends. */
const logIn = async (deps: Deps, password: string, address: string): Promise<User | SubmissionReply> => {
  try {
    const key = await admitted(deps, password, address);
    return { share: key.teamId, password, address, seen: { key, atMs: deps.clock.monotonic() } };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const { admitted: isWithin, retryAfterS } = await deps.limiter.hit(windowsOfAddress(address, 'failed'));
    if (isWithin) return { code: 535, status: '5.7.8', text: error.message };
    return {
      code: 421,
      status: '4.7.0',
      text: `too many logins from this address failed; try again in ${retryAfterS} s`,
    };
  }
};

/** The key of a login, which may have been revoked or restricted since. Rejects with the codes of the API. */
const admitted = async ({ commands }: Deps, password: string, address: string): Promise<KeyAuthenticated> => {
  const caller = await commands.authenticate(password, { asked: undefined, isNeeded: true });
  if (caller.kind !== 'apiKey')
    throw new DomainError('UNAUTHORIZED', 'The password must be an API key; access tokens are for the API.');
  if (caller.networks !== null && !isFrom(caller.networks, address))
    throw new DomainError('API_KEY_NETWORK_NOT_ALLOWED', 'This API key may be used from its own networks alone.');
  if (!isAllowed(caller.permissions, 'emails:send'))
    throw new DomainError('FORBIDDEN', 'This API key lacks the permission `emails:send`, which sending needs.');
  return caller;
};

const begin = async (deps: Deps, user: User): Promise<SubmissionReply | undefined> => {
  try {
    if (deps.clock.monotonic() - user.seen.atMs > SEEN_FOR_MS) await lookAgain(deps, user);
    const { key } = user.seen;
    const { admitted: isWithin, retryAfterS } = await deps.limiter.hit(windowsOf(POLICY, key));
    if (isWithin) return undefined;
    return { code: 451, status: '4.7.1', text: `${limitInWords(POLICY, key)}. Try again in ${retryAfterS} s.` };
  } catch (error) {
    return replyTo(deps, error, 'none');
  }
};

/** Rejects as `admitted` does. */
const lookAgain = async (deps: Deps, user: User): Promise<KeyAuthenticated> => {
  const key = await admitted(deps, user.password, user.address);
  user.seen = { key, atMs: deps.clock.monotonic() };
  return key;
};

const submit = async (
  deps: Deps,
  by: string,
  user: User,
  { how, ...mail }: Readonly<{ sender: string | undefined; to: readonly string[]; raw: Buffer; how: string }>,
): Promise<SubmissionReply> => {
  const { commands, queries, clock, ids, logger } = deps;
  const requestId = ids.bytes(16).toString('hex');
  const beganMs = clock.monotonic();
  let keyId: string | undefined;
  let reply: SubmissionReply;
  try {
    // A message is taken with a key that is good at its end, however long it took to arrive.
    const key = await lookAgain(deps, user);
    keyId = key.keyId;
    const caller = callerWith(key, { id: requestId, ip: user.address, headers: { 'user-agent': 'SMTP' } });
    const { body } = await commands.submitEmail(caller, { ...mail, by, with: how }, () =>
      queries.storedAttachmentBytes(key.teamId),
    );
    reply = { code: 250, status: '2.0.0', text: `Ok: queued as ${body.id}` };
  } catch (error) {
    reply = replyTo(deps, error, requestId);
  }
  const durationMs = clock.monotonic() - beganMs;
  deps.answered?.('SMTP', 'DATA', reply.code, durationMs / 1_000);
  logger.info({ requestId, keyId, status: reply.code, durationMs: Math.round(durationMs * 100) / 100 }, 'submission');
  return reply;
};

/** The codes of the API that have a reply of their own; every other has that of its status. */
const replies: Partial<Readonly<Record<ErrorCode, readonly [code: number, status: string]>>> = {
  ERR_EMAIL_001: [553, '5.1.3'],
  SENDER_NOT_ALLOWED: [550, '5.7.1'],
  SENDER_NOT_SET: [550, '5.7.1'],
  IDEMPOTENCY_KEY_REUSED: [554, '5.5.0'],
  QUEUE_FULL: [452, '4.3.1'],
  ATTACHMENT_STORAGE_EXCEEDED: [452, '4.3.1'],
  QUOTA_EXCEEDED: [452, '4.7.1'],
  RATE_LIMIT_EXCEEDED: [451, '4.7.1'],
  ERR_ATTACH_002: [552, '5.3.4'],
  RENDERED_BODY_TOO_LARGE: [552, '5.3.4'],
  // A message that is sent again is not doubled: its Message-ID tells whether it was taken.
  CONFLICT: [451, '4.3.0'],
};

const byStatus: Readonly<Record<Failure['status'], readonly [code: number, status: string]>> = {
  400: [554, '5.6.0'],
  401: [530, '5.7.8'],
  403: [550, '5.7.1'],
  404: [554, '5.6.0'],
  410: [554, '5.6.0'],
  429: [451, '4.7.1'],
  500: [451, '4.3.0'],
  503: [451, '4.3.0'],
};

/** The reply to an error (RFC 5321, section 4.2; RFC 3463): 4yz where sending again can help, 5yz where it cannot. */
const replyTo = ({ limits, logger }: Deps, error: unknown, requestId: string): SubmissionReply => {
  const { code: name, status: httpStatus, message, cause } = failureOf(error, limits.submissionSizeBytesMax);
  const [code, status] = replies[name] ?? byStatus[httpStatus];
  if (httpStatus >= 500)
    logger.error(
      { requestId, error: cause instanceof Error ? cause : new Error(name) },
      'a message was not taken by a fault of ours',
    );
  return { code, status, text: `${name}: ${error instanceof DomainError ? wholeText(error) : message}` };
};
