/** Reading the signature of any bytes ends with an answer. */
import { strToU8, zipSync } from 'fflate';
import t from 'tap';
import { signatureMediaTypes } from '../../../src/adapters/media-types/signatures.js';
import { gif, jpeg, png, webp } from '../../support/pictures.js';

const { of } = signatureMediaTypes();

void t.test('known signatures, and none', async (t) => {
  t.same(await Promise.all([png, jpeg, gif, webp].map(of)), ['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
  for (const bytes of ['', 'hello', '<svg/>', '\0']) t.equal(await of(Buffer.from(bytes)), undefined);
});

void t.test('cut and damaged bytes have a type or none, and never a fault', async (t) => {
  const office = Buffer.from(
    zipSync({ '[Content_Types].xml': strToU8('<Types/>'.repeat(20)), 'word/document.xml': strToU8('<x/>') }),
  );
  const answers = new Set<string | undefined>();
  for (const bytes of [office, png, webp]) {
    for (let at = 0; at < bytes.length; at += 1) {
      answers.add(await of(bytes.subarray(0, at)));
      answers.add(await of(Buffer.concat([bytes.subarray(0, at), Buffer.alloc(8, 0xff), bytes.subarray(at + 8)])));
    }
  }
  t.ok(answers.has(undefined) && answers.has('image/png') && answers.has('application/zip'));
});

void t.test('a document that unpacks to much is not unpacked whole', async (t) => {
  const bomb = Buffer.from(zipSync({ '[Content_Types].xml': new Uint8Array(100_000_000) }));
  const before = process.memoryUsage().rss;
  t.equal(await of(bomb), 'application/zip');
  t.ok(process.memoryUsage().rss - before < 60_000_000);
});
