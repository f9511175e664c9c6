/** The report of the program of hostile sizes about a server that ends under its calls. */
import t from 'tap';
import { endOf } from './sizes.js';

const fault = new Error('connect ECONNREFUSED');

void t.test('a server that has ended is told with its signal and all that it said', async (t) => {
  const ended = Promise.resolve({ code: null, signal: 'SIGKILL' as const, stdout: 'running', stderr: 'out of memory' });
  const told = await endOf({ ended }, fault);
  t.match(told, { message: /code null, signal SIGKILL.*running\nout of memory/s, cause: fault });
});

void t.test('a fault beside a server that runs is told as it is', async (t) => {
  t.equal(await endOf({ ended: new Promise(() => undefined) }, fault), fault);
});
