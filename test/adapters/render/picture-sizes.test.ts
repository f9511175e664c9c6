/** Pictures in mails say how large they are: what the template leaves open is taken from the picture itself. */
import t from 'tap';
import { openRenderer } from '../../../src/adapters/render/email/renderer.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { png } from '../../support/pictures.js';
import { environment, templateOf } from '../../support/rendering.js';

/** 7 by 5 pixels. */
const PNG = `data:image/png;base64,${png.toString('base64')}`;
const ASSET = '0b3c6a5e-7b1d-4c1e-9a55-111111111111';
const pictures = new Map([[ASSET, { width: 800, height: 200 }]]);

const imageIn = (component: JsonObject, variables: JsonObject = {}): string => {
  const { content } = checkEmailTemplate(templateOf([component]), defaultLimits);
  const render = openRenderer({ limits: defaultLimits }).compileEmail(content);
  return /<img[^>]*>/.exec(render({ variables, environment, pictures }).html)?.[0] ?? '';
};
const sidesOf = (image: string): readonly (string | undefined)[] =>
  ['width', 'height'].map((side) => new RegExp(` ${side}="([^"]*)"`).exec(image)?.[1]);
const image = (props: JsonObject): JsonObject => ({ id: 'i', type: 'image', props: { alt: '', ...props } });
const rich = (content: string): JsonObject => ({ id: 'r', type: 'rich-text', content });

const cases: readonly (readonly [what: string, component: JsonObject, sides: readonly (string | undefined)[]])[] = [
  ['a data URI', image({ src: PNG }), ['7', '5']],
  ['and a width', image({ src: PNG, width: 70 }), ['70', '50']],
  ['and a height', image({ src: PNG, height: '50px' }), ['70', '50']],
  ['and both', image({ src: PNG, width: 30, height: 30 }), ['30', '30']],
  ['and a share of its place', image({ src: PNG, width: '50%' }), ['268', '191']],
  ['a picture of the gallery is no wider than its place', image({ src: `asset:${ASSET}` }), ['536', '134']],
  ['and a width', image({ src: `asset:${ASSET}`, width: 120 }), ['120', '30']],
  ['wider than its place', image({ src: `asset:${ASSET}`, width: 1072, height: 400 }), ['536', '200']],
  ['brought by a value', image({ src: '{{src}}', width: 120 }), ['120', '30']],
  ['a data URI brought by a value', image({ src: '{{data}}' }), ['7', '5']],
  ['a width brought by a value', image({ src: PNG, width: '{{width}}' }), ['70', '50']],
  [
    'one that is not there',
    image({ src: 'asset:0b3c6a5e-7b1d-4c1e-9a55-222222222222', width: 120 }),
    ['120', undefined],
  ],
  ['another server', image({ src: 'https://example.com/a.png', width: 120 }), ['120', undefined]],
  ['another server, a value', image({ src: 'https://example.com/{{src}}' }), [undefined, undefined]],
  ['rich text', rich(`<p><img src="${PNG}"></p>`), ['7', '5']],
  ['rich text, a width', rich(`<p><img src="asset:${ASSET}" width="40"></p>`), ['40', '10']],
  ['rich text, a value', rich('<p><img src="{{src}}" height="{{height}}"></p>'), ['200', '50']],
  [
    'rich text, another server',
    rich('<p><img src="https://example.com/a.png" width="20" height="{{height}}"></p>'),
    ['20', '50'],
  ],
];

void t.test('what is left open is taken from the picture', (t) => {
  const variables = { src: `asset:${ASSET}`, data: PNG, width: 70, height: 50 };
  for (const [what, component, sides] of cases) t.same(sidesOf(imageIn(component, variables)), sides, what);
  t.end();
});

void t.test('a mail that is accepted has room for the sizes of its pictures', (t) => {
  const { content } = checkEmailTemplate(
    templateOf([image({ src: `asset:${ASSET}` }), rich('{{long}}')]),
    defaultLimits,
  );
  let accepted = 0;
  for (let chars = 1; chars < 400; chars += 1) {
    const limits = { ...defaultLimits, htmlSizeBytesMax: 3_600 };
    const render = openRenderer({ limits }).compileEmail(content);
    const input = { variables: { long: 'a b '.repeat(chars) }, environment };
    const fits = (act: () => unknown): boolean => {
      try {
        act();
        return true;
      } catch {
        return false;
      }
    };
    if (!fits(() => render.check(input))) continue;
    accepted += 1;
    t.ok(
      fits(() => render({ ...input, pictures })),
      `${chars} fit`,
    );
  }
  t.ok(accepted > 10 && accepted < 390, 'around the bound');
  t.end();
});

void t.test('what a picture says of itself is no size that a mail has no room for', (t) => {
  const header = (width: number, height: number, note = ''): string => {
    const bytes = Buffer.alloc(200);
    bytes.write('89504e470d0a1a0a0000000d49484452', 'hex');
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    bytes.write(note, 37, 'latin1');
    return `data:image/png;base64,${bytes.toString('base64')}`;
  };
  t.same(sidesOf(imageIn(image({ src: header(1, 4_294_967_295) }))), ['1', '99999']);
  t.same(sidesOf(imageIn(image({ src: header(4_294_967_295, 1) }))), ['536', '1']);
  t.same(sidesOf(imageIn(image({ src: header(8, 6, 'tEXtSource\0SVG 0x0') }))), ['8', '6']);
  t.same(sidesOf(imageIn(image({ src: header(8, 6, 'tEXtSource\0SVG 0x50') }))), ['8', '6']);
  t.same(sidesOf(imageIn(image({ src: header(8, 6, 'tEXtSource\0SVG 1x999999') }))), ['1', '99999']);
  t.end();
});
