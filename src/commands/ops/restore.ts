/** What a restored log and restored keys still lack: that what was destroyed and deleted since stays so. */
import { erasingEvents } from '../../domain/events.js';
import { firstAfter } from '../core/log-notes.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { NotedKeys } from '../../domain/ports/log-note.js';
import { namesOf } from '../../event-log/codec.js';
import { recipientsErasedBy, recipientsErasedNames } from '../../event-log/erased-recipients.js';
import { readableMetadata } from '../../event-log/metadata.js';
import { allKeyIds } from '../../event-log/stream-keys.js';

type DestroyDeps = Readonly<{ keys: Pick<Keys, 'destroy'> }>;

/** Destroys what is destroyed in the keys that were replaced. */
export const destroyAsIn = async ({ keys }: DestroyDeps, replaced: Pick<NotedKeys, 'destroyed'>): Promise<void> => {
  for await (const ids of replaced.destroyed()) await keys.destroy(ids);
};

const erasing = namesOf(erasingEvents);

/** Destroys the keys of what is deleted or archived, and of recipients who are erased, in the log that was replaced, as far as that can be read. */
export const destroyAsDeletedIn = async ({ keys }: DestroyDeps, replaced: Pick<EventStore, 'readAll'>): Promise<void> => {
  for await (const { events } of replaced.readAll(0, { types: [...erasing, ...recipientsErasedNames] })) {
    const ids = events.flatMap((event) =>
      erasing.has(event.type) ? allKeyIds(readableMetadata(event) ?? {}) : (recipientsErasedBy(event)?.keyIds ?? []),
    );
    if (ids.length > 0) await keys.destroy(ids);
  }
};

/** Where the replaced log goes beyond the restored one and is of the same instance, where it ends; else 0. */
export const endOfReplaced = async (restored: EventStore, replaced: EventStore): Promise<number> => {
  const [ours, theirs] = [await firstAfter(restored, 0), await firstAfter(replaced, 0)];
  return ours !== undefined && ours.hash === theirs?.hash ? replaced.head() : 0;
};
