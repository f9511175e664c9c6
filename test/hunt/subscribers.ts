/**
 * Callers who have webhooks: they subscribe, change, delete and ask again at random moments, some of them of another
 * team.
 */
import type { SendEmailRequest } from '../../src/api/email.js';
import type { Commands } from '../../src/commands/index.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, parseWebhookId, type TeamId, type WebhookId } from '../../src/domain/core/ids.js';
import { webhookKinds, type WebhookKind } from '../../src/domain/core/event.js';
import { manners, urlOf, type Manner } from './endpoints.js';
import type { Node } from './node.js';
import { callerOf, OTHER_TEAM, START_MS, TEAM, type World } from './world.js';

/** One whose making was answered. */
type Subscription = Readonly<{ id: WebhookId; team: TeamId; manner: Manner }>;

export type Subscribers = Readonly<{
  /** Plans that many calls at random moments, the first of them at once. */
  plan: (calls: number, withinMs: number) => void;
  /**
   * Most subscriptions are enabled again, and some of their owners ask for what they missed: each is asked for until it
   * is answered.
   */
  finish: () => void;
  /** No call waits for an answer that can still come. */
  areAnswered: () => boolean;
}>;

/** Most emails of a history lead to these. */
const LIVELY: readonly WebhookKind[] = [
  'email.queued',
  'email.sent',
  'email.deferred',
  'email.bounced',
  'email.failed',
  'email.cancelled',
];
const SUBSCRIPTIONS_MAX = 6;
/** An answer that does not come in that time will not come. */
const AGAIN_AFTER_MS = 100;

export const makeSubscribers = (world: World, anyNode: () => Node | undefined): Subscribers => {
  const { scheduler } = world;
  const { random } = scheduler;
  const subscriptions: Subscription[] = [];
  const deleted = new Set<WebhookId>();
  /** Calls that wait for their answer, by the process that was asked. */
  const underWay = new Map<object, Node>();
  let [calls, made, unanswered] = [0, 0, 0];

  const callerFor = (team: TeamId) => callerOf(`hook-${calls}`, team);

  const someKinds = (): WebhookKind[] => {
    if (random.chance(0.4)) return [...webhookKinds];
    const chosen = LIVELY.filter(() => random.chance(0.5));
    return chosen.length === 0 ? ['email.sent'] : chosen;
  };

  const subscribe = async (commands: Commands): Promise<void> => {
    made += 1;
    const manner = random.chance(0.4) ? 'healthy' : random.pick(manners);
    const team = random.chance(0.15) ? OTHER_TEAM : TEAM;
    const request = { url: urlOf(manner, made), events: someKinds(), enabled: random.chance(0.9) };
    const { id } = await commands.createWebhook(callerFor(team), request, 0);
    subscriptions.push({ id: assertDefined(parseWebhookId(id), 'subscription'), team, manner });
  };

  const sendOfOther = async (commands: Commands): Promise<void> => {
    const request = {
      templateId: 'welcome',
      to: [{ email: `other.${calls}@example.net` }],
      variables: { name: 'Bob' },
    };
    await commands.sendEmail(callerFor(OTHER_TEAM), request as SendEmailRequest, undefined);
  };

  const replay = async (commands: Commands, { id, team }: Subscription): Promise<void> => {
    const since = new Date(START_MS - 60_000).toISOString();
    await commands.replayWebhook(callerFor(team), id, {
      since,
      ...(random.chance(0.3) ? { events: someKinds() } : {}),
    });
  };

  const onSubscription = async (commands: Commands): Promise<void> => {
    if (subscriptions.length === 0) return subscribe(commands);
    const chosen = random.pick(subscriptions);
    const { id, team } = chosen;
    const caller = callerFor(team);
    const drawn = random.next();
    if (drawn < 0.25) await commands.updateWebhook(caller, id, { enabled: false });
    else if (drawn < 0.5) await commands.updateWebhook(caller, id, { enabled: true });
    else if (drawn < 0.6) await commands.updateWebhook(caller, id, { events: someKinds() });
    else if (drawn < 0.7) await commands.rotateWebhookSecret(caller, id, { overlapHours: random.pick([0, 1, 24]) });
    else if (drawn < 0.85) await replay(commands, chosen);
    else if (drawn < 0.95) {
      deleted.add(id);
      await commands.deleteWebhook(caller, id, { permanently: random.chance(0.5) });
    } else {
      await commands.restoreWebhook(caller, id, 0);
      deleted.delete(id);
    }
  };

  const call = (): void => {
    const node = anyNode();
    if (node === undefined) return;
    calls += 1;
    const drawn = random.next();
    const isFirst = made === 0;
    const mayMake = made < SUBSCRIPTIONS_MAX;
    const chosen = isFirst || (mayMake && drawn < 0.4) ? subscribe : drawn < 0.55 ? sendOfOther : onSubscription;
    const waiting = {};
    underWay.set(waiting, node);
    void chosen(node.commands)
      .catch(() => {})
      .finally(() => underWay.delete(waiting));
  };

  /** As its caller would: again, until the service says that it is done or refuses it. */
  const until = (ask: (commands: Commands) => Promise<unknown>): void => {
    unanswered += 1;
    const again = async (): Promise<void> => {
      calls += 1;
      try {
        const node = anyNode();
        if (node === undefined) throw new Error('no process serves');
        await ask(node.commands);
      } catch (fault) {
        if (!(fault instanceof DomainError) || fault.code === 'CONFLICT') {
          scheduler.at(scheduler.now() + AGAIN_AFTER_MS, undefined, () => void again());
          return;
        }
      }
      unanswered -= 1;
    };
    void again();
  };

  return {
    plan: (count, withinMs) => {
      for (let planned = 0; planned < count; planned += 1)
        scheduler.at(scheduler.now() + (planned < 2 ? 0 : random.next() * withinMs), undefined, call);
    },
    finish: () => {
      for (const one of subscriptions) {
        if (deleted.has(one.id) || !random.chance(0.7)) continue;
        const asksAgain = random.chance(0.3);
        until(async (commands) => {
          await commands.updateWebhook(callerFor(one.team), one.id, { enabled: true });
          if (asksAgain) await replay(commands, one);
        });
      }
    },
    areAnswered: () => unanswered === 0 && [...underWay.values()].every(({ machine }) => !machine.alive),
  };
};
