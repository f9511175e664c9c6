/** The stored events of test/golden, as the events that they are today. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DomainEvent } from '../../src/domain/events.js';

/** In: the stored name. */
export const goldenEvent = (name: string): DomainEvent => {
  const file = fileURLToPath(new URL(`../../../test/golden/events/${name}.json`, import.meta.url));
  return (JSON.parse(readFileSync(file, 'utf8')) as { event: DomainEvent }).event;
};
