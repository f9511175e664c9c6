/**
 * The documentation keeps up with the program: codes, settings, endpoints, components, examples and links are those
 * that exist.
 */
import { permissionOfKey } from '../src/domain/access/permissions.js';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readServeConfig } from '../src/service/settings/config.js';
import { builtInFamilies } from '../src/adapters/render/pdf/font-files.js';
import { makePdf } from '../src/adapters/render/pdf/make-pdf.js';
import { makeWorkbook } from '../src/adapters/render/excel/make-workbook.js';
import { orientations, outputFormats, pageFormats, type OutputFormat } from '../src/domain/rendering/content.js';
import type { Json, JsonObject } from '../src/domain/core/json.js';
import { isJsonObject } from '../src/domain/core/json.js';
import { defaultLimits } from '../src/domain/core/limits.js';
import { readSubmitted } from '../src/domain/mime/submitted.js';
import type { FindBlock } from '../src/domain/rendering/blocks.js';
import { checkBlock } from '../src/domain/rendering/check/block.js';
import { checkAttachmentTemplate } from '../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../src/domain/rendering/check/email.js';
import { emailInLanguage } from '../src/domain/rendering/languages.js';
import {
  componentSpecs,
  flowProps,
  emailProps,
  isComponentType,
  isSupported,
  sectionProps,
  supportMatrix,
  type Output,
} from '../src/domain/rendering/components.js';
import { constants } from '../src/domain/rendering/scope/constants.js';
import { operators } from '../src/domain/rendering/scope/conditions.js';
import { chartTypes } from '../src/domain/rendering/css.js';
import { makeProjections } from '../src/projections/index.js';
import { statusOf } from '../src/http/server/errors.js';
import { routesOf } from '../src/http/index.js';
import { sampleAttachments } from './support/samples.js';
import { settings } from '../src/service/settings/settings.js';
import { memoryMailbox, openServer } from './http/server.js';
import { attachmentOf, expandTemplate } from './support/documents.js';
import { png } from './support/pictures.js';
import { renderTemplate, templateOf } from './support/rendering.js';

/** Compiled tests lie two folders deep in the output: build/test. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The cells of every row of every table, without the rules below the headers. */
const rowsOf = (page: string): readonly (readonly string[])[] =>
  page
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('|---'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const fenced = (page: string, language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, inside]) => inside ?? '');

const withoutCode = (page: string): string => page.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, '');

void t.test('every error code stands in its page once, with its status, and no other does', async (t) => {
  const page = read('docs/api-errors.md');
  const documented = rowsOf(page).flatMap(([code = '', status = '']) =>
    /^`[A-Z0-9_]+`$/.test(code) ? [[code.slice(1, -1), Number(status)] as const] : [],
  );
  t.same(documented.map(([code]) => code).sort(), Object.keys(statusOf).sort());
  t.same(Object.fromEntries(documented), statusOf);
  for (const file of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))) {
    const named = [
      ...read(`docs/${file}`).matchAll(
        /`((?:ERR|EMAIL|TEMPLATE|API_KEY|SENDER)_[A-Z0-9_]+|[A-Z]+_(?:ERROR|EXCEEDED|JSON|TOO_LARGE|TOO_LONG|NOT_FOUND|REUSED|REQUIRED))`/g,
      ),
    ];
    for (const [, code = ''] of named) t.ok(Object.hasOwn(statusOf, code), `${file} names ${code}`);
  }
});

void t.test('every command that the page of promises names exists', async (t) => {
  const page = read('docs/promises.md');
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  const [main, faults] = [read('src/main.ts') + read('src/cli/commands.ts'), read('test/faults/run.ts')];
  for (const [, script = ''] of page.matchAll(/`npm run ([\w:]+)/g)) t.ok(scripts[script], `npm run ${script}`);
  for (const [, command = ''] of page.matchAll(/`npx sealpost (\w+)/g))
    t.match(main, `.command('${command}')`, command);
  for (const [, names = ''] of page.matchAll(/--only ([\w,]+)/g))
    for (const name of names.split(',')) t.match(faults, new RegExp(`^  ${name}: \\{`, 'm'), `--only ${name}`);
  for (const [, file = ''] of page.matchAll(/build\/(test\/[\w/.-]+)\.js/g))
    t.ok(existsSync(join(root, `${file}.ts`)), file);
  const promises = page.split(/^## /m).slice(1);
  t.ok(promises.length >= 8);
  for (const promise of promises)
    t.match(promise, /^- `(?:npm|npx|GET)/m, `${promise.split('\n')[0]}: a command shows it`);
});

void t.test('the page of dependencies names each package of package.json once, and no other', async (t) => {
  const [service, dashboard, client] = ['package.json', 'dashboard/package.json', 'packages/sdk/package.json'].map(
    (file) => JSON.parse(read(file)) as Readonly<Record<string, Readonly<Record<string, string>>>>,
  );
  const named = rowsOf(read('docs/dependencies.md')).flatMap(([names = '']) =>
    names === 'package' ? [] : names.split(', '),
  );
  t.notOk('dependencies' in dashboard!, 'the dashboard adds no package that runs');
  t.notOk('dependencies' in client!, 'the client has no dependency');
  const used = [
    ...new Set(
      [
        service!['dependencies']!,
        service!['devDependencies']!,
        dashboard!['devDependencies']!,
        client!['devDependencies']!,
      ].flatMap((packages) => Object.keys(packages)),
    ),
  ].filter((name) => !name.startsWith('@types/'));
  // A family of packages is named by its beginning: `@tiptap/*`.
  const families = named.filter((name) => name.endsWith('/*')).map((name) => name.slice(0, -1));
  const familyOf = (name: string): string | undefined => families.find((family) => name.startsWith(family));
  for (const family of families)
    t.ok(
      used.some((name) => name.startsWith(family)),
      `${family}… is used`,
    );
  t.same(
    named.filter((name) => name !== '@types/…' && !name.endsWith('/*')).toSorted(),
    used.filter((name) => familyOf(name) === undefined).toSorted(),
  );
});

void t.test('the page of the operator names every read model', async (t) => {
  const [row = ''] = read('docs/operating.md').match(/^\| `documents\.<name>.*$/m) ?? [];
  const named = /read models: ([^.]*)\./.exec(row)?.[1]?.match(/[a-zA-Z]+/g) ?? [];
  const names = makeProjections(defaultLimits).map(({ name }) => name);
  t.same(named.toSorted(), names.toSorted());
});

void t.test('every setting stands in .env.example, and pages name only settings that exist', async (t) => {
  const example = read('.env.example');
  for (const name of Object.keys(settings)) t.match(example, new RegExp(`^#?${name}=`, 'm'), name);
  for (const file of [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ]) {
    for (const [name] of read(file).matchAll(/\bSEALPOST_[A-Z0-9_]+[A-Z0-9]\b(?!_|…)/g)) {
      // Settings of the tests are not settings of the service.
      if (name.startsWith('SEALPOST_TEST_')) continue;
      if (name === 'SEALPOST_DATADIR' && file === 'docs/operating.md') continue;
      // Variables that tell tests where servers are, are not settings of the service.
      if (name.startsWith('SEALPOST_TEST_')) continue;
      t.ok(Object.hasOwn(settings, name), `${file} names ${name}`);
    }
  }
});

/** The anchor that readers of Markdown give a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

void t.test('every relative link and picture resolves', async (t) => {
  const pages = [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  for (const page of pages) {
    t.notMatch(read(page), /^(?:<{7}|>{7}|={7}$)/m, `${page} has no marks of a merge`);
    for (const [, target = ''] of withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      if (!t.ok(existsSync(join(root, file)), `${page} links to ${target}`) || anchor === undefined) continue;
      const headings = [...withoutCode(read(file)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        anchorOf(heading),
      );
      t.ok(headings.includes(anchor), `${page} links to the heading ${target}`);
    }
  }
});

void t.test('every file of the code that a page names exists', (t) => {
  for (const file of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')))
    for (const [, path = ''] of read(`docs/${file}`).matchAll(/`((?:src|test|bin|bench)\/[\w./-]*\w)\/?`/g))
      t.ok(existsSync(join(root, path)), `${file} names ${path}`);
  t.end();
});

void t.test('every endpoint stands in the page of the API with its permission', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const documented = new Map<string, string>();
  for (const [endpoints = '', permission = ''] of rowsOf(read('docs/api.md'))) {
    for (const [, endpoint = ''] of endpoints.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)`/g)) {
      if (!documented.has(endpoint)) documented.set(endpoint, permission);
    }
  }
  const pages =
    /^(?:HEAD,)?GET (?:\/|\/mailbox\/app\..*|\/mailbox\/messages\/:id\/html|\/t\/[oc]\/:token|\/docs.*|\/llms\.txt)$/;
  for (const { method, path, access } of routesOf(app)) {
    const endpoint = `${method} ${path}`;
    if (pages.test(endpoint)) continue;
    t.ok(documented.has(endpoint), `${endpoint} is documented`);
    if (access !== 'public')
      t.equal(documented.get(endpoint), `\`${permissionOfKey(access)}\``, `${endpoint} needs ${access}`);
    documented.delete(endpoint);
  }
  t.same([...documented.keys()], [], 'nothing is documented that does not exist');
});

void t.test('each field that the page of SMTP shows is read as it stands there', async (t) => {
  const rows = rowsOf(sectionOf(read('docs/smtp.md'), '## Fields for sealpost')).filter(([field]) => field !== 'field');
  t.ok(rows.length >= 7);
  for (const [field = '', , example = ''] of rows) {
    const [name = '', value = ''] = [field, example].map((cell) => /^`(.*?)`/.exec(cell)?.[1]);
    const template = name === 'X-Sealpost-Variables' ? 'X-Sealpost-Template: order-confirmation\r\n' : '';
    const raw = Buffer.from(`From: shop@example.com\r\n${template}${name}: ${value}\r\n\r\nx\r\n`);
    const { instructions, head } = readSubmitted(raw, ['ada@example.com'], { limits: defaultLimits });
    t.ok(Object.keys(instructions).length > (template === '' ? 0 : 1), `${name}: ${value}`);
    t.notMatch(head, name, `${name} does not leave`);
  }
});

/** The part of a page below a heading, up to the next one. */
const sectionOf = (page: string, heading: string): string =>
  page.slice(page.indexOf(`\n${heading}\n`)).split(/\n(?=#+ )/)[1] ?? '';

const variables: JsonObject = {
  name: 'Ada',
  plan: 'Team',
  renewsOn: '2026-12-01',
  seats: 12,
  total: 92.5,
  photo: `data:image/png;base64,${Buffer.from(png).toString('base64')}`,
  trackingUrl: 'https://example.com/t/8f3a',
  items: [
    { name: 'Ceramic mug', quantity: 2, price: 14, total: 28 },
    { name: 'Pour-over kettle', quantity: 1, price: 64.5, total: 64.5 },
  ],
};

const metadata = { title: 'Example', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };

/** The first bytes of a file of the format. */
const signatures: Readonly<Record<OutputFormat, string>> = { pdf: '%PDF-', excel: 'PK' };

/** The block that the page of blocks shows first. */
const findShown: FindBlock = ({ slug }) => {
  const [first = '{}'] = fenced(read('docs/blocks.md'), 'json');
  const shown = JSON.parse(first) as JsonObject;
  if (shown['slug'] !== slug) return undefined;
  const { variables, schema } = shown;
  return { version: 1, content: checkBlock({ locale: 'en', variables, schema }, defaultLimits).content };
};

/** Checks, expands and draws an attachment template as it comes in. */
const fileOf = async (template: unknown, given: JsonObject, format: OutputFormat): Promise<Uint8Array> => {
  const document = expandTemplate(template, given, { format, find: findShown });
  switch (format) {
    case 'pdf':
      return makePdf(document, new Map(), metadata, defaultLimits);
    case 'excel':
      return makeWorkbook(document, new Map(), metadata, defaultLimits);
  }
};

const isFile = (bytes: Uint8Array, format: OutputFormat): boolean =>
  Buffer.from(bytes).toString('latin1', 0, 5).startsWith(signatures[format]);

/** An example with something to see: a component without text of its own may come to nothing unseen. */
const drawnIn = async (example: Json, given: JsonObject, format: OutputFormat): Promise<boolean> => {
  const { pages } = expandTemplate(attachmentOf([example], { schema: { outputFormats: [format] } }), given, {
    format,
    find: findShown,
  });
  const isDrawn = pages.some(({ sections }) => sections.some(({ components }) => components.length > 0));
  return (
    isDrawn &&
    isFile(await fileOf(attachmentOf([example], { schema: { outputFormats: [format] } }), given, format), format)
  );
};

const picturesOf: Readonly<Record<Output, (type: string) => string>> = {
  email: (type) => `![${type}](img/${type}.png)`,
  pdf: (type) => `![${type} in a PDF](img/${type}-pdf.png)`,
  excel: (type) => `![${type} in a workbook](img/${type}-excel.png)`,
};
const outputs: readonly Output[] = ['email', ...outputFormats];

void t.test(
  'the page of templates has every component with its props, an example that renders and a picture, for each output that has it',
  async (t) => {
    const page = read('docs/templates.md');
    const shown = [...page.matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading);
    t.same([...shown].sort(), Object.keys(supportMatrix).sort());
    const matrix = new Map(
      rowsOf(sectionOf(page, '## Components')).map(([name = '', ...cells]) => [/^\[`(.*)`\]/.exec(name)?.[1], cells]),
    );
    for (const type of shown.filter(isComponentType)) {
      const section = sectionOf(page, `### ${type}`);
      for (const name of Object.keys(componentSpecs[type].props))
        t.match(Object.hasOwn(flowProps, name) ? page : section, `\`${name}\``, `${type} names ${name}`);
      const blocks = fenced(section, 'json').map((text) => JSON.parse(text) as Json);
      const examples = blocks.filter((block) => isJsonObject(block) && 'type' in block);
      t.ok(examples.length > 0, `${type} has an example`);
      // Blocks that are not components are the variables that the example shows.
      const given: JsonObject = Object.assign({}, variables, ...blocks.filter((block) => !examples.includes(block)));
      t.same(
        matrix.get(type),
        outputs.map((output) => (isSupported(type, output) ? 'yes' : '')),
        `the table of the components says which output has ${type}`,
      );
      for (const output of outputs)
        t.equal(
          section.includes(picturesOf[output](type)),
          isSupported(type, output),
          `${type} is shown in ${output} where it is`,
        );
      for (const example of examples) {
        t.equal(isJsonObject(example) ? example['type'] : undefined, type);
        if (isSupported(type, 'email'))
          t.ok(renderTemplate(templateOf([example]), given, { find: findShown }).html.length > 0);
        else t.throws(() => renderTemplate(templateOf([example]), given), { code: 'TEMPLATE_INVALID' });
        for (const format of outputFormats) {
          if (isSupported(type, format))
            t.ok(await drawnIn(example, given, format), `the example of ${type} is drawn in ${format}`);
          else await t.rejects(drawnIn(example, given, format), { code: 'TEMPLATE_INVALID' });
        }
      }
    }
    for (const name of [...Object.keys(emailProps), ...Object.keys(sectionProps)])
      t.match(sectionOf(page, '## Sections'), `\`${name}\``);
    for (const type of chartTypes) t.match(sectionOf(page, '### chart'), `\`${type}\``);
    for (const operator of operators) t.match(sectionOf(page, '## Conditions'), `\`${operator}\``);
    for (const constant of constants) t.match(sectionOf(page, '## Constants'), `\`${constant}\``);
  },
);

void t.test(
  'the page of attachments: its examples are made, its samples, settings of pages, fonts and limits are those of the program',
  async (t) => {
    const page = read('docs/attachments.md');
    const given: JsonObject = { ...variables, number: '7' };
    const examples = fenced(page, 'json').map((text) => JSON.parse(text) as JsonObject);
    t.ok(examples.length >= 2);
    for (const { slug: _slug, name: _name, ...example } of examples) {
      const template = 'type' in example ? attachmentOf([example], { schema: { outputFormats: ['excel'] } }) : example;
      const { content } = checkAttachmentTemplate(template, defaultLimits);
      for (const format of content.schema.outputFormats)
        t.ok(isFile(await fileOf(template, given, format), format), format);
    }
    for (const { slug, schema } of sampleAttachments) {
      t.match(page, `\`${slug}\``);
      for (const format of schema.outputFormats) t.match(page, `(img/${slug}-${format}.png)`);
    }
    for (const word of [...pageFormats, ...orientations])
      t.match(sectionOf(page, '## Attachment templates'), `\`${word}\``);
    const fonts = sectionOf(page, '### Fonts and scripts').replaceAll(' ', '').toLowerCase();
    for (const { name } of builtInFamilies) t.match(fonts, name.toLowerCase(), `the font ${name} is named`);
  },
);

void t.test('the limits of documents stand in their page with the values of the program', async (t) => {
  const rows = new Map(
    rowsOf(sectionOf(read('docs/attachments.md'), '## Limits')).map(([what = '', pdf = '', excel = '', code = '']) => [
      what,
      [pdf, excel, code],
    ]),
  );
  const l = defaultLimits;
  const n = (value: number): string => value.toLocaleString('en-US');
  const both = (value: string, code: string): readonly string[] => [value, value, `\`${code}\``];
  const mib = (bytes: number): string => `${n(bytes / 1024 ** 2)} MiB`;
  t.same(Object.fromEntries([...rows].slice(1)), {
    pages: [n(l.pdfPagesMax), '', '`ERR_LIMIT_001`'],
    'images, as often as they are shown': [n(l.pdfImagesMax), '', '`ERR_LIMIT_002`'],
    'rows of data in all tables together': ['', n(l.excelRowsMax), '`ERR_LIMIT_003`'],
    sheets: ['', n(l.excelSheetsMax), '`ERR_LIMIT_004`'],
    'columns of a table': ['', n(l.excelColumnsMax), '`ERR_LIMIT_005`'],
    'size of the file': both(mib(l.documentSizeBytesMax), 'ERR_LIMIT_006'),
    'items of a loop, list, timeline or chart': both(n(l.loopIterationsMax), 'ERR_LIMIT_007'),
    'rows of a table': [n(l.loopIterationsMax), 'as above', '`ERR_LIMIT_007`'],
    'items of all these together': both(n(l.documentItemsMax), 'ERR_LIMIT_007'),
    'nesting: components, loops, conditionals': both(
      [l.nestingDepthMax, l.nestedLoopsMax, l.nestedConditionsMax].join(', '),
      'ERR_LIMIT_008',
    ),
    components: both(`${n(l.componentsSavedMax)} saved, ${n(l.componentsExpandedMax)} expanded`, 'ERR_LIMIT_009'),
    'characters of all texts': both(n(l.documentTextCharsMax), 'RENDERED_BODY_TOO_LARGE'),
    'characters of a cell': ['', n(l.excelCellCharsMax), '`VALIDATION_ERROR`'],
    'all images together': both(mib(l.documentImagesSizeBytesMax), 'IMAGES_TOO_LARGE'),
    'time for all images': both(`${l.documentImagesTimeoutMs / 1_000} s`, 'IMAGE_NOT_AVAILABLE'),
    'time to make the file': [`${l.pdfTimeoutMs / 1_000} s`, `${l.excelTimeoutMs / 1_000} s`, '`GENERATION_TIMEOUT`'],
    'memory to make the file': both(`${l.generatorMemoryMbMax} MB`, 'GENERATION_FAILED'),
    'documents that wait to be made': both(
      `${l.generatorQueueMax}, for ${l.generatorQueueWaitMs / 1_000} s`,
      'GENERATOR_BUSY',
    ),
  });
});

void t.test('no picture lies there that no page shows', async (t) => {
  const pages = [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ]
    .map(read)
    .join('\n');
  for (const file of readdirSync(join(root, 'docs/img'))) t.ok(pages.includes(`img/${file}`), file);
});

void t.test('the template of the first mail renders to the text that the page shows', async (t) => {
  const page = read('docs/first-mail.md');
  const file = /<<'END'\n(\{.*?\n\})\nEND/s.exec(page)?.[1];
  const { subject, variables: definitions, schema } = JSON.parse(file ?? '{}') as JsonObject;
  const rendered = renderTemplate({ subject, variables: definitions, schema }, { name: 'Ada' });
  t.match(page, `\n${rendered.subject}\n${rendered.text}`);
});

void t.test('the expressions of the page give the results that it shows', (t) => {
  const section = sectionOf(read('docs/templates.md'), '## Calculated variables');
  const named = { name: 'name', type: 'string' };
  const resultOf = (expression: string, type: string, locale: string): string => {
    const calculated = { name: 'result', type, isCalculated: true, expression };
    const text = { id: 'text', type: 'rich-text', content: '<p>={{result}}</p>' };
    return renderTemplate(templateOf([text], { variables: [named, calculated], locale }))
      .text.trim()
      .slice(1);
  };
  let count = 0;
  for (const [cell = '', shown = ''] of rowsOf(section)) {
    const [, , expression] = /^(`+) ?(.+?) ?\1(?: without `name`)?$/.exec(cell) ?? [];
    if (expression === undefined) continue;
    const results = [...shown.matchAll(/`([^`]+)`/g)].map(([, result = '']) => result);
    const type = results.length > 1 ? 'array' : /^[\d.]+$/.test(results[0] ?? '') ? 'number' : 'string';
    const locale = shown.endsWith('in Turkish') ? 'tr' : 'en';
    t.equal(resultOf(expression, type, locale), results.join(', '), cell);
    if (results.length === 0) t.equal(shown, 'no value');
    count += 1;
  }
  t.ok(count > 5);

  const definitions = JSON.parse(fenced(section, 'json')[0] ?? '[]') as readonly Json[];
  const [, call = '', total = '', greeting = ''] =
    /A call with `("items": .*?)` shows `{{total}}` as (\S+) and `{{greeting}}` as `(.*?)`/.exec(section) ?? [];
  const both = { id: 'text', type: 'rich-text', content: '<p>{{total}}, {{greeting}}</p>' };
  const given = JSON.parse(`{${call}}`) as JsonObject;
  t.equal(renderTemplate(templateOf([both], { variables: definitions }), given).text.trim(), `${total}, ${greeting}`);
  t.end();
});

void t.test('the paths of the page are accepted, and those that it calls refused are refused', (t) => {
  const section = sectionOf(read('docs/templates.md'), '## Paths');
  const accepted = rowsOf(section).flatMap(([cell = '']) => [...cell.matchAll(/{{.*?}}/g)].map(([path]) => path));
  const refused = [...(/a save refuses (.*?)\./.exec(section)?.[1] ?? '').matchAll(/{{.*?}}/g)].map(([path]) => path);
  t.ok(accepted.length > 4);
  t.equal(refused.length, 2);
  const templateWith = (path: string) => templateOf([{ id: 'text', type: 'rich-text', content: `<p>${path}</p>` }]);
  for (const path of accepted) t.doesNotThrow(() => checkEmailTemplate(templateWith(path), defaultLimits), path);
  for (const path of refused)
    t.throws(() => checkEmailTemplate(templateWith(path), defaultLimits), { code: 'TEMPLATE_INVALID' }, path);
  t.end();
});

void t.test('the template in several languages renders to the text that its page shows, and lacks none', async (t) => {
  const section = sectionOf(read('docs/templates.md'), '## Languages');
  const { slug: _slug, name: _name, ...template } = JSON.parse(fenced(section, 'json')[0] ?? '{}') as JsonObject;
  const { content, warnings } = checkEmailTemplate(template, defaultLimits);
  t.same(warnings, []);
  const rendered = renderTemplate(emailInLanguage(content, { locale: 'de-AT' }), { number: 'A-7', total: 1234.5 });
  t.equal(
    `${rendered.subject}\n\n${rendered.text.replaceAll('\u00a0', ' ')}`.trim(),
    fenced(section, 'text')[0]?.trim(),
  );
  const { templateLanguagesMax, templateTextsMax } = defaultLimits;
  t.match(read('docs/templates.md'), `| ${templateLanguagesMax}; ${templateTextsMax.toLocaleString('en-US')} |`);
});

void t.test(
  'the settings of docker-compose.yml are taken by each role, and its image starts what the tests start',
  async (t) => {
    const compose = read('docker-compose.yml');
    const common = Object.fromEntries(
      [...compose.matchAll(/^ {2}(SEALPOST_\w+): '?(.*?)'?$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    t.ok(Object.keys(common).length >= 10);
    const key = Buffer.alloc(32, 7).toString('base64');
    const { SEALPOST_MASTER_KEY_FILE: file, ...settings } = common;
    t.equal(file, '/secrets/master.key');
    const roles = [...compose.matchAll(/SEALPOST_ROLES: (\w+)/g)].map(([, role = '']) => role);
    t.same(roles.toSorted(), ['http', 'process', 'project']);
    for (const role of roles)
      t.doesNotThrow(
        () =>
          readServeConfig({
            ...settings,
            SEALPOST_MASTER_KEY: key,
            HOST: '0.0.0.0',
            SEALPOST_DATA_DIR: '/data',
            SEALPOST_ROLES: role,
          }),
        role,
      );
    const image = read('Dockerfile');
    t.match(image, /^ENTRYPOINT \["\/app\/bin\/sealpost\.js"\]\nCMD \["serve"\]$/m);
    t.match(image, /^USER node$/m);
  },
);
