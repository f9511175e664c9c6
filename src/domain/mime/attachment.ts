/** Headers of an attachment: its media type with parameters (RFC 2045, section 5.1) and its file name. */

/** The message for a name of which `safeFilename` leaves nothing. */
export const NO_NAME_LEFT =
  'must have a character beside dots, blanks and those that no file name may have (< > : " | ? * and slashes)';

/**
 * A file name from outside without its path, control characters, and characters that turn the direction of text or hide
 * an extension. May be empty.
 */
export const safeFilename = (name: string): string =>
  (name.split(/[/\\]/).at(-1) ?? '')
    .replace(/[\x00-\x1f\x7f<>:"|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/^[.\s]+|[.\s]+$/g, '');

export type MediaType = Readonly<{
  /** `type/subtype` in lower case. */
  type: string;
  /** Names in lower case; values as they were given, without quotes. */
  parameters: readonly (readonly [name: string, value: string])[];
}>;

const TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+/;
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`{|}~-]+$/;
const PARAMETER =
  /[ \t]*;[ \t]*([A-Za-z0-9!#$&+.^_`{|}~-]+)=(?:([A-Za-z0-9!#$%&'*+.^_`{|}~-]+)|"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*)")[ \t]*/y;

/** Parameters that the composer of the message writes itself. */
const RESERVED = ['name', 'boundary'];

/** undefined if the text is no media type, or has a parameter twice or a reserved one. */
export const parseMediaType = (text: string): MediaType | undefined => {
  const type = TYPE.exec(text)?.[0];
  if (type === undefined) return undefined;
  const parameters = new Map<string, string>();
  let at = type.length;
  while (at < text.length) {
    PARAMETER.lastIndex = at;
    const found = PARAMETER.exec(text);
    const name = found?.[1]?.toLowerCase();
    if (found === null || name === undefined || parameters.has(name) || RESERVED.includes(name)) return undefined;
    parameters.set(name, found[2] ?? found[3]!.replace(/\\(.)/g, '$1'));
    at = PARAMETER.lastIndex;
  }
  return { type: type.toLowerCase(), parameters: [...parameters] };
};

/** The pieces `name=value`, with quotes where the value needs them. */
export const parameterPieces = ({ parameters }: MediaType): readonly string[] =>
  parameters.map(([name, value]) => `${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`);

export const mediaTypeText = (mediaType: MediaType): string =>
  [mediaType.type, ...parameterPieces(mediaType)].join('; ');
