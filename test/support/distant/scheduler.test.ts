/**
 * Virtual time: it repeats by its seed, cuts off the dead, holds up the frozen, and gives every call the fate that was
 * planned for it.
 */
import t from 'tap';
import { fates, noFaults, randomFaults, scriptedFaults, type FaultPlan } from './faults.js';
import { ask, ConnectionLost } from './network.js';
import { clockOf, machineNamed, makeScheduler, reordering, type Scheduler } from './scheduler.js';

const networkOf = (scheduler: Scheduler, faults: FaultPlan = noFaults(), name = 'client') => ({
  scheduler,
  faults,
  machine: machineNamed(name),
});

const runAll = async (scheduler: Scheduler): Promise<void> => {
  while (await scheduler.step());
};

void t.test('the same seed gives the same order and the same faults, another seed others', async (t) => {
  const played = async (seed: number): Promise<string> => {
    const scheduler = makeScheduler({ seed, latency: reordering });
    const faults = randomFaults(scheduler.random, {
      fates: { '*': { refused: 0.1, 'answer-lost': 0.1, late: 0.1 } },
      faults: {},
    });
    const network = networkOf(scheduler, faults);
    const order: string[] = [];
    for (let call = 0; call < 50; call += 1) {
      const note = (what: string) => (): void => void order.push(`${call} ${what} at ${scheduler.now()}`);
      void ask(network, 'call', note('served')).then(note('answered'), note('broken'));
    }
    await runAll(scheduler);
    return order.join('\n');
  };
  const first = await played(7);
  t.equal(await played(7), first);
  t.not(await played(8), first);
  t.match(first, /served/);
  t.match(first, /broken/);
});

void t.test('each fate: what the server did, and what the caller learns', async (t) => {
  const ends = new Map<string, string>();
  for (const fate of fates) {
    const scheduler = makeScheduler({ seed: 1 });
    let served = 0;
    const faults = scriptedFaults([{ operation: 'call', call: 1, fate }]);
    const call = ask(networkOf(scheduler, faults), 'call', () => (served += 1));
    const end = call.then(
      () => 'answered',
      (fault: unknown) => (fault instanceof ConnectionLost && fault.certain ? 'refused' : 'broken'),
    );
    await runAll(scheduler);
    ends.set(fate, `${await end}, served ${served}`);
  }
  t.same(Object.fromEntries(ends), {
    done: 'answered, served 1',
    refused: 'refused, served 0',
    'answer-lost': 'broken, served 1',
    'request-lost': 'broken, served 0',
    late: 'broken, served 1',
  });
});

void t.test('what a dead machine has sent arrives, and no answer reaches it; a frozen one gets it later', async (t) => {
  const scheduler = makeScheduler({ seed: 1 });
  const [dead, frozen] = [networkOf(scheduler), networkOf(scheduler)];
  const heard: string[] = [];
  void ask(dead, 'call', () => heard.push('served the dead')).then(() => heard.push('the dead was answered'));
  void ask(frozen, 'call', () => heard.push('served the frozen')).then(() =>
    heard.push(`the frozen was answered at ${scheduler.now()}`),
  );
  const asleep = clockOf(scheduler, dead.machine).sleep(5, new AbortController().signal);
  void asleep.then(() => heard.push('the dead woke'));
  dead.machine.alive = false;
  frozen.machine.frozenUntilMs = 1_000;
  await runAll(scheduler);
  t.same(heard, ['served the dead', 'served the frozen', 'the frozen was answered at 1000']);
});

void t.test('a jump makes late what is due, and a sleep ends with its signal', async (t) => {
  const scheduler = makeScheduler({ seed: 1 });
  const clock = clockOf(scheduler, machineNamed('client'));
  const ended: string[] = [];
  const stop = new AbortController();
  void clock.sleep(10, stop.signal).then(() => ended.push(`short at ${clock.now()}`));
  void clock.sleep(50_000, stop.signal).then(() => ended.push('long'));
  scheduler.jump(5_000);
  t.equal(await scheduler.step(5_000), true);
  t.equal(await scheduler.step(5_000), false, 'nothing more is due by then');
  stop.abort();
  await runAll(scheduler);
  t.same(ended, ['short at 5000', 'long']);
});
