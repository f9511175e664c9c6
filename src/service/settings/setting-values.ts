/** How single settings are read, whatever they are for. Each throws ConfigError with the name of the setting. */
import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.js';
import type { SettingName } from './settings.js';

export const integer = (name: SettingName, value: string, min: number, max: number): number => {
  const parsed = Number(value);
  if (!/^\d+$/.test(value) || parsed < min || parsed > max) {
    throw new ConfigError(`${name}=${value} is not a whole number from ${min} to ${max}.`);
  }
  return parsed;
};

export const oneOf = <T extends string>(name: SettingName, value: string, allowed: readonly T[]): T => {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new ConfigError(`${name}=${value} is none of ${allowed.join(', ')}.`);
  return found;
};

export const readBoolean = (name: SettingName, value: string | undefined): boolean | undefined =>
  value === undefined ? undefined : oneOf(name, value, ['true', 'false']) === 'true';

export const readFile = (name: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (fault) {
    throw unreadable(name, file, fault);
  }
};

export const unreadable = (name: string, path: string, fault: unknown): ConfigError => {
  return new ConfigError(`${name}=${path} cannot be read (${codeOf(fault)}).`);
};

export const codeOf = (fault: unknown): string => (fault instanceof Error && 'code' in fault ? String(fault.code) : 'unreadable');

export const secret = (value: string | undefined, name: string, file: string | undefined, fileName: string): string | undefined => {
  if (value !== undefined && file !== undefined) throw new ConfigError(`${name} and ${fileName} are both set; keep one of them.`);
  return file === undefined ? value : readFile(fileName, file).trim();
};
