/** How a browser is told to show or to save a file, and under which name. */

/** `Content-Disposition` with the name in both forms (RFC 6266, section 5). */
export const disposition = (type: 'attachment' | 'inline', filename: string): string => {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename.replace(/\p{Surrogate}/gu, '_')).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${plain}"; filename*=UTF-8''${encoded}`;
};
