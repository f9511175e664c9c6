/** Documents of workers, and checks of bodies. */
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import t, { type Test } from 'tap';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { openLogger } from '../../../../src/adapters/logger/pino.js';
import { openBodyChecks } from '../../../../src/adapters/render/workers/body-checks.js';
import { openGenerator } from '../../../../src/adapters/render/workers/generator.js';
import { DomainError } from '../../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../../../src/domain/core/limits.js';
import type { DocumentInput, LoadedImage } from '../../../../src/domain/ports/generator.js';
import { checkAttachmentTemplate } from '../../../../src/domain/rendering/check/document.js';
import { temporaryDirectory } from '../../../support/data-directory.js';
import { attachmentOf } from '../../../support/documents.js';
import { memoryLog } from '../../../support/memory-ports.js';
import { environment } from '../../../support/rendering.js';
import { teamA } from '../../../support/teams.js';

// Documents made in their processes by the libraries themselves: the same bytes each time, damaged pictures, and
// nothing of them in the service.

t.setTimeout(900_000);

const never = new AbortController().signal;
const metadata = { title: 'Test', author: 'sealpost', createdAt: '2026-11-21T10:00:00.000Z' };
const noImages: ReadonlyMap<string, LoadedImage> = new Map();

let revisions = 0;
const inputOf = (
  components: readonly unknown[],
  { variables = {}, definitions = [] }: { variables?: JsonObject; definitions?: readonly unknown[] } = {},
): DocumentInput => {
  const template = attachmentOf(components, { variables: definitions, schema: { outputFormats: ['pdf', 'excel'] } });
  revisions += 1;
  return {
    teamId: teamA,
    cacheKey: `revision-${revisions}`,
    content: checkAttachmentTemplate(template, defaultLimits).content,
    variables,
    environment,
  };
};

const open = (
  t: Test,
  {
    limits = {},
    fontsDir,
    keepsReady = false,
  }: { limits?: Partial<Limits>; fontsDir?: string; keepsReady?: boolean } = {},
) => {
  const logger = memoryLog();
  const generator = openGenerator({
    limits: { ...defaultLimits, ...limits },
    clock: systemClock(),
    logger,
    keepsReady,
    ...(fontsDir === undefined ? {} : { fontsDir }),
  });
  t.teardown(() => generator.close());
  return { generator, logger };
};

const text = { id: 'text', type: 'rich-text', content: '<p>Dear {{name}}</p>' };
const definitions = [{ name: 'name', type: 'string', required: true }];
const picture = (src: string) => ({ id: 'picture', type: 'image', props: { src, alt: 'A picture' } });
/** 1 x 1, a single grey dot. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsUkfjAAAAABJRU5ErkJggg==',
  'base64',
);

const codeOf = (made: Promise<unknown>): Promise<string | undefined> =>
  made.then(
    () => undefined,
    (fault: unknown) => {
      if (fault instanceof DomainError) return fault.code;
      throw fault;
    },
  );

await t.test(
  'both formats are made, the same bytes each time, in any process, and the service holds none of their libraries',
  async (t) => {
    const input = inputOf([text], { definitions, variables: { name: 'Ada' } });
    const [first, second] = [open(t).generator, open(t).generator];
    for (const format of ['pdf', 'excel'] as const) {
      const files = [
        (await first.make(input, format, noImages, metadata, never)).bytes,
        (await first.make(input, format, noImages, metadata, never)).bytes,
        (await second.make(input, format, noImages, metadata, never)).bytes,
      ].map((file) => Buffer.from(file));
      t.ok(
        files.every((file) => file.equals(files[0]!)),
        `${format}: the same bytes`,
      );
      if (format === 'pdf') t.equal(files[0]!.toString('latin1', 0, 5), '%PDF-');
      else t.match(Buffer.from(unzipSync(files[0]!)['xl/worksheets/sheet1.xml']!).toString(), 'Dear Ada');
    }
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    t.ok(
      loaded.some((file) => file.includes('/node_modules/')),
      'the list shows what is loaded',
    );
    t.same(
      loaded.filter((file) => /\/node_modules\/(pdfmake|@foliojs-fork|pdfkit|fontkit|exceljs)\//.test(file)),
      [],
    );
  },
);

await t.test('a process that stood ready makes the same bytes', async (t) => {
  const input = inputOf([text], { definitions, variables: { name: 'Ada' } });
  const { generator, logger } = open(t, { keepsReady: true });
  generator.prepare();
  const file = (await generator.make(input, 'pdf', noImages, metadata, never)).bytes;
  t.ok(
    Buffer.from(file).equals(
      Buffer.from((await open(t).generator.make(input, 'pdf', noImages, metadata, never)).bytes),
    ),
  );
  t.same(logger.lines, [], 'and what it made first was in order');
});

await t.test('a revision is compiled once for its key', async (t) => {
  const { generator } = open(t);
  const input = inputOf([text], { definitions, variables: { name: 'Ada' } });
  const other = inputOf([text, { ...text, id: 'more' }], { definitions });
  const one = (await generator.make(input, 'excel', noImages, metadata, never)).bytes;
  const same = (
    await generator.make(
      { ...other, cacheKey: input.cacheKey, variables: input.variables },
      'excel',
      noImages,
      metadata,
      never,
    )
  ).bytes;
  t.ok(Buffer.from(one).equals(same), 'what a key names never changes');
});

await t.test('variables are refused as in a mail, before and while the document is made', async (t) => {
  const { generator } = open(t);
  const input = inputOf([text], { definitions });
  await t.rejects(generator.imageSources(input, 'pdf', never), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'variables.name' }] },
  });
  await t.rejects(
    generator.make(input, 'excel', noImages, metadata, never).then(({ bytes }) => bytes),
    { code: 'VALIDATION_ERROR' },
  );
});

await t.test('the addresses of pictures come out once each; damaged pictures fail their own document', async (t) => {
  const { generator } = open(t);
  const sources = ['https://example.com/a.png', 'https://example.com/b.png'];
  const input = inputOf([
    picture(sources[0]!),
    { ...picture(sources[1]!), id: 'b' },
    { ...picture(sources[0]!), id: 'c' },
  ]);
  t.same(await generator.imageSources(input, 'pdf', never), sources);
  const whole: LoadedImage = { bytes: png, contentType: 'image/png' };
  const imagesOf = (second: LoadedImage): ReadonlyMap<string, LoadedImage> =>
    new Map([
      [sources[0]!, whole],
      [sources[1]!, second],
    ]);
  const damaged: Readonly<Record<string, LoadedImage>> = {
    'a PNG whose pixels are cut off': { bytes: png.subarray(0, 45), contentType: 'image/png' },
    'a PNG whose pixels are no zlib stream': {
      bytes: Buffer.concat([png.subarray(0, 41), Buffer.alloc(10, 0xff), png.subarray(51)]),
      contentType: 'image/png',
    },
    'a head alone': { bytes: png.subarray(0, 8), contentType: 'image/png' },
    'a JPEG without a frame': {
      bytes: Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 1, 2, 3]),
      contentType: 'image/jpeg',
    },
    'nothing at all': { bytes: new Uint8Array(), contentType: 'image/jpeg' },
  };
  for (const [what, image] of Object.entries(damaged)) {
    const [failing, beside] = await Promise.all([
      codeOf(generator.make(input, 'pdf', imagesOf(image), metadata, never).then(({ bytes }) => bytes)),
      codeOf(generator.make(input, 'pdf', imagesOf(whole), metadata, never).then(({ bytes }) => bytes)),
    ]);
    t.equal(failing, 'GENERATION_FAILED', what);
    t.equal(beside, undefined, `${what}: another document at the same time is made`);
  }
});

await t.test('a layout that takes too long or too much memory is ended, and the next document is made', async (t) => {
  const rows = Array.from({ length: 6_000 }, (_, row) => ({ a: `row ${row} ${'word '.repeat(20)}` }));
  const table = {
    id: 'table',
    type: 'table',
    props: {
      dataSource: 'rows',
      itemVariable: 'row',
      columns: [
        { header: 'A', content: '{{row.a}}' },
        { header: 'B', content: '{{row.a}}' },
      ],
    },
  };
  const long = inputOf([table], {
    definitions: [{ name: 'rows', type: 'array', itemType: 'object' }],
    variables: { rows },
  });
  const short = inputOf([text], { definitions, variables: { name: 'Ada' } });
  const generous = { pdfPagesMax: 100_000, loopIterationsMax: 100_000 };
  const late = open(t, { limits: { ...generous, pdfTimeoutMs: 1_500 } });
  t.equal(
    await codeOf(late.generator.make(long, 'pdf', noImages, metadata, never).then(({ bytes }) => bytes)),
    'GENERATION_TIMEOUT',
  );
  t.equal(
    await codeOf(late.generator.make(short, 'excel', noImages, metadata, never).then(({ bytes }) => bytes)),
    undefined,
  );
  const poor = open(t, { limits: { ...generous, generatorMemoryMbMax: 64 } });
  t.equal(
    await codeOf(poor.generator.make(long, 'pdf', noImages, metadata, never).then(({ bytes }) => bytes)),
    'GENERATION_FAILED',
  );
  t.equal(
    await codeOf(poor.generator.make(short, 'excel', noImages, metadata, never).then(({ bytes }) => bytes)),
    undefined,
  );
});

await t.test('a folder of fonts is read in the process', async (t) => {
  const fontsDir = join(temporaryDirectory(t), 'fonts');
  mkdirSync(fontsDir, { recursive: true });
  const { generator, logger } = open(t, { fontsDir });
  const input = inputOf([text], { definitions, variables: { name: 'Ada' } });
  t.equal(await codeOf(generator.make(input, 'pdf', noImages, metadata, never).then(({ bytes }) => bytes)), undefined);
  const gone = open(t, { fontsDir: join(fontsDir, 'gone') });
  t.equal(
    await codeOf(gone.generator.make(input, 'pdf', noImages, metadata, never).then(({ bytes }) => bytes)),
    'GENERATION_FAILED',
  );
  t.equal(
    await codeOf(gone.generator.make(input, 'excel', noImages, metadata, never).then(({ bytes }) => bytes)),
    undefined,
  );
  t.same(logger.lines, []);
});

// Bodies of many members in processes of their own: checked, refused, and never the end of the service.

const file = new URL('../../../../src/http/server/json/large-body.js', import.meta.url);
const openWithSettings = (settings: unknown, module = file) =>
  openBodyChecks({ file: module, settings, clock: systemClock(), logger: openLogger({ level: 'silent' }) });

const bodyOf = (text: string) => ({
  bytes: Buffer.from(text),
  schema: { type: 'object', properties: { b: { type: 'string' } } },
  isIdempotent: true,
});

void t.test('a body crosses to a process and comes back in its canonical form, or as a refusal', async (t) => {
  const checks = openWithSettings(defaultLimits);
  t.teardown(checks.close);
  const { canonical } = await checks.check(bodyOf('{"b":null,"c":1,"a":[true]}'), 'team');
  t.equal(Buffer.from(canonical!).toString(), '{"a":[true],"c":1}');
  t.same(await checks.check({ ...bodyOf('{}'), isIdempotent: false }, 'team'), { kind: 'checked' });
  const { plain } = await checks.check(bodyOf('{"\\u540d":"\\u540d","b":1}'), 'team');
  t.equal(Buffer.from(plain!).toString(), '{"名":"\\u540d","b":1}', 'names without escapes');
  await t.rejects(checks.check(bodyOf('{"a":1,"a":2}'), 'team'), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'a', message: /twice/ }] },
  });
  await t.rejects(checks.check(bodyOf('{"a":'), 'team'), {
    code: 'MALFORMED_JSON',
    details: { relatedInfo: { line: 1, column: 6 } },
  });
});

void t.test('the largest body of the most members is within the memory of a process', async (t) => {
  const checks = openWithSettings(defaultLimits);
  t.teardown(checks.close);
  const name = 'n'.repeat(90);
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 99_000 }, (_, at) => [`${name}${at}`, ''])));
  t.ok(text.length > 9_500_000);
  const { canonical } = await checks.check(bodyOf(text), 'team');
  t.equal(canonical!.length, text.length);
});

void t.test('a process that ends with its body refuses that body alone', async (t) => {
  const checks = openWithSettings(defaultLimits, new URL('./body-checks-that-fail.js', import.meta.url));
  t.teardown(checks.close);
  await t.rejects(checks.check(bodyOf('{"ends":1}'), 'team'), { code: 'JSON_TOO_COMPLEX' });
  t.same(await checks.check(bodyOf('{}'), 'team'), { kind: 'checked' });
});

void t.test('once closed it asks to come again', async (t) => {
  const checks = openWithSettings(defaultLimits);
  await checks.close();
  await t.rejects(checks.check(bodyOf('{}'), 'team'), { code: 'TOO_MANY_LARGE_BODIES', details: { retryAfterS: 2 } });
});
