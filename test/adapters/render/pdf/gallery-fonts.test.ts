/** Fonts that a team brings: what is taken, what is refused, and what a document in them is like. */
import t from 'tap';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { tryFont } from '../../../../src/adapters/render/pdf/gallery-fonts.js';
import { openGenerator } from '../../../../src/adapters/render/workers/generator.js';
import { DomainError } from '../../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { DocumentInput, LoadedImage } from '../../../../src/domain/ports/generator.js';
import { checkAttachmentTemplate } from '../../../../src/domain/rendering/check/document.js';
import { attachmentOf } from '../../../support/documents.js';
import { brandFont, endlessFont, withLicence, withTable } from '../../../support/gallery-fonts.js';
import { readPdf, type ReadPdf } from '../../../support/read-pdf.js';
import { environment } from '../../../support/rendering.js';
import { teamA } from '../../../support/teams.js';

t.setTimeout(900_000);

const never = new AbortController().signal;
const metadata = { title: 'T', author: 'A', createdAt: '2026-01-02T03:04:05.000Z' };
const REGULAR = 'asset:00000000-0000-4000-8000-000000000001';

const refusalOf = async (bytes: Uint8Array): Promise<string> => {
  try {
    await tryFont(bytes, defaultLimits);
    return '';
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'ASSET_TYPE_NOT_ALLOWED') return fault.message;
    throw fault;
  }
};

await t.test('a font is taken as its licence bits say, and where a document can be written in it', async (t) => {
  t.equal(await refusalOf(brandFont), '');
  for (const bits of [0x0, 0x4, 0x8]) t.equal(await refusalOf(withLicence(bits)), '', `fsType ${bits}`);
  t.equal(await refusalOf(withLicence(0x6)), '', 'the kind that restricts least holds');
  t.match(await refusalOf(withLicence(0x2)), /fsType: restricted licence embedding/);
  t.match(await refusalOf(withLicence(0x104)), /no subsetting/);
  t.match(await refusalOf(withLicence(0x200)), /bitmap/);
  t.match(await refusalOf(withTable('OS/2', 'xxxx')), /does not say whether documents may hold it/);
  t.match(await refusalOf(withTable('GPOS', 'fvar')), /variable font/);
  t.match(await refusalOf(brandFont.subarray(0, 20_000)), /damaged/);
  t.match(await refusalOf(withTable('glyf', 'xxxx')), /damaged/);
  t.match(await refusalOf(withTable('cmap', 'xxxx')), /damaged/);
  t.match(await refusalOf(Buffer.from('no font at all')), /damaged/);
});

const opened = () => {
  const generator = openGenerator({
    limits: { ...defaultLimits, svgTimeoutMs: 20_000 },
    clock: systemClock(),
    cores: 2,
  });
  t.teardown(() => generator.close());
  return generator;
};

await t.test('a font that never ends is refused within bounds', async (t) => {
  const generator = opened();
  await t.rejects(generator.checkFont({ teamId: teamA, bytes: endlessFont() }, never), {
    code: 'ASSET_TYPE_NOT_ALLOWED',
  });
  await generator.checkFont({ teamId: teamA, bytes: brandFont }, never);
});

let revisions = 0;
const inputOf = (html: string, schema: JsonObject): DocumentInput => {
  const text = { id: 'text', type: 'rich-text', content: html, props: { fontFamily: "'Brand Sans', serif" } };
  revisions += 1;
  const { content } = checkAttachmentTemplate(attachmentOf([text], { schema }), defaultLimits);
  return { teamId: teamA, cacheKey: `revision-${revisions}`, content, variables: {}, environment };
};
const files: ReadonlyMap<string, LoadedImage> = new Map([[REGULAR, { bytes: brandFont, contentType: 'font/ttf' }]]);

await t.test('a document in a font of the gallery', async (t) => {
  const generator = opened();
  const html = '<p>Brand שלום</p><p style="font-family: Roboto">own</p>';
  const read = async (schema: JsonObject): Promise<ReadPdf & { bytes: Uint8Array }> => {
    const bytes = (await generator.make(inputOf(html, schema), 'pdf', files, metadata, never)).bytes;
    return { ...readPdf(bytes), bytes };
  };
  const plain = await read({});
  t.same(plain.fonts, ['NotoSansHebrew-Regular', 'Roboto-Regular']);
  const brand = await read({ fonts: [{ family: 'Brand Sans', regular: REGULAR }] });
  t.same(
    brand.fonts,
    ['NotoSansHebrew-Regular', 'Roboto-Italic', 'Roboto-Regular'],
    'what it lacks comes from the shipped ones',
  );
  t.same(brand.sheets[0]?.lines.at(-1), 'own');
  const named = await read({ fonts: [{ family: 'Roboto', regular: REGULAR }] });
  t.same(
    named.fonts,
    ['NotoSansHebrew-Regular', 'Roboto-Italic', 'Roboto-Regular'],
    'a family of the service stays for who does not name it',
  );
  t.same((await read({})).bytes, plain.bytes, 'nothing of it is left for another document');
  const input = inputOf(html, { fonts: [{ family: 'Brand Sans', regular: REGULAR, bold: REGULAR }] });
  t.same(await generator.imageSources(input, 'pdf', never), [REGULAR]);
});

await t.test('what is wrong with the fonts of a template is said', async (t) => {
  const faultsOf = (fonts: unknown): readonly string[] => {
    try {
      checkAttachmentTemplate(attachmentOf([], { schema: { fonts } }), defaultLimits);
      return [];
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      return (fault.details.errors ?? []).map(({ field, message }) => `${field} ${message}`);
    }
  };
  t.same(faultsOf([{ family: 'Brand Sans', regular: REGULAR }]), []);
  t.match(faultsOf('Arial'), [/^schema\.fonts must be an array/]);
  t.match(faultsOf(Array.from({ length: 11 }, () => ({}))), [/has 11 fonts, the maximum is 10/]);
  t.match(faultsOf([{ family: 'a,b', regular: 'https://example.com/a.ttf', light: REGULAR }]), [
    /^schema\.fonts\[0\]\.light is not known; known are family, regular, bold, italic, boldItalic/,
    /^schema\.fonts\[0\]\.family must be a name/,
    /^schema\.fonts\[0\]\.regular must be asset:/,
  ]);
  t.match(
    faultsOf([
      { family: 'Brand Sans', regular: REGULAR },
      { family: 'BrandSans', regular: REGULAR },
    ]),
    [/stands there twice/],
  );
  t.match(faultsOf([{}]), [/family is required/, /regular is required/]);
});
