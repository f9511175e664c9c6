/** The version of the program, from its package. */
import { readFileSync } from 'node:fs';

const read = (): string => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : '0.0.0';
};

export const version = read();
