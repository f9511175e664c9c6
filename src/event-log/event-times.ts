/** Folds compute with the times of events: a text that is no time is found when the event is read, not where it is used. */
import { UnreadableEvent } from './codec.js';
import { eventSchemas, type DomainEvent, type EventType } from '../domain/events.js';

const isTimeName = (name: string): boolean => name === 'at' || name.endsWith('At');

const timesOf: ReadonlyMap<EventType, readonly string[]> = new Map(
  (Object.keys(eventSchemas) as EventType[]).map((type) => [type, Object.keys(eventSchemas[type].data.properties).filter(isTimeName)]),
);

/** Throws UnreadableEvent where a time of the event is none. */
export const assertTimes = ({ type, data }: DomainEvent): void => {
  for (const name of timesOf.get(type) ?? []) {
    const time = (data as Readonly<Record<string, unknown>>)[name];
    if (typeof time === 'string' && Number.isNaN(Date.parse(time))) throw new UnreadableEvent(`${type}/${name}: is no time`);
  }
};
