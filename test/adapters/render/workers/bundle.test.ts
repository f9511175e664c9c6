/**
 * The bundle of the document worker makes what its modules make, byte for byte, and is left alone where it is not of
 * these modules.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { bundleFile, isBundled } from '../../../../src/adapters/render/workers/bundle-files.js';
import { openGenerator } from '../../../../src/adapters/render/workers/generator.js';
import { assertDefined } from '../../../../src/domain/core/ids.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { DocumentInput, Generator, LoadedImage } from '../../../../src/domain/ports/generator.js';
import { checkAttachmentTemplate } from '../../../../src/domain/rendering/check/document.js';
import { temporaryDirectory } from '../../../support/data-directory.js';
import { attachmentOf } from '../../../support/documents.js';
import { brandFont } from '../../../support/gallery-fonts.js';
import { memoryLog } from '../../../support/memory-ports.js';
import { environment } from '../../../support/rendering.js';
import { emailSamples } from '../../../support/samples.js';
import { teamA } from '../../../support/teams.js';

t.setTimeout(900_000);

/** Compiled tests lie four folders deep in the output. */
const root = new URL('../../../../../', import.meta.url);
const hasBundler = existsSync(new URL('node_modules/esbuild/', root));

const never = new AbortController().signal;
const metadata = { title: 'Test', author: 'sealpost', createdAt: '2026-11-21T10:00:00.000Z' };
const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><rect width="40" height="20" fill="#0a7"/><text y="15">Ada</text></svg>';
const logo = 'https://example.com/logo.svg';
const images: ReadonlyMap<string, LoadedImage> = new Map([
  [logo, { bytes: Buffer.from(svg), contentType: 'image/svg+xml' }],
]);

/**
 * A template that needs all modules that are loaded on demand: scripts, codes, charts, pictures, names of characters.
 */
const components = [
  {
    id: 'text',
    type: 'rich-text',
    content:
      '<h1>{{name}}</h1><p>שלום עולם, مرحبا, สวัสดีครับ, नमस्ते, 你好, ☂ 🎉 <a href="https://example.com">a link</a></p>',
  },
  { id: 'qr', type: 'qr-code', props: { value: 'https://example.com/{{name}}' } },
  { id: 'bars', type: 'qr-code', props: { kind: 'ean13', value: '4006381333931' } },
  {
    id: 'rows',
    type: 'table',
    props: {
      dataSource: 'rows',
      columns: [
        { header: 'Name', content: '{{item.name}}' },
        { header: 'Count', content: '{{item.count}}', type: 'number' },
      ],
    },
  },
  {
    id: 'chart',
    type: 'chart',
    props: {
      chartType: 'bar',
      dataSource: 'rows',
      categoryField: 'name',
      series: [{ name: 'Count', valueField: 'count' }],
      title: 'Counts',
    },
  },
];

const rows = [1, 2, 3].map((count) => ({ name: `Row ${count}`, count: count + 0.5 }));
const definitions = [
  { name: 'name', type: 'string', required: true },
  { name: 'rows', type: 'array', itemType: 'object', required: true },
];
const inputOf = (cacheKey: 'excel' | 'pdf', shown: readonly unknown[]): DocumentInput => ({
  teamId: teamA,
  cacheKey,
  content: checkAttachmentTemplate(
    attachmentOf(shown, { variables: definitions, schema: { outputFormats: [cacheKey] } }),
    defaultLimits,
  ).content,
  variables: { name: 'Ada ᜋ', rows },
  environment,
});
/** A workbook shows no code and no SVG. */
const workbook = inputOf(
  'excel',
  components.filter(({ type }) => type !== 'qr-code'),
);
const input = inputOf('pdf', [
  ...components,
  { id: 'logo', type: 'image', props: { src: logo, alt: 'Logo', width: 80 } },
]);

const open = (t: Test, worker: 'bundled.js' | 'worker.js') => {
  const logger = memoryLog();
  const workerFile = new URL(`../../../../src/adapters/render/workers/${worker}`, import.meta.url);
  const generator = openGenerator({ limits: defaultLimits, clock: systemClock(), logger, workerFile });
  t.teardown(() => generator.close());
  return { generator, logger };
};

type Made = Readonly<Record<string, unknown>>;

const everythingOf = async (generator: Generator): Promise<Made> => {
  const { content, values: variables } = assertDefined(emailSamples[0], 'a sample');
  const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');
  const pdf = await generator.make(input, 'pdf', images, metadata, never);
  const excel = await generator.make(workbook, 'excel', images, metadata, never);
  await generator.checkFont({ teamId: teamA, bytes: brandFont }, never);
  return {
    sources: await generator.imageSources(input, 'pdf', never),
    pdf: hex(pdf.bytes),
    replaced: pdf.replaced,
    excel: hex(excel.bytes),
    drawing: hex(
      await generator.drawSvg(
        { teamId: teamA, svg, drawing: { natural: { width: 40, height: 20 }, width: 80, height: 40 } },
        never,
      ),
    ),
    email: await generator.renderEmail(
      { teamId: teamA, content, cacheKey: 'mail', email: { variables, environment } },
      never,
    ),
    converted: await generator.convertTemplate(
      { teamId: teamA, source: { source: '<p style="color:red">Hello {{name}}</p>' } },
      never,
    ),
    refused: await generator
      .make({ ...input, variables: {} }, 'pdf', images, metadata, never)
      .catch((fault: unknown) => fault),
  };
};

await t.test(
  'the bundle makes what the modules make',
  { skip: hasBundler ? false : 'esbuild is not installed' },
  async (t) => {
    if (!isBundled()) execFileSync(process.execPath, [fileURLToPath(new URL('bin/bundle-documents.js', root))]);
    t.ok(isBundled(), 'it was made after the last compilation');
    const [bundled, modules] = [open(t, 'bundled.js'), open(t, 'worker.js')];
    const [made, expected] = [await everythingOf(bundled.generator), await everythingOf(modules.generator)];
    for (const what of Object.keys(expected)) t.same(made[what], expected[what], what);
    t.same(made['replaced'], ['ᜋ']);
    t.match(made['refused'], { code: 'VALIDATION_ERROR' });
    t.same([...bundled.logger.lines, ...modules.logger.lines], []);
  },
);

await t.test('a bundle is used where nothing was compiled after it', (t) => {
  const directory = temporaryDirectory(t);
  const [bundle, compiled] = ['bundle', 'compiled'].map((name) => join(directory, name)) as [string, string];
  const isUsed = (): boolean => isBundled(pathToFileURL(bundle), pathToFileURL(compiled));
  t.notOk(isUsed(), 'there is none');
  writeFileSync(compiled, '');
  t.notOk(isUsed(), 'the modules alone');
  writeFileSync(bundle, '');
  utimesSync(bundle, 2_000, 2_000);
  utimesSync(compiled, 1_000, 1_000);
  t.ok(isUsed(), 'the bundle came after them');
  utimesSync(compiled, 3_000, 3_000);
  t.notOk(isUsed(), 'they were compiled anew');
  rmSync(compiled);
  t.ok(isUsed(), 'an image, where nothing is compiled');
  t.match(bundleFile.pathname, /\/build\/src\/adapters\/render\/workers\/worker\.bundle$/);
  t.end();
});
