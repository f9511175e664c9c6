/** `sealpost migrate --from DATA --to SETTINGS`: copies an instance to stores of another engine while its service is stopped. */
import { migrate as migrateTo, settingsOf } from '../../service/ops/migration.js';
import { endWhenNobodyReads, print, progressBar, type Progress } from '../core/output.js';

export type MigrateCliOptions = Readonly<{ from: string; to: string; oneAtATime?: boolean }>;

/** A bar for each part whose size is known, which begins with the first thing that is told of it. */
const openBars = () => {
  let open: Readonly<{ title: string; bar: Progress }> | undefined;
  const stop = (): void => open?.bar.stop();
  const of =
    (title: string) =>
    (done: number, total = 0): void => {
      if (open?.title !== title) {
        stop();
        open = { title, bar: progressBar(title.padEnd(10), total) };
      }
      open.bar.update(done);
    };
  return { of, stop };
};

export const migrate = async ({ from, to, oneAtATime = false }: MigrateCliOptions): Promise<void> => {
  endWhenNobodyReads();
  const [source, target] = [settingsOf(from), settingsOf(to)];
  const { of, stop } = openBars();
  const progress = { keys: of('keys'), files: of('files'), copied: of('copy'), verified: of('verify') };
  const { events, streams, seals, keyRows, files } = await migrateTo({ from: source, to: target, oneAtATime, progress }).finally(stop);
  print(
    `${events} events in ${streams} streams, ${seals} seals, ${keyRows} rows of keys and ${files} files were copied; chain and seals verify.`,
  );
  print(`Start the service with ${to}: it makes the read models anew. Keep ${from} until you have seen mail go out.`);
};
