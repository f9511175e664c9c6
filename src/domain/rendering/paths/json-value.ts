/** A JSON value of a prop, with its paths read by a function. */
import type { Json } from '../../core/json.js';
import { hasPlaceholder, parseTemplatedText } from '../fill/templated-text.js';
import type { Path } from '../scope/path.js';
import { writeValue } from '../scope/values.js';

/** A string that is one placeholder is the value behind it, with its type; other texts are filled. */
export const jsonValueOf = (value: Json | undefined, segmentsMax: number, read: (path: Path) => Json | undefined): Json | undefined => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return value;
  const { parts } = parseTemplatedText(value, segmentsMax);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return read(only.path);
  return parts.map((part) => (typeof part === 'string' ? part : writeValue(read(part.path)))).join('');
};
