/**
 * Loaded into a server before its own program (`--import`): answers on the socket of LOOP_GAUGE_SOCKET how long its
 * event loop was held at most since the last question, and how much memory the process had at most.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { isMainThread } from 'node:worker_threads';

/**
 * `heldMs`: between two turns of the loop; `cpuMs`: what its thread computed in that time, whoever else had the
 * processor.
 */
export type Gauge = Readonly<{ heldMs: number; cpuMs: number; addedMb: number }>;

const LOOK_EVERY_MS = 2;
const socket = process.env['LOOP_GAUGE_SOCKET'];

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Memory of the whole process; Linux keeps the peak and lets it be reset (proc(5), clear_refs). */
const kilobytes = (name: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

const measure = (path: string): void => {
  let held = 0;
  let computed = 0;
  let last = { at: performance.now(), cpu: cpuMs() };
  setInterval(() => {
    const next = { at: performance.now(), cpu: cpuMs() };
    held = Math.max(held, next.at - last.at - LOOK_EVERY_MS);
    computed = Math.max(computed, next.cpu - last.cpu);
    last = next;
  }, LOOK_EVERY_MS).unref();

  let restKb = kilobytes('VmRSS');
  const server = createServer((_request, response) => {
    const gauge: Gauge = { heldMs: held, cpuMs: computed, addedMb: (kilobytes('VmHWM') - restKb) / 1_024 };
    response.end(JSON.stringify(gauge));
    writeFileSync('/proc/self/clear_refs', '5');
    restKb = kilobytes('VmRSS');
    held = 0;
    computed = 0;
    last = { at: performance.now(), cpu: cpuMs() };
  });
  // A question may come after minutes, on the connection of the one before.
  server.keepAliveTimeout = 0;
  rmSync(path, { force: true });
  server.listen(path).unref();
};

// The document processes inherit neither the option nor the variable; threads inherit both.
if (socket !== undefined && isMainThread) measure(socket);
