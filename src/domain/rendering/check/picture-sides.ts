/** What an author should know of pictures in a mail of which nobody knows how large they are until the reader fetches them. */
import type { FieldError } from '../../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { addressesIn } from '../html-addresses.js';
import { isSettled } from '../addresses.js';
import { shorten } from '../scope/path.js';
import { safeImage } from '../urls.js';
import { visitTexts, type Texts } from './schema-texts.js';

/** Enough to work with. */
const WARNINGS_MAX = 20;
const CHARS_SHOWN = 60;

/** In: a checked email template with its translations. Out: a warning for each picture of another server that is shown without both sides; one whose address a variable brings may be of the gallery. */
export const pictureSideWarnings = (template: Texts): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const add = (field: string, address: string): void => {
    if (warnings.length < WARNINGS_MAX && isRemote(address)) warnings.push({ field, message: messageFor(address) });
  };
  const look = (text: string, field: string): void => {
    if (warnings.length >= WARNINGS_MAX || !text.includes('<')) return;
    for (const { tag, address, isSized } of addressesIn(text)) if (tag === 'img' && !isSized) add(field, address);
  };
  visitImages(template.schema as Json, 'schema', ({ src, width, height }, field) => {
    if (typeof src === 'string' && !(isSide(width) && isSide(height))) add(`${field}.src`, src);
  });
  visitTexts(template, look);
  return warnings.slice(0, WARNINGS_MAX);
};

const messageFor = (address: string): string =>
  `shows the picture "${shorten(address, CHARS_SHOWN)}" of another server without its width and height, so that what is below it moves when it comes: give both, or put it into the gallery, where its size is known`;

/** True where the address is one of another server whatever its values are. */
const isRemote = (address: string): boolean => {
  const at = address.indexOf('{{');
  return at < 0 ? /^https?:/i.test(safeImage(address) ?? '') : isSettled(address.slice(0, at), 'image');
};

const isSide = (value: Json | undefined): boolean => typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');

/** Calls `visit` with the props of each image, and their place. */
const visitImages = (value: Json | undefined, field: string, visit: (props: JsonObject, field: string) => void): void => {
  if (Array.isArray(value)) (value as readonly Json[]).forEach((item, at) => visitImages(item, `${field}[${at}]`, visit));
  if (!isJsonObject(value)) return;
  const { type, props } = value;
  if (type === 'image' && isJsonObject(props)) visit(props, `${field}.props`);
  for (const [name, member] of Object.entries(value)) visitImages(member, `${field}.${name}`, visit);
};
