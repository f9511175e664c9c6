/** The version of the program, from its package. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The directory of the program's package. */
export const programDirectory = fileURLToPath(new URL('../../../', import.meta.url)).replace(/\/$/, '');

const read = (): string => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : '0.0.0';
};

export const version = read();
