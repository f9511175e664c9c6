/** A message as it goes over the wire after DATA (RFC 5321, section 4.5.2): dots doubled, every line end CRLF, ended by a dot alone. */

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;
const END = Buffer.from('.\r\n');
const LINE_END_AND_END = Buffer.from('\r\n.\r\n');

/** In: a message. Out: pieces that give, one after the other, all that is sent until the server answers. */
export const wirePieces = (raw: Buffer): readonly Buffer[] => {
  const body = stuffed(raw);
  return [body, body.length === 0 || body[body.length - 1] === LF ? END : LINE_END_AND_END];
};

/**
 * Nearly every message is as it must be, and goes out as the very same bytes. A bare CR or LF would let a text end the message
 * where a server takes it for a line end, and begin another; the composer writes none, and none leaves here.
 */
const stuffed = (raw: Buffer): Buffer => {
  const dots: number[] = raw[0] === DOT ? [0] : [];
  let lineEnds = 0;
  // Searching is many times faster than looking at each byte.
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) {
    if (raw[at - 1] !== CR) return stuffed(withCrlf(raw));
    if (raw[at + 1] === DOT) dots.push(at + 1);
    lineEnds += 1;
  }
  // Each of those has a CR of its own: one more stands alone.
  for (let at = raw.indexOf(CR); at >= 0; at = raw.indexOf(CR, at + 1)) lineEnds -= 1;
  if (lineEnds !== 0) return stuffed(withCrlf(raw));
  return dots.length === 0 ? raw : withDots(raw, dots);
};

const withCrlf = (raw: Buffer): Buffer => Buffer.from(raw.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');

/** One more dot before each of those places. */
const withDots = (raw: Buffer, places: readonly number[]): Buffer => {
  const out = Buffer.allocUnsafe(raw.length + places.length);
  let from = 0;
  let to = 0;
  for (const place of places) {
    to += raw.copy(out, to, from, place);
    out[to++] = DOT;
    from = place;
  }
  raw.copy(out, to, from);
  return out;
};
