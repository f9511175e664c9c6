/**
 * How samples and components look, compared with pictures that somebody looked at: PDFs page by page, mails 600 and 375
 * pixels wide, light and dark. `UPDATE_GOLDEN=1` keeps them anew. Letters are those of shipped fonts, so that lines end
 * at the same words on every machine.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { makePdf } from '../../../src/adapters/render/pdf/make-pdf.js';
import type { JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { attachmentOf, expandTemplate } from '../../support/documents.js';
import { everyComponent, kitchenSink, sinkDefinitions, sinkVariables } from '../../support/kitchen-sink.js';
import { png } from '../../support/pictures.js';
import { differenceOf, gridOf, readPng, readPpm, writePng, type Picture } from '../../support/picture-grid.js';
import { company, environment, renderTemplate } from '../../support/rendering.js';
import { documentSamples, emailSamples, sampleAttachment } from '../../support/samples.js';

const golden = fileURLToPath(new URL('../../../../test/golden/pictures/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sealpost-pictures-'));
// A browser starts for each mail, which takes long on a machine that does much else.
t.setTimeout(900_000);
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

/** Another rendering of letters moves a few squares; a line more moves hundreds. */
const SHARE_MAX = 0.003;

const matches = (t: Test, name: string, made: Picture): void => {
  const file = `${golden}${name}.png`;
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(golden, { recursive: true });
    writeFileSync(file, writePng(made));
  }
  if (!existsSync(file)) return void t.fail(`${name} has no picture`);
  const share = differenceOf(made, readPng(readFileSync(file)));
  t.ok(share <= SHARE_MAX, `${name}: ${(share * 100).toFixed(2)} % of the squares differ`);
};

const runs = (program: string): boolean => {
  try {
    execFileSync(program, [program === 'chromium' ? '--version' : '-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

const pagesOf = (pdf: Uint8Array, name: string): readonly Picture[] => {
  const prefix = join(folder, name);
  writeFileSync(`${prefix}.pdf`, pdf);
  execFileSync('pdftoppm', ['-r', '72', `${prefix}.pdf`, prefix], { stdio: 'pipe' });
  const pages = readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`) && file.endsWith('.ppm'))
    .sort();
  return pages.map((file) => gridOf(readPpm(readFileSync(join(folder, file))), 6));
};

type Content = Readonly<Record<string, unknown>>;

const pdfOf = (content: Content, variables: JsonObject, locale?: string): Promise<Uint8Array> =>
  makePdf(
    expandTemplate(content, variables, locale === undefined ? {} : { language: { locale } }),
    new Map(),
    { title: 'Picture', author: company.name, createdAt: environment.at },
    defaultLimits,
  );

/** Pictures of other servers are replaced: what is drawn must not hang on them. */
const loaded = (text: string): string =>
  text.replaceAll(/https:\/\/example\.com\/[^"\\]*\.png/g, `data:image/png;base64,${png.toString('base64')}`);

/** The components that a PDF has, beside a chart, which mails do not have. */
const pdfComponents = [
  ...(JSON.parse(loaded(JSON.stringify(Object.values(everyComponent)))) as JsonObject[]).filter(
    (component) => !/"type":"(?:button|html-fragment)"/.test(JSON.stringify(component)),
  ),
  {
    id: 'golden-chart',
    type: 'chart',
    props: {
      chartType: 'column',
      dataSource: 'items',
      categoryField: 'name',
      series: [{ valueField: 'price' }],
      height: 160,
    },
  },
];

void t.test('PDFs, page by page', { skip: runs('pdftoppm') ? false : 'pdftoppm is not here' }, async (t) => {
  for (const { name, locale, content, values } of documentSamples) {
    const pages = pagesOf(await pdfOf(content, values, locale), name);
    for (const [at, page] of pages.entries()) matches(t, `pdf-${name}-${at + 1}`, page);
  }
  const all = attachmentOf(pdfComponents, { variables: sinkDefinitions });
  for (const [at, page] of pagesOf(await pdfOf(all, sinkVariables), 'components').entries())
    matches(t, `pdf-components-${at + 1}`, page);
});

void t.test('what differs is seen', { skip: runs('pdftoppm') ? false : 'pdftoppm is not here' }, async (t) => {
  const { variables, schema, locale, timeZone, exampleVariables } = sampleAttachment('invoice');
  const { order } = exampleVariables as { order: JsonObject };
  const pictureOf = async (schema: unknown, changed: JsonObject): Promise<Picture> => {
    const [page] = pagesOf(
      await pdfOf({ variables, schema, locale, timeZone }, { ...exampleVariables, ...changed }),
      'changed',
    );
    if (page === undefined) throw new Error('no page');
    return page;
  };
  const same = await pictureOf(schema, {});
  const other: Readonly<Record<string, Picture>> = {
    'a line less': await pictureOf(schema, { order: { ...order, discount: 0 } }),
    'no logo': await pictureOf(schema, { logo: '' }),
    'another colour of the header': await pictureOf(
      JSON.parse(JSON.stringify(schema).replace('#0f3d3a', '#7c2d12')),
      {},
    ),
    'a margin 4 points wider': await pictureOf(
      JSON.parse(JSON.stringify(schema).replace('"left":"20mm"', '"left":"21.5mm"')),
      {},
    ),
  };
  t.equal(differenceOf(same, await pictureOf(schema, {})), 0);
  for (const [what, picture] of Object.entries(other)) t.ok(differenceOf(same, picture) > SHARE_MAX, what);
});

const FRAMES = [
  ['light', 600],
  ['dark', 600],
  ['light', 375],
  ['dark', 375],
] as const;
const HEIGHT = 1_400;
const COMPONENTS_HEIGHT = 3_600;

const fontFace = (): string => {
  const file = fileURLToPath(new URL('../../../../fonts/', import.meta.url));
  const face = (weight: string, name: string): string => {
    writeFileSync(join(folder, `${weight}.ttf`), brotliDecompressSync(readFileSync(file + name)));
    return `@font-face{font-family:Golden;font-weight:${weight};src:url(${weight}.ttf)}`;
  };
  return `<style>${face('400', 'DejaVuSans-Regular.ttf.br')}${face('700', 'DejaVuSans-Bold.ttf.br')}*{font-family:Golden!important}</style>`;
};

/** A mail in four frames beside each other, as the browser draws it. */
const screenshotOf = (
  { html, inline }: ReturnType<typeof renderTemplate>,
  name: string,
  fonts: string,
  height = HEIGHT,
): Picture => {
  const shown = inline.reduce(
    (all, image) =>
      'bytes' in image
        ? all.replaceAll(
            `cid:${image.contentId}`,
            `data:image/png;base64,${Buffer.from(image.bytes).toString('base64')}`,
          )
        : all,
    loaded(html).replace('</head>', `${fonts}</head>`),
  );
  const never = shown.replaceAll(/prefers-color-scheme:\s*dark/g, 'width:1px');
  const always = shown.replaceAll(/@media[^{]*prefers-color-scheme:\s*dark\)/g, '@media all');
  writeFileSync(join(folder, `${name}-light.html`), never);
  writeFileSync(join(folder, `${name}-dark.html`), always);
  const frames = FRAMES.map(
    ([mode, width]) =>
      `<iframe src="${name}-${mode}.html" width="${width}" height="${height}" style="border:0;float:left" scrolling="no"></iframe>`,
  );
  writeFileSync(join(folder, `${name}.html`), `<body style="margin:0;width:1960px">${frames.join('')}`);
  const file = join(folder, `${name}.png`);
  execFileSync(
    'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--hide-scrollbars',
      '--force-device-scale-factor=1',
      '--font-render-hinting=none',
      '--allow-file-access-from-files',
      `--user-data-dir=${join(folder, 'profile')}`,
      `--window-size=1960,${height}`,
      `--screenshot=${file}`,
      `file://${join(folder, `${name}.html`)}`,
    ],
    { stdio: 'pipe', timeout: 600_000 },
  );
  return gridOf(readPng(readFileSync(file)), 8);
};

void t.test(
  'mails, wide and narrow, light and dark',
  { skip: runs('chromium') ? false : 'chromium is not here' },
  async (t) => {
    const fonts = fontFace();
    for (const { name, locale, content, values } of emailSamples) {
      const rendered = renderTemplate(content, values, locale === undefined ? {} : { language: { locale } });
      matches(t, `mail-${name}`, screenshotOf(rendered, `mail-${name}`, fonts));
    }
    matches(
      t,
      'mail-components',
      screenshotOf(renderTemplate(kitchenSink(), sinkVariables), 'mail-components', fonts, COMPONENTS_HEIGHT),
    );
  },
);
