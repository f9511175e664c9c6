/** A stop goes on when a part of the service hangs or fails. */
import t from 'tap';
import { closeAll, within } from '../../src/service/app.js';

const never = (): Promise<void> => new Promise(() => {});

void t.test('parts close in their order, and each only when the one before has closed', async (t) => {
  const seen: string[] = [];
  const part = (name: string) => ({
    close: async () => {
      seen.push(`${name} closes`);
      await Promise.resolve();
      seen.push(`${name} closed`);
    },
  });
  t.same(await closeAll({ bus: part('bus'), log: part('log') }, new AbortController().signal), []);
  t.same(seen, ['bus closes', 'bus closed', 'log closes', 'log closed']);
});

void t.test('a part that hangs is named, and those after it are told to close', async (t) => {
  const over = new AbortController();
  let isClosed = false;
  const closing = closeAll({ bus: { close: never }, log: { close: async () => void (isClosed = true) } }, over.signal);
  over.abort();
  t.same(await closing, ['bus']);
  t.ok(isClosed);
});

void t.test('a part that rejects or throws is named with its fault, and those after it close', async (t) => {
  let isClosed = false;
  const left = await closeAll(
    {
      bus: { close: () => Promise.reject(new Error('gone')) },
      keys: {
        close: () => {
          throw new Error('locked');
        },
      },
      log: { close: async () => void (isClosed = true) },
    },
    new AbortController().signal,
  );
  t.same(left, ['bus (gone)', 'keys (locked)']);
  t.ok(isClosed);
});

void t.test('work is waited for until it is done, fails, or the signal aborts', async (t) => {
  await within(new AbortController().signal, Promise.resolve());
  await t.rejects(within(new AbortController().signal, Promise.reject(new Error('failed'))), { message: 'failed' });
  await within(AbortSignal.abort(), never());
});
