export type WorkerHealth = Readonly<{
  name: string;
  state: 'starting' | 'running' | 'restarting' | 'stopped';
  /** How often it was started again after a fault. */
  restarts: number;
  /** The name or code of the last fault, without its message. */
  lastFault: string | null;
  /** How many pieces of its work met a fault of ours and wait to be tried again; absent for none. */
  stuckWork?: number;
}>;

/** What of the log cannot be read: the number of damaged events, and where the first one of a newer program stands. */
export type LogHealth = Readonly<{ unreadableEvents: number; unknownEvent: Readonly<{ position: number; type: string }> | null }>;
