/** Names of files that came from outside. */

/** What is said of a name of which `safeFilename` leaves nothing. */
export const NO_NAME_LEFT = 'must have a character beside dots, blanks and those that no file name may have (< > : " | ? * and slashes)';

/** A file name without paths, control characters, and the marks that turn text round or hide an extension; empty where nothing is left. */
export const safeFilename = (name: string): string =>
  (name.split(/[/\\]/).at(-1) ?? '')
    .replace(/[\x00-\x1f\x7f<>:"|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/^[.\s]+|[.\s]+$/g, '');
