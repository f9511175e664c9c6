/** The note of the log in a database of MongoDB: one document beside what the database holds. */
import type { LogNote, NotedStore } from '../../domain/ports/log-note.js';
import type { Mongo } from './client.js';

/** A note that was set survives a power loss, and so do the documents of the state of a store. */
export const durableWrites = { writeConcern: { w: 'majority', journal: true } } as const;

type NoteRow = { _id: string; instance: string; position: number; hash: string };

/** In: the collection that holds the state of the store, a document for each thing. Closing the note closes this client. */
export const mongoLogNote = ({ db, host, close }: Mongo, collection: string): NotedStore => {
  const rows = db.collection<NoteRow>(collection);
  return {
    place: `${host}/${db.databaseName} ${collection}`,
    note: async () => {
      const row = await rows.findOne({ _id: 'log' });
      return row === null ? undefined : noteOf(row);
    },
    setNote: async ({ instance, position, hash }) =>
      void (await rows.updateOne({ _id: 'log' }, { $set: { instance, position, hash } }, { ...durableWrites, upsert: true })),
    close,
  };
};

const noteOf = ({ instance, position, hash }: NoteRow): LogNote => ({ instance, position, hash });
