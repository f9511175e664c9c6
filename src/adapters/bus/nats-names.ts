/** Names of streams, consumers and subjects, and what a pointer looks like on the wire. */
import { createHash } from 'node:crypto';
import { priorities, type Pointer, type Priority } from '../../domain/ports/bus.js';

/** Pointers of one priority are spread over so many subjects by team and source, which are delivered in turns. */
export const GROUPS = 8;

export type Names = Readonly<{
  workStream: string;
  parkedStream: string;
  workSubjects: string;
  parkedSubjects: string;
  /** Where a pointer stands: there is at most one of each id. */
  workSubject: (processor: string, pointer: Pointer) => string;
  /** All pointers of a processor, priority and group. */
  groupSubject: (processor: string, priority: Priority, group: number) => string;
  parkedSubject: (processor: string, pointer: Pointer) => string;
  consumer: (processor: string, priority: Priority, group: number) => string;
}>;

export const namesOf = (prefix: string): Names => {
  const streams = prefix.toUpperCase();
  const groupSubject = (processor: string, priority: Priority, group: string | number): string =>
    `${prefix}.work.${token(processor)}.${priority}.${group}.`;
  return {
    workStream: `${streams}_WORK`,
    parkedStream: `${streams}_PARKED`,
    workSubjects: `${prefix}.work.>`,
    parkedSubjects: `${prefix}.parked.>`,
    workSubject: (processor, pointer) => groupSubject(processor, pointer.priority, groupOf(pointer)) + token(pointer.id),
    groupSubject: (processor, priority, group) => `${groupSubject(processor, priority, group)}*`,
    parkedSubject: (processor, { id }) => `${prefix}.parked.${token(processor)}.${token(id)}`,
    consumer: (processor, priority, group) => `${token(processor)}-${priority}-${group}`,
  };
};

/** Teams and sources share a group by chance alone. */
export const groupOf = ({ team = '', source = '' }: Pick<Pointer, 'team' | 'source'>): number => {
  let hash = 0x811c9dc5;
  for (const text of [team, '\n', source]) {
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  // The lowest bits of this hash depend on the lowest bits of the characters alone.
  return ((hash ^ (hash >>> 15)) >>> 0) % GROUPS;
};

/** As it is where NATS takes it in a subject and in the name of a consumer. */
const token = (text: string): string => (/^[\w@-]{1,128}$/.test(text) ? text : `~${createHash('sha256').update(text).digest('base64url')}`);

export const encodePointer = ({ id, stream, team, source, sender }: Pointer): string =>
  JSON.stringify({ id, stream, team, source, sender });

/** Out: undefined where it is no pointer of ours. */
export const decodePointer = (payload: string, priority: string | undefined): Pointer | undefined => {
  const known = priorities.find((candidate) => candidate === priority);
  const { id, stream, team, source, sender } = membersOf(payload);
  if (known === undefined || typeof id !== 'string' || typeof stream !== 'string') return undefined;
  return {
    id,
    stream,
    priority: known,
    ...(typeof team === 'string' ? { team } : {}),
    ...(typeof source === 'string' ? { source } : {}),
    ...(typeof sender === 'string' ? { sender } : {}),
  };
};

/** The members of a JSON object, none where it is something else. */
export const membersOf = (json: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
};
