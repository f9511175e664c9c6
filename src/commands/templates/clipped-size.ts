/** How much of a mail Gmail shows: what stands beyond that is cut off, behind a link. */
import type { FieldError } from '../../domain/core/errors.js';

const CLIPPED_FROM_BYTES = 102 * 1024;
/** Values are longer than samples, and links grow when they are tracked. */
const WARNED_FROM_BYTES = 92 * 1024;

const written = new Intl.NumberFormat('en-US');

/** In: the size of the HTML. Out: what is to be told of it; nothing where there is room. */
export const clippingWarnings = (htmlBytes: number): readonly FieldError[] =>
  htmlBytes < WARNED_FROM_BYTES
    ? []
    : [
        {
          field: 'schema',
          message: `makes a mail whose HTML has ${written.format(htmlBytes)} bytes; Gmail shows the first ${written.format(CLIPPED_FROM_BYTES)} of it, and a link to the rest`,
        },
      ];
