/** Files that pages keep in the browser until they are sent. */
import { keptName } from './values';

/** The name of their store (IndexedDB). */
export const KEPT_FILES = keptName('files');

/** Removes them, when somebody signs out. */
export const forgetFiles = (): void => {
  try {
    indexedDB.deleteDatabase(KEPT_FILES);
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
};
