/** Callers of the service: what they asked for, what they were told, and so what they may rely on. */
import type { Commands } from '../../src/commands/index.js';
import type { SendEmailRequest } from '../../src/api/email.js';
import { readApiKey } from '../../src/domain/keys/decider.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, parseEmailId, type EmailId } from '../../src/domain/core/ids.js';
import type { Node } from './node.js';
import { callerOf, type World } from './world.js';

/**
 * `open`: no answer came. `failed`: the answer was a fault of the service, so what was asked for may have been done or
 * not.
 */
export type CallEnd = 'open' | 'done' | 'refused' | 'failed';

export type SendCall = {
  readonly correlationId: string;
  readonly idempotencyKey: string | undefined;
  readonly request: SendEmailRequest;
  end: CallEnd;
  id: EmailId | undefined;
};

/** `jumps`: how often the time had jumped by then. */
export type Moment = Readonly<{ ms: number; jumps: number }>;

type Token = { readonly token: string; revokedAtMs: number | undefined };

export type Clients = Readonly<{
  sends: readonly SendCall[];
  /** Emails whose deletion was answered, and when. */
  deleted: ReadonlyMap<EmailId, Moment>;
  /** Emails whose cancellation was answered. */
  cancelled: ReadonlySet<EmailId>;
  /** Promises that were broken while the history went on. */
  broken: readonly string[];
  /** Plans that many calls at random moments. */
  plan: (calls: number, withinMs: number) => void;
  /** Repeats every call with an idempotency key until it is answered, as its caller would. */
  finish: () => void;
  /** No call waits for an answer that can still come. */
  areAnswered: () => boolean;
}>;

const templateText = (text: string) => ({
  sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: `<p>${text}</p>` }] }],
});

const USED_EVERY_MS = 150;
const USES_WHILE_REVOKED = 15;

export const makeClients = (world: World, token: string, anyNode: () => Node | undefined): Clients => {
  const { scheduler } = world;
  const { random } = scheduler;
  const sends: SendCall[] = [];
  const deleted = new Map<EmailId, Moment>();
  const cancelled = new Set<EmailId>();
  /** Its deletion was asked for; whether it was carried out is not known until it is answered. */
  const hasTriedToDelete = new Set<EmailId>();
  const broken: string[] = [];
  const tokens: Token[] = [{ token, revokedAtMs: undefined }];
  let calls = 0;
  let unanswered = 0;
  /** Calls that wait for their answer, by the process that was asked. */
  const underWay = new Map<object, Node>();

  const endOf = (fault: unknown): CallEnd =>
    fault instanceof DomainError && fault.code !== 'CONFLICT' ? 'refused' : 'failed';

  const admitted = async (commands: Commands, { token: text, revokedAtMs }: Token): Promise<void> => {
    const isRevoked = revokedAtMs !== undefined;
    await commands.authenticate(text);
    if (isRevoked)
      broken.push(`revoked-key: a key was admitted after its revocation had been answered at ${revokedAtMs}`);
  };

  const aRequest = (): SendEmailRequest => {
    const to = Array.from({ length: random.between(1, 3) }, (_, index) => ({
      email: `r${index}.${calls}@example.org`,
    }));
    const attachment = {
      filename: 'a.txt',
      contentType: 'text/plain',
      content: Buffer.from(`attachment ${calls}`).toString('base64'),
    };
    const scheduledMs = scheduler.now() + random.between(60_000, 600_000);
    return {
      templateId: 'welcome',
      to,
      variables: { name: 'Ann' },
      priority: random.pick(['high', 'normal', 'low'] as const),
      ...(random.chance(0.3) ? { attachments: [attachment] } : {}),
      ...(random.chance(0.15) ? { scheduledAt: new Date(scheduledMs).toISOString() } : {}),
    } as SendEmailRequest;
  };

  const perform = async (call: SendCall, commands: Commands, as: Token): Promise<void> => {
    const { correlationId, idempotencyKey, request } = call;
    try {
      await admitted(commands, as);
      const idempotency = idempotencyKey === undefined ? undefined : { key: idempotencyKey, body: request };
      const { body } = await commands.sendEmail(callerOf(correlationId), request, idempotency);
      const id = assertDefined(parseEmailId(body.id), 'email id');
      if (call.id !== undefined && call.id !== id)
        broken.push(`idempotency: ${idempotencyKey} was answered ${call.id} and ${id}`);
      call.id = id;
      call.end = 'done';
    } catch (fault) {
      if (call.end === 'open') call.end = endOf(fault);
    }
  };

  const send = async (commands: Commands): Promise<void> => {
    const known = sends.filter(({ idempotencyKey }) => idempotencyKey !== undefined);
    if (known.length > 0 && random.chance(0.2)) return perform(random.pick(known), commands, random.pick(tokens));
    const idempotencyKey = random.chance(0.4) ? `key-${calls}` : undefined;
    const call: SendCall = {
      correlationId: `call-${calls}`,
      idempotencyKey,
      request: aRequest(),
      end: 'open',
      id: undefined,
    };
    sends.push(call);
    await perform(call, commands, random.pick(tokens));
  };

  const anEmail = (): EmailId | undefined => {
    const ids = sends.flatMap(({ id }) => id ?? []);
    return ids.length === 0 ? undefined : random.pick(ids);
  };

  const onEmail = async (commands: Commands): Promise<void> => {
    const id = anEmail();
    if (id === undefined) return send(commands);
    const caller = callerOf(`call-${calls}`);
    const drawn = random.next();
    if (drawn < 0.3)
      await commands.retryEmail(caller, id, random.chance(0.5) ? { key: `retry-${id}`, body: null } : undefined);
    else if (drawn < 0.45) {
      await commands.cancelEmail(caller, id, drawn < 0.4 ? { key: `cancel-${id}`, body: null } : undefined);
      cancelled.add(id);
    } else if (drawn < 0.5) {
      const scheduledMs = scheduler.now() + random.between(30_000, 600_000);
      await commands.rescheduleEmail(caller, id, { scheduledAt: new Date(scheduledMs).toISOString() });
    } else if (drawn < 0.75) {
      hasTriedToDelete.add(id);
      await commands.deleteEmail(caller, id);
      if (!deleted.has(id)) deleted.set(id, { ms: scheduler.now(), jumps: world.jumps() });
    } else {
      const wasDeleted = deleted.has(id);
      try {
        await commands.getEmail(caller, id);
        if (wasDeleted) broken.push(`deleted: ${id} was shown after its deletion had been answered`);
      } catch (fault) {
        if (fault instanceof DomainError && fault.code === 'EMAIL_NOT_FOUND' && !hasTriedToDelete.has(id))
          broken.push(`accepted: ${id} was not found after it had been accepted`);
      }
    }
  };

  /** Uses the key at every process, so that each has it in memory. */
  const useEverywhere = async (key: Token): Promise<void> => {
    for (let times = 0; times < 3; times += 1) {
      const other = anyNode();
      if (other !== undefined) await admitted(other.commands, key).catch(() => {});
    }
  };

  const onKeys = async (commands: Commands): Promise<void> => {
    const mine = tokens.slice(1).filter(({ revokedAtMs }) => revokedAtMs === undefined);
    if (mine.length === 0 || random.chance(0.3)) {
      const { key } = await commands.createApiKey(callerOf(`call-${calls}`), {
        name: 'More',
        permissions: ['emails:send'] as never,
      });
      tokens.push({ token: key, revokedAtMs: undefined });
      return;
    }
    const chosen = random.pick(mine);
    await useEverywhere(chosen);
    // A process takes a key from memory only while it hears of it often.
    for (let times = 1; times <= USES_WHILE_REVOKED; times += 1)
      scheduler.at(scheduler.now() + times * USED_EVERY_MS, undefined, () => void useEverywhere(chosen));
    await commands.revokeApiKey(callerOf(`call-${calls}`), assertDefined(readApiKey(chosen.token), 'key').id);
    chosen.revokedAtMs = scheduler.now();
    await useEverywhere(chosen);
  };

  const onTemplate = async (commands: Commands): Promise<void> => {
    const caller = callerOf(`call-${calls}`);
    await commands.updateTemplate(caller, 'welcome', { schema: templateText(`text ${calls}`) as never });
    await commands.publishTemplate(caller, 'welcome');
  };

  /** In some histories most calls are about API keys. */
  const [most, ofMost] = random.chance(0.2) ? [0.7, onKeys] : [0, send];

  const call = (): void => {
    const node = anyNode();
    if (node === undefined) return;
    calls += 1;
    const drawn = random.next();
    const chosen =
      drawn < most ? ofMost : drawn < 0.52 ? send : drawn < 0.75 ? onEmail : drawn < 0.92 ? onKeys : onTemplate;
    const waiting = {};
    underWay.set(waiting, node);
    void chosen(node.commands)
      .catch(() => {})
      .finally(() => underWay.delete(waiting));
  };

  const repeat = (one: SendCall): void => {
    unanswered += 1;
    const again = async (): Promise<void> => {
      const node = anyNode();
      if (node !== undefined) await perform(one, node.commands, tokens[0]!);
      if (one.end === 'failed' || one.end === 'open') {
        one.end = 'open';
        scheduler.at(scheduler.now() + 100, undefined, () => void again());
        return;
      }
      unanswered -= 1;
    };
    one.end = 'open';
    void again();
  };

  return {
    sends,
    deleted,
    cancelled,
    broken,
    plan: (count, withinMs) => {
      for (let planned = 0; planned < count; planned += 1)
        scheduler.at(scheduler.now() + random.next() * withinMs, undefined, call);
    },
    finish: () => {
      for (const one of sends) if (one.idempotencyKey !== undefined && one.end !== 'done') repeat(one);
    },
    areAnswered: () => unanswered === 0 && [...underWay.values()].every(({ machine }) => !machine.alive),
  };
};
