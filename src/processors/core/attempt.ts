/** One attempt: got ready, recorded to begin, made, recorded to have ended. What is not ready is not begun, so a crash spends no attempt of it. */
import type { EventOfKind, StreamKind } from '../../domain/events.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { AttemptingDeclaration, BegunAttempt, Made, NewAttempt } from './declaration.js';
import { workerLease } from './lease.js';
import { appendOrLose, NOTHING, record, type Done, type Loaded, type WorkerContext } from './recording.js';

type Context<Kind extends StreamKind, State, Command> = WorkerContext<Kind, State, Command> &
  Readonly<{ declaration: AttemptingDeclaration<Kind, State, Command> }>;

/** Looks whether there is anything to attempt, then makes the attempt. */
export const makeAttempt = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  deliveries: number,
): Promise<Done> => {
  const { deps, declaration } = context;
  const { attempts, gate, name } = declaration;
  const { stream, state } = loaded;
  const worker = attempts.underWay(state);
  // Work on one stream never runs beside itself here, so an attempt of our own met a fault: it goes on.
  if (worker === deps.worker) return making(context, loaded, { isOurs: true, workerGone: false }, deliveries);
  const lease = worker === undefined ? undefined : await deps.leases.read(workerLease(name, worker));
  // The attempt of a worker that lives is under way.
  if (lease !== undefined) return { kind: 'put-back', atMs: lease.untilMs };
  const workerGone = worker !== undefined;
  const { attempt, events, begins } = beginning(context, loaded, workerGone);
  if (events.length === 0) return NOTHING;
  if (!begins) {
    await appendOrLose(deps, loaded, events);
    return NOTHING;
  }
  if (attempts.hold !== undefined && gate?.isOpen() === false && attempts.passesGate?.(state) !== true) {
    if (!(await hold(context, loaded, attempts.hold(attempt)))) gate.ask();
    return NOTHING;
  }
  attempts.assertPossible?.(stream, state);
  return making(context, loaded, { isOurs: false, workerGone }, deliveries);
};

/** What records at this moment that an attempt begins, and whether it does. */
const beginning = <Kind extends StreamKind, State, Command>(
  { deps, declaration: { attempts, decider, deadlineMs } }: Context<Kind, State, Command>,
  { state }: Loaded<State>,
  workerGone: boolean,
) => {
  const nowMs = deps.clock.now();
  const attempt: NewAttempt = { at: isoTime(nowMs), worker: deps.worker, deadlineAt: isoTime(nowMs + deadlineMs), workerGone };
  const events = decider.decide(attempts.begin(attempt, state), state);
  const after = events.reduce(decider.evolve, state as State);
  const begins = events.length > 0 && after !== undefined && after !== null && attempts.underWay(after) === deps.worker;
  return { attempt, events, after, begins };
};

/** Out: false where there was nothing to be recorded. */
const hold = async <Kind extends StreamKind, State, Command>(
  { deps, declaration: { decider } }: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  command: Command,
): Promise<boolean> => {
  const events = decider.decide(command, loaded.state);
  if (events.length > 0) await appendOrLose(deps, { ...loaded, cause: causeNow(deps, loaded) }, events);
  return events.length > 0;
};

const causeNow = ({ clock }: Context<StreamKind, unknown, unknown>['deps'], { cause }: Loaded<unknown>) => ({
  ...cause,
  at: isoTime(clock.now()),
});

type Earlier = Readonly<{
  /** The state shows the attempt already, begun by this worker. */
  isOurs: boolean;
  workerGone: boolean;
}>;

const making = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  earlier: Earlier,
  deliveries: number,
): Promise<Done> => {
  const { declaration, held, deadlines } = context;
  let begun: Loaded<State> | undefined;
  let time: ReturnType<typeof deadlines.begin> | undefined;
  const begin = async (): Promise<BegunAttempt<NonNullable<State>> | undefined> => {
    // Before the moment that is recorded as the end of its time.
    time = deadlines.begin();
    begun = earlier.isOurs ? loaded : await recordBeginning(context, loaded, earlier.workerGone);
    return begun && { state: begun.state, signal: time.signal };
  };
  const note = async (command: Command): Promise<void> => {
    if (begun === undefined) throw new Error('an attempt ends that has not begun');
    begun = (await record(context, begun, command))();
  };
  const end = async (command: Command): Promise<void> => {
    if (begun === undefined) throw new Error('an attempt ends that has not begun');
    await record(context, begun, command);
  };
  try {
    const made = await declaration.attempts.make({
      stream: loaded.stream,
      teamId: loaded.cause.teamId,
      state: loaded.state,
      deliveries,
      signal: held.signal,
      begin,
      note,
      end,
    });
    return await conclude(context, loaded, made);
  } finally {
    time?.over();
  }
};

const conclude = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  made: Made<Command>,
): Promise<Done> => {
  switch (made.kind) {
    case 'done':
    case 'put-back':
      return made;
    case 'hold':
      await hold(context, loaded, made.command);
      return { kind: 'done', ...(made.line === undefined ? {} : { line: made.line }) };
  }
};

/** Out: undefined where somebody else has changed the stream since it was loaded, or the time of the attempt has not come. */
const recordBeginning = async <Kind extends StreamKind, State, Command>(
  context: Context<Kind, State, Command>,
  loaded: Loaded<State>,
  workerGone: boolean,
): Promise<Loaded<State> | undefined> => {
  const { deps } = context;
  const cause = causeNow(deps, loaded);
  const { events, after, begins } = beginning(context, loaded, workerGone);
  if (!begins) return undefined;
  const version = await appendOrLose(deps, { ...loaded, cause }, events as readonly EventOfKind<Kind>[]);
  return version && { ...loaded, state: after as NonNullable<State>, version, cause };
};
