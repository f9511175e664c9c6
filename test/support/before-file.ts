/**
 * Loaded before each test file (run-tests.ts). Threads that the file starts load this module too, and need none of what
 * it brings.
 */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  await import('./cpu-seconds.js');
  await import('./quick-domains.js');
  await import('./shared-validators.js');
}
