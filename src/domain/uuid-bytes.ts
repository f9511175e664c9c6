/** A UUID as its 16 bytes, and back: what tokens hold of an id. */
export const UUID_BYTES = 16;

export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

/** Of the 16 bytes from that place on. */
export const uuidOfBytes = (bytes: Buffer, at = 0): string =>
  bytes.toString('hex', at, at + UUID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
