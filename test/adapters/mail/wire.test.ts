/**
 * The bytes on the wire after DATA: exactly those of a good message, and nothing in the middle that a server could take
 * for the end.
 */
import t from 'tap';
import { wirePieces } from '../../../src/adapters/mail/smtp.js';
import { seededRandom } from '../../support/random.js';

const sent = (raw: string): string => Buffer.concat(wirePieces(Buffer.from(raw, 'latin1'))).toString('latin1');

void t.test('dots at the beginning of lines are doubled, the message is ended by a dot alone', (t) => {
  for (const [raw, wire] of [
    ['', '.\r\n'],
    ['a: b\r\n\r\nbody\r\n', 'a: b\r\n\r\nbody\r\n.\r\n'],
    ['no line end', 'no line end\r\n.\r\n'],
    ['.first\r\n.\r\n..two\r\nin . the .. middle.\r\n', '..first\r\n..\r\n...two\r\nin . the .. middle.\r\n.\r\n'],
    ['.', '..\r\n.\r\n'],
    ['a\r\n.', 'a\r\n..\r\n.\r\n'],
  ] as const)
    t.equal(sent(raw), wire, JSON.stringify(raw));
  t.end();
});

void t.test('a bare CR or LF cannot end the message', (t) => {
  for (const [raw, wire] of [
    ['a\n.\r\nb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r.\rb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\n.\nb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r\r\n.\r\nb', 'a\r\n\r\n..\r\nb\r\n.\r\n'],
    ['a\r', 'a\r\n.\r\n'],
    ['\n', '\r\n.\r\n'],
  ] as const)
    t.equal(sent(raw), wire, JSON.stringify(raw));
  t.end();
});

void t.test('whatever the text, a server reads it back with CRLF line ends', (t) => {
  const { pick, between } = seededRandom(7);
  for (let round = 0; round < 2_000; round += 1) {
    const raw = Array.from({ length: between(0, 11) }, () => pick(['a', '.', '\r', '\n', '\r\n', 'é'])).join('');
    const wire = sent(raw);
    const clean = raw.replace(/\r\n|\r|\n/g, '\r\n');
    const ended = clean === '' || clean.endsWith('\r\n') ? clean : `${clean}\r\n`;
    if (
      !wire.endsWith('.\r\n') ||
      wire
        .slice(0, -3)
        .split('\r\n')
        .map((line) => line.replace(/^\./, ''))
        .join('\r\n') !== ended ||
      /(?:^|\r\n)\.\r\n./s.test(wire)
    ) {
      t.fail(JSON.stringify(raw));
    }
  }
  t.pass('2,000 texts');
  t.end();
});

void t.test('a good message is not copied', (t) => {
  const raw = Buffer.from('a: b\r\n\r\nbody\r\n');
  t.equal(wirePieces(raw)[0], raw);
  t.end();
});
