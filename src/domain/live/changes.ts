/** Topics of live events, and the changes that each event of the log causes in the lists of its team. */
import type { AccessPermission } from '../access/permissions.js';
import { splitStream, type TeamId } from '../core/ids.js';
import type { Position } from '../ports/event-store.js';

export const liveTopics = ['emails', 'batches', 'webhooks', 'queue', 'approvals'] as const;
export type LiveTopic = (typeof liveTopics)[number];

/** The permission of the list whose items a topic carries. */
export const permissionOfTopic: Readonly<Record<LiveTopic, AccessPermission>> = {
  emails: 'emails:read',
  batches: 'emails:read',
  webhooks: 'webhooks:read',
  queue: 'analytics:read',
  approvals: 'emails:read',
};

/** The kinds of stream whose events change something that a topic shows. */
export const liveKinds = ['email', 'batch', 'webhook', 'webhookOutcome', 'approval'] as const;

/** `attempts`: attempts to deliver to the subscription with that id. */
export type ChangedThing = Readonly<{ kind: 'email' | 'batch' | 'webhook' | 'attempts' | 'approval'; id: string }>;

/** An event at that position changed a thing of the team. */
export type LiveChange = ChangedThing & Readonly<{ team: TeamId; position: Position }>;

type Located = Readonly<{ stream: string; position: Position; metadata: Readonly<{ teamId: string }> }>;

/** Out: undefined for an event that changes nothing that a topic shows. */
export const changeOf = ({ stream, position, metadata }: Located): LiveChange | undefined => {
  const { kind, id } = splitStream(stream);
  const team = metadata.teamId as TeamId;
  switch (kind) {
    case 'email':
    case 'batch':
    case 'webhook':
    case 'approval':
      return { team, position, kind, id };
    case 'webhookOutcome':
      // The stream is named by the subscription and the number of a part.
      return { team, position, kind: 'attempts', id: id.slice(0, id.lastIndexOf('.')) };
    default:
      return undefined;
  }
};

/** A stream of live events has to look at this again: a thing, or the queue of the team. */
export type Look = ChangedThing | Readonly<{ kind: 'queue' }>;

/** Which looks a change leads to in a stream of those topics. The figures of a bulk send follow its emails. */
const looksOf = ({ kind, id }: LiveChange, topics: readonly LiveTopic[]): readonly Look[] => {
  const has = (...wanted: readonly LiveTopic[]): boolean => wanted.some((topic) => topics.includes(topic));
  switch (kind) {
    case 'email':
      return [
        ...(has('emails', 'batches') ? [{ kind, id }] : []),
        ...(has('queue') ? [{ kind: 'queue' as const }] : []),
      ];
    case 'batch':
      return [...(has('batches') ? [{ kind, id }] : []), ...(has('queue') ? [{ kind: 'queue' as const }] : [])];
    case 'webhook':
    case 'attempts':
      return has('webhooks') ? [{ kind, id }] : [];
    case 'approval':
      return has('approvals') ? [{ kind, id }] : [];
  }
};

export type PendingLooks = Readonly<{
  size: () => number;
  /** Notes a change; one of a thing that is noted already adds nothing. Out: false if there are too many. */
  add: (change: LiveChange) => boolean;
  /**
   * Takes the oldest, at most `max`. `position`: up to where a reader knows all changes once it is told these; `seen`:
   * up to where all changes are noted.
   */
  take: (max: number, seen: Position) => Readonly<{ looks: readonly Look[]; position: Position }>;
  clear: () => void;
}>;

/** Changes that a stream has not told yet, each thing once, in the order of the first change of each. */
export const openPendingLooks = (topics: readonly LiveTopic[], sizeMax: number): PendingLooks => {
  const pending = new Map<string, Readonly<{ look: Look; position: Position }>>();
  return {
    size: () => pending.size,
    add: (change) => {
      for (const look of looksOf(change, topics)) {
        const key = look.kind === 'queue' ? look.kind : `${look.kind}:${look.id}`;
        if (!pending.has(key)) pending.set(key, { look, position: change.position });
      }
      return pending.size <= sizeMax;
    },
    take: (max, seen) => {
      const looks: Look[] = [];
      for (const [key, { look, position }] of pending) {
        // The reader then knows everything before the first change that it is not told.
        if (looks.length === max) return { looks, position: position - 1 };
        looks.push(look);
        pending.delete(key);
      }
      return { looks, position: seen };
    },
    clear: () => pending.clear(),
  };
};
