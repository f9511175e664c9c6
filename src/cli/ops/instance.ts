/** `sealpost doctor`: one line for each check, and what to do where it is not well. */
import { ConfigError, readConfig, type Config } from '../../service/settings/config.js';
import { examine, type Check } from '../../service/ops/doctor.js';
import { exitCodes } from '../core/exit-codes.js';
import { endWhenNobodyReads, print } from '../core/output.js';

const signs: Readonly<Record<Check['level'], string>> = { ok: 'ok     ', warning: 'WARNING', fault: 'FAULT  ' };

export const doctor = async (): Promise<void> => {
  endWhenNobodyReads();
  const counts = { ok: 0, warning: 0, fault: 0 };
  const show = ({ level, name, says, help }: Check): void => {
    counts[level] += 1;
    print(`${signs[level]} ${name}: ${says}`);
    if (help !== undefined) print(`        → ${help}`);
  };
  const config = configOr(show);
  if (config !== undefined) for await (const check of examine(config)) show(check);
  print(`${counts.ok} ok, ${counts.warning} warnings, ${counts.fault} faults`);
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
