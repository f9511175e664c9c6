/** The shape of every decision: facts come in with the command, events go out, nothing else happens. */

export type Decider<Command, Event, State> = Readonly<{
  /** Pure and synchronous. A broken rule throws DomainError; a repeated command yields no events. */
  decide: (command: Command, state: State) => readonly Event[];
  /** Pure and total over every event of the stream, sealed part destroyed or not. */
  evolve: (state: State, event: Event) => State;
  initialState: State;
}>;
