/** Text inside the parts of a package that are written by hand. */

/** Text without the characters that XML cannot hold. */
export const withoutInvalid = (text: string): string => text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Surrogate}/gu, '');

/** In: any text. Out: the same for an element or a quoted attribute of XML, without the characters that XML cannot hold. */
export const escapeXml = (text: string): string =>
  withoutInvalid(text).replace(/[&<>"'\n\r\t]/g, (character) => `&#${character.charCodeAt(0)};`);

export const XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
