/** Previews of templates that are not saved: what is wrong is told, and the rest is shown. */
import t, { type Test } from 'tap';
import type { UnsavedTemplatePreview } from '../../src/api/templates/unsaved.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import type { Limits } from '../../src/domain/core/limits.js';
import { openLatest } from '../../src/shared/concurrency.js';
import { caller, openWorld, stranger } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { kitchenSink, sinkVariables } from '../support/kitchen-sink.js';
import { seededRandom } from '../support/random.js';
import { accountTemplates, sampleAttachments, sampleTemplates } from '../support/samples.js';

const never = new AbortController().signal;

const open = async (t: Test, limits: Partial<Limits> = {}) => {
  const world = await openWorld(limits);
  t.teardown(() => world.deps.generator.close());
  const { commands } = world;
  const mail = (template: JsonObject, given: JsonObject = {}) =>
    commands.previewUnsavedTemplate(caller, { template, ...given }, never);
  const block = (written: JsonObject, given: JsonObject = {}) =>
    commands.previewUnsavedBlock(caller, { block: written, ...given }, never);
  const document = (template: JsonObject, given: JsonObject = {}) =>
    commands.previewUnsavedAttachment(caller, { template, ...given }, never);
  return { ...world, mail, block, document };
};

const saying = (...components: JsonObject[]): JsonObject => ({
  name: 'Draft',
  subject: 'Hello',
  schema: { sections: [{ id: 'main', type: 'main', components }] },
});
const text = (content: string, id = 'text'): JsonObject => ({ id, type: 'rich-text', content });
const fieldsOf = ({ errors }: Pick<UnsavedTemplatePreview, 'errors'>) => errors.map(({ field }) => field);

void t.test('a template without faults is shown as if it were saved, and nothing is stored', async (t) => {
  for (const apart of [Infinity, 0]) {
    const { commands, mail, store } = await open(t, { previewInlineCharsMax: apart });
    const sink = { name: 'Sink', ...kitchenSink() } as unknown as JsonObject;
    const all: readonly (readonly [JsonObject, JsonObject])[] = [
      [sink, sinkVariables as JsonObject],
      ...sampleTemplates.map((sample) => [sample as unknown as JsonObject, {}] as const),
    ];
    for (const [template, variables] of all) {
      const before = await store.head();
      const { errors, ...shown } = await mail(template, { variables });
      t.same(errors, []);
      t.equal(await store.head(), before, 'no event');
      const { id } = await commands.createTemplate(caller, template as never);
      t.strictSame(shown, await commands.previewTemplate(caller, id, { variables }, never));
    }
  }
});

void t.test('a half-written mail shows the rest, and names what a save would refuse', async (t) => {
  const { commands, mail } = await open(t);
  const template = saying(
    text('<p>Right</p>'),
    text('<p>{{name</p>', 'open'),
    { id: 'start', type: 'button', content: 'Start', props: {} },
    text('<p>Red</p>', 'red'),
    { id: 'rows', type: 'table', props: { dataSource: 'items', columns: [{ header: 'A', content: '{{item.}}' }] } },
    { id: 'pic', type: 'image', props: { src: 'https://example.com/a.png', width: 'wide' } },
    { id: 'odd', type: 'carousel' },
    text('<p>Twice</p>', 'text'),
    { id: 'each', type: 'loop', props: { dataSource: 'items' }, children: [] },
    { id: 'footer', type: 'include', props: { block: 'nowhere' } },
  );
  const { html, subject, errors } = await mail(template, { marks: true });
  t.equal(subject, 'Hello');
  for (const shown of ['Right', '{ {name', 'Red', 'Twice', '<em>button</em>', '<em>component</em>', 'a.png'])
    t.match(html, shown, shown);
  for (const id of ['text', 'open', 'start', 'rows', 'pic', 'odd', 'each', 'footer'])
    t.match(html, `data-component="${id}"`, `${id} can be chosen on the canvas`);
  const saved = await commands.createTemplate(caller, template as never).then(
    () => [],
    (fault: unknown) => (fault instanceof DomainError ? (fault.details.errors ?? []) : []),
  );
  t.ok(saved.length > 4);
  for (const fault of saved)
    t.ok(
      errors.some((one) => one.field === fault.field && one.message === fault.message),
      fault.field,
    );
  t.ok(
    errors.some(({ field }) => field.startsWith('schema.sections[0].components[9].props.block')),
    'and the missing block',
  );
});

void t.test('whatever is missing beside the components is told, and the mail is shown', async (t) => {
  const { mail } = await open(t);
  const schema = saying(text('<p>Right {{total}}</p>'))['schema'] as JsonObject;
  const cases: readonly (readonly [JsonObject, string, RegExp | ''])[] = [
    [{}, 'schema', /role="article"/],
    [{ schema: {} }, 'schema.sections', /role="article"/],
    [{ schema: { sections: [] } }, 'schema.sections', /role="article"/],
    [{ schema: { sections: [null] } }, 'schema.sections[0]', /role="article"/],
    [{ schema: { sections: [{ id: 1, type: 'x', components: {} }] } }, 'schema.sections[0].type', /role="article"/],
    [{ name: 'N', schema }, 'subject', /Right/],
    [{ name: 'N', subject: 'Hi {{', schema }, 'subject', /Right/],
    [{ subject: 'S', schema }, 'name', /Right/],
    [{ name: 'N', subject: 'S', schema, locale: 'xx-invalid-locale-name' }, 'locale', /Right/],
    [{ name: 'N', subject: 'S', schema, timeZone: 'Nowhere' }, 'timeZone', /Right/],
    [{ name: 'N', subject: 'S', schema, strictVariables: 'yes' }, 'strictVariables', /Right/],
    [{ name: 'N', subject: 'S', schema, translations: { de: 1 } }, 'translations.de', /Right/],
    [{ name: 'N', subject: 'S', schema, variables: 1 }, 'variables', /Right/],
    [{ name: 'N', subject: 'S', schema, from: { email: 'x' } }, 'from.email', /Right/],
    [{ name: 'N', subject: 'S', schema: { ...schema, layout: { block: 'nowhere' } } }, 'schema.layout.block', /Right/],
    [{ name: 'N', subject: 'S', schema: { ...schema, props: { width: 'x' } } }, 'schema.props.width', /Right/],
    [{ name: 'N', subject: 'S', schema: { ...schema, components: [] } }, 'schema.components', /Right/],
    [saying(text('<a href="{{__UNSUBSCRIBE_URL__}}">off</a>')), 'unsubscribeList', /off/],
  ];
  for (const [template, field, shown] of cases) {
    const answer = await mail(template);
    t.ok(
      fieldsOf(answer).some((one) => one.startsWith(field)),
      `${field}: ${fieldsOf(answer).join()}`,
    );
    t.match(answer.html, shown, field);
  }
  t.equal((await mail({ name: 'N', subject: 'Hi {{', schema })).subject, 'Hi { {');
});

void t.test('a variable that is wrong is left out, and later faults keep their places', async (t) => {
  const { mail } = await open(t);
  const variables = [
    { name: 'a', type: 'text' },
    { name: 'sum', type: 'number', isCalculated: true, calculation: 'b + nothing(1)' },
    { name: 'b', type: 'number', defaultValue: 7 },
  ];
  const answer = await mail({ ...saying(text('<p>{{b}} {{a}}</p>')), variables });
  t.match(answer.html, '>7 ');
  t.ok(
    fieldsOf(answer).some((field) => field.startsWith('variables[0]')),
    fieldsOf(answer).join(),
  );
  t.ok(
    fieldsOf(answer).some((field) => field.startsWith('variables[1]')),
    fieldsOf(answer).join(),
  );
  t.notOk(fieldsOf(answer).some((field) => field.startsWith('variables[2]')));
});

void t.test('a template that is too much is refused as a value, without a mail', async (t) => {
  const { mail } = await open(t, { componentsSavedMax: 3 });
  const answer = await mail(saying(text('a', '1'), text('b', '2'), text('c', '3'), text('d', '4')));
  t.match(answer, { html: null, subject: null, text: null, sizeBytes: 0, errors: [{ field: 'schema' }] });
  const value = await mail(
    { ...saying(text('{{n}}')), variables: [{ name: 'n', type: 'number' }] },
    { variables: { n: 'x', m: 1 } },
  );
  t.match(value, { html: /role="article"/, errors: [{ field: 'variables.n' }] }, 'shown without the value');
});

void t.test('marks name each component, those without an element on what is inside, and sections', async (t) => {
  for (const apart of [Infinity, 0]) {
    const { commands, block, mail } = await open(t, { previewInlineCharsMax: apart });
    await commands.createBlock(caller, {
      name: 'Box',
      slug: 'box',
      publish: true,
      schema: { components: [text('<p>in</p>', 'in a block')] },
    });
    const template = {
      ...saying(
        {
          id: 'each',
          type: 'loop',
          props: { dataSource: 'items', itemVariable: 'item' },
          children: [text('<p>{{item}}</p>', 'row')],
        },
        {
          id: 'side',
          type: 'columns',
          children: [
            text('l', 'left'),
            { id: 'go', type: 'button', content: 'Go', props: { href: 'https://example.com' } },
          ],
        },
        { id: 'b', type: 'include', props: { block: 'box' } },
        { id: '"><script>\ud800', type: 'divider' },
      ),
      variables: [{ name: 'items', type: 'array', defaultValue: ['x', 'y'] }],
    };
    const { html, errors } = await mail(template, { marks: true });
    t.same(errors, []);
    const marks = [...(html ?? '').matchAll(/<tr data-(component|section)="([^"]*)"/g)].map(
      ([, kind, id]) => `${kind} ${id}`,
    );
    t.same(marks, [
      'section main',
      'component each row',
      'component each row',
      'component side',
      'component left',
      'component go',
      'component b b%2Fin%20a%20block',
      'component %22%3E%3Cscript%3E%EF%BF%BD',
    ]);
    const plain = await mail(template);
    t.notMatch(plain.html, 'data-component');
    const bare = (text: string | null) => text?.replaceAll(/ data-(?:component|section)="[^"]*"|\n/g, '');
    t.equal(bare(html), bare(plain.html), 'nothing else is another');
    const alone = await block({ name: 'B', schema: { components: [text('<p>alone</p>', 'a')] } }, { marks: true });
    t.match(alone, { html: /data-component="a".*alone/s, outputs: ['email', 'pdf', 'excel'], errors: [] });
  }
});

void t.test('a block is shown alone, a layout around a word', async (t) => {
  const { block } = await open(t);
  const layout = {
    name: 'Frame',
    variables: [{ name: 'firm', type: 'string', defaultValue: 'Example' }],
    schema: {
      props: { backgroundColor: '#123456' },
      sections: [
        { id: 'head', type: 'header', components: [text('<p>{{firm}}</p>')] },
        { id: 'slot', type: 'slot' },
      ],
    },
  };
  t.match(await block(layout), { html: /#123456.*Example.*<em>slot<\/em>/s, errors: [] });
  t.match(await block(layout, { variables: { firm: 'Shop' } }), { html: /Shop/ });
  const { sections } = layout.schema;
  const open_ = { ...layout, schema: { sections: sections.slice(0, 1) } };
  t.match(await block(open_), { html: /Example.*<em>slot<\/em>/s, errors: [{ field: 'schema.sections' }] });
  t.match(await block({ name: 'x' }), { html: /<em>block<\/em>/, errors: [{ field: 'schema' }] });
  t.match(await block({ name: 'x', schema: {} }), { html: /<em>block<\/em>/, errors: [{ field: 'schema' }] });
  t.match(await block({ name: 'x', schema: { components: [] } }), { html: /<em>block<\/em>/ });
  const chart = {
    id: 'c',
    type: 'chart',
    props: { chartType: 'bar', dataSource: 'rows', categoryField: 'a', series: [{ name: 'B', valueField: 'b' }] },
  };
  t.match(await block({ name: 'x', schema: { components: [chart] }, variables: [{ name: 'rows', type: 'array' }] }), {
    html: null,
    errors: [{ field: 'schema' }],
  });
  t.match(
    await block({
      name: 'x',
      slug: 'me',
      schema: { components: [{ id: 'i', type: 'include', props: { block: 'me' } }] },
    }),
    {
      errors: [{ field: 'schema.components[0].props.block' }],
    },
  );
});

void t.test('documents are made without being saved, with their faults beside them', async (t) => {
  const { commands, document } = await open(t);
  for (const sample of sampleAttachments.filter(({ slug }) => slug !== 'invoice')) {
    const { errors, content, format } = await document(sample as unknown as JsonObject);
    t.same(errors, []);
    const { id } = await commands.createAttachmentTemplate(caller, sample as never);
    const saved = await commands.previewAttachmentTemplate(caller, id, { variables: {} }, never);
    t.equal(format, saved.format);
    t.ok(Buffer.from(content ?? '', 'base64').equals(saved.bytes), 'the same bytes');
  }
  const page = (...components: JsonObject[]): JsonObject => ({
    name: 'Paper {{number',
    schema: {
      outputFormats: ['pdf'],
      pages: [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'body', components }] }],
    },
  });
  const broken = await document(
    page(
      text('<p>Right</p>'),
      { id: 'b', type: 'button', content: 'x' },
      { id: 'i', type: 'image', props: { src: 'asset:11111111-1111-4111-8111-111111111111' } },
    ),
  );
  t.match(Buffer.from(broken.content ?? '', 'base64').toString('latin1'), /^%PDF/);
  t.match(broken, { format: 'pdf', name: 'Paper { {number' });
  for (const field of [
    'name',
    'schema.pages[0].sections[0].components[1]',
    'schema.pages[0].sections[0].components[2]',
  ])
    t.ok(
      fieldsOf(broken).some((one) => one.startsWith(field)),
      `${field}: ${fieldsOf(broken).join()}`,
    );
  t.match(await document({}), { name: '…', content: /./, errors: [{ field: 'name' }, { field: 'schema' }] });
  t.match(await document(page(text('x')), { format: 'excel' }), {
    content: null,
    errors: [{ field: 'name' }, { field: 'format' }],
  });
});

void t.test('a team is shown nothing of another', async (t) => {
  const { commands } = await open(t);
  await commands.createBlock(stranger, {
    name: 'B',
    slug: 'theirs',
    publish: true,
    schema: { components: [text('secret')] },
  });
  const template = saying({ id: 'i', type: 'include', props: { block: 'theirs' } });
  const { html, errors } = await commands.previewUnsavedTemplate(caller, { template }, never);
  t.notMatch(html, 'secret');
  t.match(errors, [{ field: /props\.block$/ }]);
});

void t.test('the language of the call must be one', async (t) => {
  const { commands } = await open(t);
  await refusedWith(
    t,
    commands.previewUnsavedTemplate(caller, { template: {}, locale: 'no locale' }, never),
    'VALIDATION_ERROR',
  );
});

const placesIn = (
  value: Json | undefined,
  place: readonly (string | number)[] = [],
): (readonly (string | number)[])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, member]) => {
        const at = [...place, Array.isArray(value) ? Number(name) : name];
        return [at, ...placesIn(member as Json, at)];
      })
    : [];

const WRONG: readonly Json[] = [
  null,
  '',
  '{{',
  '{{a.b[}}',
  7,
  -1,
  true,
  [],
  {},
  [null],
  { type: 'x' },
  'x'.repeat(300),
];

void t.test('a template broken anywhere is shown, or refused with a reason', async (t) => {
  const { mail } = await open(t);
  const random = seededRandom(611);
  const all = [kitchenSink(), ...sampleTemplates, ...accountTemplates] as unknown as JsonObject[];
  let shown = 0;
  const runs = 300;
  for (let run = 0; run < runs; run += 1) {
    const template = structuredClone(random.pick(all)) as Record<string, Json>;
    const broken: string[] = [];
    for (let count = random.between(1, 3); count > 0; count -= 1) {
      const place = random.pick(placesIn(template as Json));
      const key = place.at(-1)!;
      const holder = place.slice(0, -1).reduce<Json>((value, name) => (value as Record<string, Json>)[name]!, template);
      const wrong = random.pick(WRONG);
      if (random.chance(0.3)) Reflect.deleteProperty(holder as object, key);
      else (holder as Record<string, Json>)[key] = wrong;
      broken.push(`${place.join('.')} = ${JSON.stringify(wrong).slice(0, 20)}`);
    }
    const { html, errors } = await mail(JSON.parse(JSON.stringify(template)) as JsonObject);
    if (html !== null) shown += 1;
    else
      t.comment(
        `${broken.join('; ')}: ${errors
          .map(({ field, message }) => `${field} ${message}`)
          .join('; ')
          .slice(0, 300)}`,
      );
    t.ok(html !== null || errors.length > 0, broken.join('; '));
  }
  t.ok(shown >= runs * 0.95, `${shown} of ${runs} are shown`);
});

void t.test('the later of two previews of one caller ends the earlier one', async (t) => {
  const latest = openLatest(() => new Error('later'));
  const waits = (signal: AbortSignal): Promise<string> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  const first = latest('a', never, waits);
  const other = latest('b', never, async () => 'other');
  const second = latest('a', never, async () => 'second');
  await t.rejects(first, { message: 'later' });
  t.equal(await other, 'other');
  t.equal(await second, 'second');
  let release: (() => void) | undefined;
  const deaf = latest('a', never, () => new Promise<string>((resolve) => (release = () => resolve('late'))));
  t.equal(await latest('a', never, async () => 'third'), 'third');
  release?.();
  await t.rejects(deaf, { message: 'later' }, 'whatever it made in the end');
});
