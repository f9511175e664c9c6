/**
 * The end of the process, whatever hangs. `process.exit` waits for the threads of libuv, and a thread in a system call
 * that never returns (a file system that is away, a name server that is silent, a stopped terminal) would keep the
 * process and its locks for ever.
 */
import { setTimeout as wait } from 'node:timers/promises';

/** Names in `process.getActiveResourcesInfo` of requests that hold a thread in a system call. */
const THREAD_REQUESTS = new Set(['FSReqCallback', 'FSReqPromise', 'GetAddrInfoReqWrap', 'GetNameInfoReqWrap']);

const PAUSE_MS = 20;
const PAUSES_MAX = 50;

/** Ends the process once no thread is in a system call, and after a second in any case. */
export const endProcess = async (code: number): Promise<void> => {
  for (let pauses = 0; pauses < PAUSES_MAX && isThreadBusy(); pauses += 1) await wait(PAUSE_MS);
  endNow(code);
};

/** Ends the process, without waiting for threads that are in a system call. */
export const endNow = (code: number): never => {
  if (!isThreadBusy()) process.exit(code);
  process.exitCode = code;
  process.emit('exit', code);
  // The kernel ends every thread of a process that becomes another program. A signal would lose the exit code, and
  // process 1 of a container gets none from itself.
  process.execve?.(process.execPath, [process.execPath, '-e', `process.exit(${code})`], {});
  process.kill(process.pid, 'SIGKILL');
  throw new Error('unreachable: the process was killed');
};

const isThreadBusy = (): boolean => process.getActiveResourcesInfo().some((name) => THREAD_REQUESTS.has(name));
