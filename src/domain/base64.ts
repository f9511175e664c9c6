/** Base64 as callers send it. */

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** In: base64 (RFC 4648, section 4) with its padding, in lines or not. Out: the bytes, or undefined where it is none. */
export const decodeBase64 = (text: string): Buffer | undefined => {
  const compact = text.replace(/[\r\n]/g, '');
  return compact.length % 4 === 0 && BASE64.test(compact) ? Buffer.from(compact, 'base64') : undefined;
};
