/** Forms, files and unsaved templates that pages keep in the browser until they are sent or saved. */
import { keptName } from './values';

/** The names of their stores (IndexedDB). */
export const KEPT_FILES = keptName('files');
export const KEPT_TEMPLATES = keptName('templates');

/** The beginning of the names of forms, which a tab keeps. */
export const KEPT_FORMS = keptName('draft:');

/** Removes them, when somebody signs out. */
export const forgetFiles = (): void => {
  try {
    for (const store of [KEPT_FILES, KEPT_TEMPLATES]) indexedDB.deleteDatabase(store);
  } catch {
    // A browser that keeps nothing has nothing to forget.
  }
};
