/** The stored events of test/golden, as the events that they are today. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DomainEvent } from '../../src/domain/events.js';

const folder = fileURLToPath(new URL('../../../test/golden/events/', import.meta.url));

/** The stored names of all events, of all versions. */
export const goldenNames = (): readonly string[] =>
  readdirSync(folder).flatMap((file) => (file.endsWith('.json') ? [file.slice(0, -'.json'.length)] : []));

/** In: the stored name. */
export const goldenEvent = (name: string): DomainEvent => {
  return (JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as { event: DomainEvent }).event;
};
