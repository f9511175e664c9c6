/** A UUID as its 16 bytes, and back: what tokens hold of an id. */
export const UUID_BYTES = 16;

export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

/** Of the 16 bytes from that place on. */
export const uuidOfBytes = (bytes: Buffer, at = 0): string => {
  const hex = bytes.toString('hex', at, at + UUID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};
