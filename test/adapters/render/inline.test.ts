/**
 * Pictures inside a mail: QR codes, read back from their PNG; pictures of the gallery; their limits; and the check of a
 * send call.
 */
import { createRequire } from 'node:module';
import { layQrCode } from '../../../src/adapters/render/qr-code.js';
import { inflateSync } from 'node:zlib';
import t from 'tap';
import QRCode from 'qrcode';
import { compile } from '../../../src/adapters/render/email/renderer.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../../src/domain/core/limits.js';
import type { InlineImage } from '../../../src/domain/ports/renderer.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { company, environment, renderTemplate, templateOf } from '../../support/rendering.js';

const failure = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

const qr = (props: JsonObject, id = 'q'): JsonObject => ({ id, type: 'qr-code', props });
const bytesOf = (image: InlineImage | undefined): Buffer => {
  if (image === undefined || !('bytes' in image)) throw new Error('no bytes');
  return Buffer.from(image.bytes);
};

/** Takes a PNG of one bit a pixel apart as W3C PNG says, with no word of the program that wrote it. */
const readPng = (png: Buffer) => {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const header = chunks.get('IHDR')!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const raw = inflateSync(chunks.get('IDAT')!);
  const stride = Math.ceil(width / 8);
  const rows: Buffer[] = [];
  for (let y = 0; y < height; y += 1) {
    const row = Buffer.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    if (raw[y * (stride + 1)] === 2 && y > 0)
      row.forEach((byte, at) => {
        row[at] = (byte + rows[y - 1]![at]!) & 0xff;
      });
    rows.push(row);
  }
  return {
    signature: png.toString('latin1', 1, 4),
    width,
    height,
    palette: [...chunks.get('PLTE')!],
    isSet: (x: number, y: number): boolean => (rows[y]![x >> 3]! & (0x80 >> (x & 7))) !== 0,
  };
};

void t.test('a code is a PNG at twice its size, with its quiet zone, and holds its value', async (t) => {
  const value = 'https://example.com/t/8f3a?to=Ada&n=1';
  const { html, text, inline } = renderTemplate(
    templateOf([
      qr({
        value: 'https://example.com/t/{{code}}?to={{who}}&n=1',
        size: 150,
        color: '#1e3a8a',
        backgroundColor: '#fefce8',
        errorCorrection: 'Q',
      }),
    ]),
    { code: '8f3a', who: 'Ada' },
  );
  t.equal(inline.length, 1);
  const png = readPng(bytesOf(inline[0]));
  t.same([png.signature, png.width, png.height, png.palette], ['PNG', 300, 300, [0xfe, 0xfc, 0xe8, 0x1e, 0x3a, 0x8a]]);
  const { modules } = QRCode.create([{ data: Buffer.from(value), mode: 'byte' }], { errorCorrectionLevel: 'Q' });
  const modulePx = Math.floor(300 / (modules.size + 8));
  const from = Math.floor((300 - modules.size * modulePx) / 2);
  t.ok(from >= 4 * modulePx, 'four modules are quiet');
  let wrong = 0;
  for (let y = 0; y < 300; y += 1) {
    for (let x = 0; x < 300; x += 1) {
      const [column, row] = [Math.floor((x - from) / modulePx), Math.floor((y - from) / modulePx)];
      const inside = column >= 0 && row >= 0 && column < modules.size && row < modules.size;
      if (png.isSet(x, y) !== (inside && modules.get(row, column) === 1)) wrong += 1;
    }
  }
  t.equal(wrong, 0, 'every pixel is that of its module');
  t.match(
    html,
    `src="cid:${inline[0]!.contentId}" alt="https://example.com/t/8f3a?to=Ada&amp;n=1" width="150" height="150"`,
  );
  t.match(inline[0]!.contentId, /^qr-[0-9a-f]{24}@sealpost$/);
  t.equal(text, `${value}\n`);
});

void t.test('the same code is one picture, another is another, none is none', async (t) => {
  const template = templateOf([
    { id: 'l', type: 'loop', props: { dataSource: 'codes', itemVariable: 'c' }, children: [qr({ value: '{{c}}' })] },
    qr({ value: 'one' }, 'r'),
    qr({ value: 'one', color: '#333' }, 's'),
  ]);
  const { html, inline } = renderTemplate(template, { codes: ['one', 'two', 'one', '', null] });
  t.equal(inline.length, 3);
  t.equal(html.match(/<img /g)?.length, 5);
  t.equal(new Set(inline.map(({ contentId }) => contentId)).size, 3);
  t.same(renderTemplate(template, { codes: ['one', 'two', 'one', '', null] }).inline, inline, 'same input, same bytes');
  t.same(renderTemplate(templateOf([{ id: 'x', type: 'rich-text', content: 'x' }])).inline, []);
});

void t.test('what stands in the place of the picture', async (t) => {
  t.match(renderTemplate(templateOf([qr({ value: '{{v}}' })]), { v: 'x'.repeat(101) }).html, /alt="QR code"/);
  t.match(renderTemplate(templateOf([qr({ value: '{{v}}' })]), { v: '<"&>' }).html, /alt="&lt;&quot;&amp;&gt;"/);
  t.match(
    renderTemplate(templateOf([qr({ value: '{{v}}' })]), { v: 'BEGIN:VCARD\nN:Ada' }).text,
    /^BEGIN:VCARD\nN:Ada\n$/,
  );
});

void t.test('colours that no camera could read become black on white; transparency becomes white', async (t) => {
  const palette = (color: string, backgroundColor: string): readonly number[] =>
    readPng(bytesOf(renderTemplate(templateOf([qr({ value: 'x', color, backgroundColor })])).inline[0])).palette;
  t.same(palette('#eeeeee', '#ffffff'), [255, 255, 255, 0, 0, 0]);
  t.same(palette('navy', 'transparent'), [255, 255, 255, 0, 0, 128]);
  t.same(palette('hsl(0, 100%, 25%)', 'rgba(255, 250, 240, 0.5)'), [255, 250, 240, 128, 0, 0]);
  t.same(palette('#000f', '#fff8'), [255, 255, 255, 0, 0, 0]);
  t.same(palette('hsl(240 100% 20% / 0.5)', 'rgb(255 255 0)'), [255, 255, 0, 0, 0, 102]);
});

void t.test('a value that is too long, a size that is too small', async (t) => {
  const template = templateOf([qr({ value: '{{order.link}}', size: '{{size}}', errorCorrection: '{{level}}' })]);
  const render = compile(checkEmailTemplate(template, defaultLimits).content, defaultLimits).render;
  const input = (link: string, size = 400, level = 'M') => ({
    variables: { order: { link }, size, level },
    environment: { ...environment, company },
  });
  for (const act of [render, render.check]) {
    t.match(
      failure(() => act(input('x'.repeat(2_332)))),
      {
        code: 'VALIDATION_ERROR',
        message: 'the QR code "q" holds 2332 bytes, the maximum at error correction M is 2331',
        details: { errors: [{ field: 'variables.order.link' }] },
      },
    );
    t.match(
      failure(() => act(input('é'.repeat(1_166)))),
      { code: 'VALIDATION_ERROR', message: /2332 bytes, the maximum at error correction M is 2330/ },
    );
    t.match(
      failure(() => act(input('1'.repeat(3_058), 400, 'h'))),
      { message: /3058 digits, the maximum at error correction H is 3057/ },
    );
    t.match(
      failure(() => act(input('A'.repeat(4_297), 400, 'l'))),
      { message: /4297 characters, the maximum at error correction L is 4296/ },
    );
    t.match(
      failure(() => act(input('x'.repeat(300), 60))),
      {
        message:
          /300 bytes, which take 77 by 77 modules: at a size of 60 pixels no camera can tell them apart, make it 77 or more/,
      },
    );
    for (const [link, level] of [
      ['x'.repeat(2_331), 'M'],
      ['1'.repeat(3_057), 'H'],
      ['A'.repeat(4_296), 'L'],
      ['\ud800 half a pair', 'M'],
      ['é'.repeat(1_165), 'M'],
    ] as const)
      t.doesNotThrow(() => act(input(link, 400, level)), `${link.length} at ${level}`);
  }
  const literal = checkEmailTemplate(templateOf([qr({ value: 'x'.repeat(3_000) })]), defaultLimits).content;
  t.match(
    failure(() => compile(literal, defaultLimits)),
    { code: 'TEMPLATE_INVALID', message: /the QR code "q" holds 3000 bytes/ },
    'a literal is refused on save',
  );
});

void t.test(
  'a code with characters beyond ASCII says that they are UTF-8, module by module as another encoder says it',
  async (t) => {
    type Raw = (options: object) => readonly [Readonly<{ pixs: readonly number[]; pixx: number }>];
    const { raw } = createRequire(import.meta.url)('bwip-js/node') as Readonly<{ raw: Raw }>;
    for (const [text, level] of [
      ['日本語テキスト', 'h'],
      ['a^b€🎉', 'q'],
      ['Zoë '.repeat(40), 'm'],
    ] as const) {
      const escaped = `^ECI000026${text.replaceAll('^', '^^')}`;
      const [{ pixs, pixx }] = raw({
        bcid: 'qrcode',
        text: escaped,
        parsefnc: true,
        eclevel: level.toUpperCase(),
        suppresskanjimode: true,
      });
      const code = layQrCode(text, { size: '900px', level, color: '#000000', background: '#ffffff' });
      if ('fault' in code) throw new Error(code.fault);
      t.equal(code.modules, pixx);
      t.same(
        pixs.flatMap((_, at) => (code.isDark(at % pixx, Math.floor(at / pixx)) ? 1 : 0)),
        pixs,
      );
    }
  },
);

void t.test('pictures of the gallery', async (t) => {
  const [a, b] = ['0b3c6a5e-7b1d-4c1e-9a55-111111111111', '0b3c6a5e-7b1d-4c1e-9a55-222222222222'];
  const template = templateOf([
    { id: 'i', type: 'image', props: { src: `asset:${a}`, alt: 'A', width: 100 } },
    { id: 'j', type: 'image', props: { src: '{{logo}}' } },
    { id: 'k', type: 'image', props: { src: 'asset:{{id}}' } },
    {
      id: 'r',
      type: 'rich-text',
      content: `<p><img src="asset:${a}" alt="again"> <a href="asset:${a}">no link</a></p>`,
    },
  ]);
  const render = compile(checkEmailTemplate(template, defaultLimits).content, defaultLimits).render;
  const input = { variables: { logo: `ASSET:${b.toUpperCase()}`, id: a }, environment: { ...environment, company } };
  const { html, inline } = render(input);
  t.same(inline, [
    { contentId: `asset-${a}@sealpost`, assetId: a },
    { contentId: `asset-${b}@sealpost`, assetId: b },
  ]);
  t.equal(html.match(/src="cid:asset-/g)?.length, 4);
  t.notMatch(html, /asset:/);
  t.same(render.check(input), { subject: 'Hello', assetIds: [a, b], contentIds: [], isEmpty: false, losses: [] });
  const none = { ...input, variables: { logo: 'asset:../../etc/passwd', id: 'x' } };
  t.same(render.check(none).assetIds, [a]);
  t.notMatch(render(none).html, /passwd/);
});

void t.test('files of the call are shown where rich text, images, values and styles name them', async (t) => {
  const template = templateOf([
    { id: 'h', type: 'html-fragment', content: '<p>Code: <img src="cid:logo" alt="code"></p>' },
    { id: 'r', type: 'rich-text', content: '<p><img src="CID:photo.1" alt="p"> <a href="cid:logo">no link</a></p>' },
    { id: 'i', type: 'image', props: { src: 'cid:logo', alt: 'A' } },
    { id: 'v', type: 'image', props: { src: '{{u}}' } },
    { id: 'w', type: 'image', props: { src: 'cid:{{id}}' } },
    {
      id: 's',
      type: 'html-fragment',
      content:
        '<div style="background:#ffffff url(cid:tile) no-repeat center / cover">a</div><div style="background-image:url(\'cid:tile\');background-size:cover">b</div>' +
        '<div style="background:url(ftp://example.com/a);background-image:url(cid:x) url(cid:y)">c</div>',
    },
  ]);
  const render = compile(checkEmailTemplate(template, defaultLimits).content, defaultLimits).render;
  const input = { variables: { u: 'cid:badge', id: 'seal' }, environment: { ...environment, company } };
  const { html, inline } = render(input);
  const shown = ['logo', 'photo.1', 'badge', 'seal', 'tile'];
  t.same(
    inline,
    shown.map((contentId) => ({ contentId, isAttached: true })),
  );
  t.match(html, '<img src="cid:logo" alt="code"');
  t.match(html, '<img src="cid:photo.1" alt="p"');
  t.equal(html.match(/src="cid:logo"/g)?.length, 2);
  t.match(html, /src="cid:badge"[^]*src="cid:seal"/);
  t.match(html, "background:url('cid:tile') no-repeat center / cover;background-color:#ffffff");
  t.match(html, "background-image:url('cid:tile');background-size:cover");
  t.notMatch(html, /example\.com\/a|cid:x|cid:y|href="cid:/);
  t.same(render.check(input), { subject: 'Hello', assetIds: [], contentIds: shown, isEmpty: false, losses: [] });
  const sized = render({ ...input, pictures: new Map([['cid:logo', { width: 40, height: 20 }]]) }).html;
  t.match(sized, '<img src="cid:logo" alt="code" width="40" height="20"');
  t.notMatch(render({ ...input, variables: { u: 'cid:a b"c', id: '../x' } }).html, /cid:a|cid:\.\./);
});

void t.test('a data URI travels inside the mail, once for each picture', async (t) => {
  const dot = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const uri = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`;
  const template = templateOf([
    { id: 'h', type: 'html-fragment', content: `<p><img src="${uri(dot)}" alt="d"></p>` },
    { id: 'i', type: 'image', props: { src: uri(dot) } },
    {
      id: 'l',
      type: 'loop',
      props: { dataSource: 'all', itemVariable: 'p' },
      children: [{ id: 'v', type: 'image', props: { src: '{{p}}' } }],
    },
  ]);
  const limits: Limits = { ...defaultLimits, inlineImagesMax: 3 };
  const render = compile(checkEmailTemplate(template, limits).content, limits).render;
  const rendered = (all: readonly string[]) => {
    const input = { variables: { all: [...all] }, environment: { ...environment, company } };
    t.same(render.check(input).contentIds, []);
    return render(input);
  };
  const { html, inline } = rendered([uri(dot), uri(Buffer.from('jpeg'), 'image/jpg')]);
  t.equal(inline.length, 2);
  t.ok(bytesOf(inline[0]).equals(dot));
  t.match(inline[0], { contentId: /^picture-[0-9a-f]{24}@sealpost$/, contentType: 'image/png' });
  t.match(inline[1], { contentType: 'image/jpeg' });
  t.equal(html.split(`src="cid:${inline[0]!.contentId}"`).length - 1, 3);
  t.match(html, `<img src="cid:${inline[0]!.contentId}" alt="d" width="1" height="1"`);
  t.notMatch(html, /data:image/);
  const many = rendered(['a', 'b', 'c', 'd'].map((text) => uri(Buffer.from(text), 'image/gif')));
  t.equal(many.inline.length, 3);
  t.equal(many.html.match(/src="data:image\/gif/g)?.length, 2, 'what is more than a mail may hold stays as it is');
});

void t.test('no more than so many pictures', async (t) => {
  const limits: Limits = { ...defaultLimits, inlineImagesMax: 3 };
  const template = templateOf([
    { id: 'l', type: 'loop', props: { dataSource: 'codes', itemVariable: 'c' }, children: [qr({ value: '{{c}}' })] },
  ]);
  const render = compile(checkEmailTemplate(template, limits).content, limits).render;
  const input = (count: number) => ({
    variables: { codes: Array.from({ length: count }, (_, at) => `code ${at}`) },
    environment: { ...environment, company },
  });
  for (const act of [render, render.check]) {
    t.doesNotThrow(() => act(input(3)));
    t.match(
      failure(() => act(input(4))),
      {
        code: 'ERR_LIMIT_002',
        message: /at least 4 QR codes and pictures of the gallery, the maximum is 3/,
        details: { relatedInfo: { actualImages: 4, maxImages: 3 } },
      },
    );
  }
});
