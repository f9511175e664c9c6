/**
 * Commands about one instance. `sealpost doctor`: a line for each check, and what helps. `sealpost migrate`: copies a
 * stopped instance to stores of another engine. `sealpost mailbox`: prints the link of the built-in mailbox once more.
 * `sealpost clock confirm`: tells the running service, or the next start, that the time of day of this machine is
 * right. `sealpost parked`: lists and releases work that was set aside by a bus of its own server, beside a running
 * service.
 */
import { randomUUID } from 'node:crypto';
import { hasRelay, readConfig, ConfigError, type Config, readServeConfig } from '../../service/settings/config.js';
import { confirmTimeOfDay } from '../../service/ops/clock.js';
import { print, progressBar, type Progress, exitCodes } from '../core/output.js';
import { migrate as migrateTo, settingsOf } from '../../service/ops/migration.js';
import { examine, type Check } from '../../service/ops/doctor.js';
import { assertFounded, assertOwner, withEngine } from '../core/engine.js';
import { openBus } from '../../service/stores/stores.js';
import type { Parked, ParkedWork } from '../../domain/ports/bus.js';
import { isoTime } from '../../domain/core/time.js';
import { requireAddress } from '../../domain/mime/address.js';
import { counted } from '../../shared/text.js';
import { mailboxLink, mailboxTokenOf } from '../../service/mailbox.js';

export const confirmClock = (): void => {
  const config = readConfig();
  assertFounded(config);
  print(
    `${confirmTimeOfDay(config, randomUUID())} is confirmed as the time of day; a running service goes by it within some seconds.`,
  );
};

export type MigrateCliOptions = Readonly<{ from: string; to: string; oneAtATime?: boolean }>;

const signs: Readonly<Record<Check['level'], string>> = { ok: 'ok     ', warning: 'WARNING', fault: 'FAULT  ' };

export type DoctorOptions = Readonly<{ send?: string }>;

export const doctor = async ({ send }: DoctorOptions): Promise<void> => {
  const sendTo = send === undefined ? undefined : requireAddress(send, '--send');
  const counts = { ok: 0, warning: 0, fault: 0 };
  const show = ({ level, name, says, help }: Check): void => {
    counts[level] += 1;
    print(`${signs[level]} ${name}: ${says}`);
    if (help !== undefined) print(`        → ${help}`);
  };
  const config = configOr(show);
  if (config !== undefined)
    for await (const check of examine(config, sendTo === undefined ? {} : { sendTo })) show(check);
  print(`${counts.ok} ok, ${counted(counts.warning, 'warning')}, ${counted(counts.fault, 'fault')}`);
  if (counts.fault > 0) process.exitCode = exitCodes.damaged;
};

const configOr = (show: (check: Check) => void): Config | undefined => {
  try {
    return readConfig();
  } catch (fault) {
    if (!(fault instanceof ConfigError)) throw fault;
    show({ level: 'fault', name: 'settings', says: fault.message, help: '.env.example lists all settings' });
    return undefined;
  }
};

export const migrate = async ({ from, to, oneAtATime = false }: MigrateCliOptions): Promise<void> => {
  const [source, target] = [settingsOf(from), settingsOf(to)];
  for (const config of [source, target]) assertOwner(config);
  const { of, stop } = openBars();
  const progress = { keys: of('keys'), files: of('files'), copied: of('copy'), verified: of('verify') };
  const { events, streams, seals, keyRows, files } = await migrateTo({
    from: source,
    to: target,
    oneAtATime,
    progress,
  }).finally(stop);
  print(
    `${counted(events, 'event')} in ${counted(streams, 'stream')}, ${counted(seals, 'seal')}, ${counted(keyRows, 'row')} of keys and ${counted(files, 'file')} were copied; chain and seals verify.`,
  );
  print(`Start the service with ${to}: it makes the read models anew. Keep ${from} until you have seen mail go out.`);
};

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

export const mailbox = (): void => {
  const config = readServeConfig();
  if (hasRelay(config))
    throw new Error(
      `${config.relays === undefined ? 'SEALPOST_SMTP_URL names a relay' : 'SEALPOST_RELAYS names relays'}: mail goes there, and there is no mailbox to look into`,
    );
  assertFounded(config);
  print(mailboxLink(config.publicUrl, mailboxTokenOf(config)));
};

export type ListParkedOptions = Readonly<{ json?: boolean }>;
export type ReleaseParkedOptions = Readonly<{ all?: boolean }>;

const NOTHING_KEPT =
  'The bus of this service is in its own process (SEALPOST_BUS_URL=memory:) and keeps no parked work: its timers bring it back by themselves.';

export const listParked = ({ json }: ListParkedOptions): Promise<void> =>
  withParked(async (parked) => {
    let count = 0;
    for await (const one of parked.list()) {
      count += 1;
      print(json === true ? JSON.stringify(recordOf(one)) : lineOf(one));
    }
    if (count === 0 && json !== true) print('nothing is parked');
  });

export const releaseParked = async (ids: readonly string[], { all }: ReleaseParkedOptions): Promise<void> => {
  if ((ids.length === 0) !== (all === true))
    throw new Error('name the ids that `sealpost parked list` shows, or say --all');
  await withParked(async (parked) => {
    const wanted = new Set(ids);
    const found: Parked[] = [];
    for await (const one of parked.list()) if (all === true || wanted.has(one.pointer.id)) found.push(one);
    for (const { processor, pointer } of found) {
      if (!(await parked.release({ processor, id: pointer.id })))
        throw new Error(
          `${pointer.id} was not released: the bus has no room for it now, or somebody else has released it`,
        );
      wanted.delete(pointer.id);
      print(`${pointer.id} is given to ${processor} again`);
    }
    if (wanted.size > 0) throw new Error(`not parked: ${[...wanted].join(', ')}`);
    if (found.length === 0) print('nothing is parked');
  });
};

const withParked = (work: (parked: ParkedWork) => Promise<void>): Promise<void> =>
  withEngine(async (engine) => {
    // Ignore the roles of the process that these settings are for.
    const config = { ...readConfig(), roles: ['process'] as const };
    const bus = await openBus(config, engine);
    try {
      if (bus.parked === undefined) print(NOTHING_KEPT);
      else await work(bus.parked);
    } finally {
      await bus.close();
    }
  });

const recordOf = ({ processor, pointer, deliveries, reason, parkedAtMs }: Parked) => ({
  id: pointer.id,
  stream: pointer.stream,
  processor,
  priority: pointer.priority,
  parkedAt: isoTime(parkedAtMs),
  deliveries,
  reason,
});

const lineOf = ({ processor, pointer, deliveries, reason, parkedAtMs }: Parked): string =>
  `${isoTime(parkedAtMs)}  ${pointer.id}  ${processor}, after ${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}: ${reason}`;
