/**
 * The tree of the editor: whatever its acts make can be saved, what they do not touch stays equal to the byte, and each
 * act can be undone.
 */
import t from 'tap';
import { begin, done, labelsOf, redone, undone } from '../../../dashboard/src/templates/editor/history.js';
import {
  changedAt,
  duplicate,
  gistOf,
  insert,
  isObject,
  labelOf,
  mayMove,
  mayUnwrap,
  move,
  nodeAt,
  outlineOf,
  placeBy,
  remove,
  rename,
  shownPath,
  typesOf,
  unwrap,
  valueAt,
  walk,
  wayTo,
  wrap,
  type Content,
  type Direction,
  type Kind,
  type Outcome,
  type Outline,
} from '../../../dashboard/src/templates/editor/model.js';
import {
  isMeant,
  makeComponent,
  makeInclude,
  makePage,
  makeSection,
  paletteOf,
} from '../../../dashboard/src/templates/editor/palette.js';
import { defaultLimits } from '../../../src/domain/core/limits.js';
import { checkBlock } from '../../../src/domain/rendering/check/block.js';
import { checkAttachmentTemplate } from '../../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import { kitchenSink } from '../../support/kitchen-sink.js';
import { seededRandom, type Random } from '../../support/random.js';
import { accountSamples, samples } from '../../support/samples.js';

const asContent = (value: unknown): Content => JSON.parse(JSON.stringify(value)) as Content;

const contentFields = ['subject', 'variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

/** Throws where a save would refuse it. */
const check = (content: Content, kind: Kind): void => {
  const own = Object.fromEntries(Object.entries(content).filter(([name]) => contentFields.includes(name)));
  const { subject, ...rest } = own;
  if (kind === 'email') checkEmailTemplate({ subject, ...rest }, defaultLimits);
  else if (kind === 'attachment') checkAttachmentTemplate(rest, defaultLimits, String(content['name']));
  else checkBlock({ locale: 'en-US', variables: [], ...rest }, defaultLimits);
};

const isValid = (content: Content, kind: Kind): true | string => {
  try {
    check(content, kind);
    return true;
  } catch (fault) {
    const { details } = fault as { details?: { errors?: readonly { field: string; message: string }[] } };
    const errors = (details?.errors ?? []).map(({ field, message }) => `${field} ${message}`);
    return `${String(fault)} ${errors.join('; ')}`;
  }
};

const mail = (...components: object[]): Content =>
  asContent({
    name: 'Mail',
    subject: 'Hello',
    variables: [
      { name: 'seats', type: 'number' },
      {
        name: 'items',
        type: 'array',
        itemType: 'object',
        schema: { itemSchema: { properties: { name: { type: 'string' } } } },
      },
    ],
    schema: { sections: [{ id: 'main', type: 'main', components }] },
  });
const text = (id: string, content = `<p>${id}</p>`) => ({ id, type: 'rich-text', content });
const loop = (id: string, ...children: object[]) => ({
  id,
  type: 'loop',
  props: { dataSource: '{{items}}', itemVariable: 'item' },
  children,
});

/** With its arrays declared: a name that nothing declares is refused where a declared one is nearly the same. */
const sink: Content = {
  ...asContent(kitchenSink()),
  name: 'Sink',
  variables: ['items', 'steps'].map((name) => ({ name, type: 'array' })),
};

const starts: readonly (readonly [Kind, Content])[] = [
  ['email', mail(text('a'))],
  ['email', sink],
  [
    'email',
    asContent({ name: 'Empty', subject: 'x', schema: { sections: [{ id: 's', type: 'main', components: [] }] } }),
  ],
  [
    'attachment',
    asContent({
      name: 'Document',
      variables: [],
      schema: {
        outputFormats: ['pdf', 'excel'],
        pages: [{ pageId: 'p', pageName: 'One', sections: [{ id: 's', type: 'body', components: [text('a')] }] }],
      },
    }),
  ],
  ['block', asContent({ name: 'Block', variables: [], schema: { components: [text('a')] } })],
  [
    'block',
    asContent({
      name: 'Layout',
      variables: [],
      schema: {
        props: { color: '#111' },
        sections: [
          { id: 'top', type: 'header', components: [text('a')] },
          { id: 'middle', type: 'slot' },
        ],
      },
    }),
  ],
  ...[...samples.emails, ...accountSamples].map((sample) => ['email', asContent(sample)] as const),
  ...samples.attachments.map((sample) => ['attachment', asContent(sample)] as const),
];

const act = (outline: Outline, random: Random): Outcome => {
  const nodes = [...outline.byKey.values()];
  const node = nodes.length === 0 ? undefined : random.pick(nodes);
  const key = node?.key ?? '';
  const holder = random.chance(0.1) ? undefined : node;
  const place = { parent: holder?.key, index: random.between(0, 6) };
  switch (random.between(0, 8)) {
    case 0:
    case 1: {
      const entries = paletteOf(outline);
      const { id } = random.pick(entries);
      return insert(outline, place, makeComponent(id, outline, holder));
    }
    case 2:
      return random.chance(0.5)
        ? insert(outline, place, makeSection(outline, holder))
        : insert(outline, place, makePage(outline));
    case 3:
      return move(outline, random.pick(nodes).key, place);
    case 4: {
      const to = placeBy(outline, key, random.pick<Direction>(['up', 'down', 'in', 'out']));
      return to === undefined ? { refused: 'no place' } : move(outline, key, to);
    }
    case 5:
      return remove(outline, key);
    case 6:
      return duplicate(outline, key);
    case 7:
      return wrap(
        outline,
        key,
        makeComponent(random.pick(['conditional', 'loop', 'container', 'columns'] as const), outline, node?.parent),
      );
    default:
      return random.chance(0.5) ? unwrap(outline, key) : rename(outline, key, `name ${random.between(1, 30)}`);
  }
};

void t.test('whatever acts make can be saved, and 200 acts can be undone to the byte', (t) => {
  let acts = 0;
  let refused = 0;
  for (const [run, [kind, start]] of starts.entries())
    for (const seed of [1, 2]) {
      const random = seededRandom(run * 100 + seed);
      t.equal(isValid(start, kind), true, `${kind} ${String(start['name'])}`);
      const before = JSON.stringify(start);
      let history = begin(start);
      for (let count = 0; count < 200;) {
        const outline = outlineOf(history.present, kind);
        const outcome = act(outline, random);
        if ('refused' in outcome) {
          refused += 1;
          continue;
        }
        acts += 1;
        count += 1;
        const made = outlineOf(outcome.content, kind);
        if (outcome.key !== undefined && !made.byKey.has(outcome.key)) t.fail(`${outcome.key} is not there`);
        // A check takes longer than an act.
        if (count % 20 === 0) {
          const valid = isValid(outcome.content, kind);
          if (valid !== true) t.fail(`${kind} ${seed}: ${valid}`);
        }
        const changed = outcome.content === history.present ? { ...outcome.content } : outcome.content;
        history = done(history, changed, { label: 'an act' }, count);
      }
      const last = JSON.stringify(history.present);
      for (let count = 0; count < 200; count += 1) history = undone(history)!;
      t.equal(JSON.stringify(history.present), before, `${kind} ${String(start['name'])}`);
      t.equal(undone(history), undefined);
      for (let count = 0; count < 200; count += 1) history = redone(history)!;
      t.equal(JSON.stringify(history.present), last);
      t.equal(redone(history), undefined);
    }
  t.comment(`${acts} acts, ${refused} refused`);
  t.ok(acts > 8_000);
  t.end();
});

/** Components and sections that may have a colour, by their paths. */
const coloured = (outline: Outline): readonly (readonly (string | number)[])[] =>
  [...outline.byKey.values()]
    .filter(({ kind, type }) => kind === 'section' || ['rich-text', 'button', 'container', 'divider'].includes(type))
    .map(({ path }) => path);

const COLOUR = '#123456';

/** The paths at which two values differ. */
const differences = (one: unknown, other: unknown, path: string): readonly string[] => {
  if (one === other) return [];
  if (Array.isArray(one) && Array.isArray(other))
    return Array.from({ length: Math.max(one.length, other.length) }, (_, at) => at).flatMap((at) =>
      differences(one[at], other[at], `${path}[${at}]`),
    );
  if (!isObject(one) || !isObject(other)) return [path];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((name) =>
    differences(one[name], other[name], `${path}.${name}`),
  );
};

void t.test('samples and 1,000 random templates stay as they are but for a colour', (t) => {
  const all = [...starts];
  const random = seededRandom(4711);
  while (all.length < starts.length + 1_000) {
    const [kind, start] = random.pick(starts);
    let content = start;
    for (let count = random.between(3, 25); count > 0; count -= 1) {
      const outcome = act(outlineOf(content, kind), random);
      if ('content' in outcome) content = outcome.content;
    }
    all.push([kind, asContent(content)]);
  }
  let changed = 0;
  for (const [kind, content] of all) {
    const places = coloured(outlineOf(content, kind));
    if (places.length === 0) continue;
    const path = [...random.pick(places), 'props', 'color'];
    const before = JSON.stringify(content);
    const had = valueAt(content, path);
    const next = changedAt(content, path, () => COLOUR);
    t.equal(JSON.stringify(content), before, 'the content itself is not touched');
    const [found, ...others] = differences(content, next, '');
    if (found?.startsWith(`.${shownPath(path.slice(0, -2))}.props`) !== true || others.length > 0)
      t.fail(`${found} ${others.join(' ')}`);
    const back = changedAt(next, path, () => had);
    // JSON leaves out what is undefined, but for an object of props that was not there.
    const written = JSON.stringify(back).replace(new RegExp(`,"props":\\{\\}(?=\\})`), '');
    if (written !== before.replace(new RegExp(`,"props":\\{\\}(?=\\})`), '')) t.fail(`${shownPath(path)} of ${before}`);
    changed += 1;
  }
  t.ok(changed > 900, `${changed} templates`);
  t.end();
});

const contentOf = (outcome: Outcome): Content => {
  if ('refused' in outcome) throw new Error(outcome.refused);
  return outcome.content;
};
const tree = (content: Content, kind: Kind = 'email'): string =>
  walk(outlineOf(content, kind).roots)
    .map((node) => node.key)
    .join(' ');

void t.test('a component moves among lists, and a loop that would be empty goes', (t) => {
  const start = mail(text('a'), loop('each', text('b')), { id: 'box', type: 'container', children: [text('c')] });
  const outline = outlineOf(start, 'email');
  t.equal(tree(start), 'main a each b box c');
  t.equal(tree(contentOf(move(outline, 'a', { parent: 'box', index: 9 }))), 'main each b box c a');
  t.equal(tree(contentOf(move(outline, 'c', { parent: 'main', index: 0 }))), 'main c a each b box');
  t.equal(tree(contentOf(move(outline, 'a', { parent: 'main', index: 2 }))), 'main each b a box c');
  t.equal(tree(contentOf(move(outline, 'box', { parent: 'main', index: 0 }))), 'main box c a each b');
  const emptied = move(outline, 'b', { parent: 'main', index: 0 });
  t.equal(tree(contentOf(emptied)), 'main b a box c');
  t.same((emptied as { gone: unknown }).gone, ['For each item of items']);
  const removed = remove(outline, 'b');
  t.match(removed, { key: 'box', gone: ['For each item of items'] });
  t.equal(tree(contentOf(removed)), 'main a box c');
  t.match(move(outline, 'box', { parent: 'box', index: 0 }), { refused: 'Nothing can stand inside of itself.' });
  t.match(move(outline, 'a', { parent: 'b', index: 0 }), { refused: /Nothing can stand inside/ });
  t.match(move(outline, 'a', { parent: undefined, index: 0 }), { refused: /stands in a section/ });
  t.match(move(outline, 'main', { parent: 'box', index: 0 }), { refused: 'Nothing can stand inside of itself.' });
  t.match(insert(outline, { parent: 'box', index: 0 }, makeSection(outline)), {
    refused: 'A section cannot stand here.',
  });
  t.match(remove(outline, 'main'), { refused: /last one/ });
  t.match(remove(outline, 'gone'), { refused: /not there/ });
  t.equal(
    contentOf(move(outline, 'a', { parent: 'main', index: 1 })),
    start,
    'a move to its own place changes nothing',
  );
  t.end();
});

void t.test('keys move by one step, also into what stands before and out of it', (t) => {
  const start = mail(
    text('a'),
    { id: 'if', type: 'conditional', props: { condition: 'seats', operator: 'exists' }, children: [] },
    text('b'),
  );
  const two = changedAt(start, ['schema', 'sections', 1], () => ({
    id: 'foot',
    type: 'footer',
    components: [text('f')],
  }));
  const by = (content: Content, key: string, direction: Direction): Content | undefined => {
    const outline = outlineOf(content, 'email');
    const place = placeBy(outline, key, direction);
    return place === undefined ? undefined : contentOf(move(outline, key, place));
  };
  t.equal(tree(two), 'main a if then:if else:if b foot f');
  t.equal(tree(by(two, 'b', 'up')!), 'main a b if then:if else:if foot f');
  t.equal(tree(by(two, 'a', 'down')!), 'main if then:if else:if a b foot f');
  const inside = by(two, 'b', 'in')!;
  t.equal(tree(inside), 'main a if then:if b else:if foot f');
  t.equal(JSON.stringify(valueAt(inside, ['schema', 'sections', 0, 'components', 1, 'elseChildren'])), undefined);
  const other = by(inside, 'b', 'down')!;
  t.equal(tree(other), 'main a if then:if else:if b foot f');
  t.equal(tree(by(other, 'b', 'up')!), tree(inside));
  t.equal(tree(by(other, 'b', 'out')!), 'main a if then:if else:if b foot f');
  t.equal(by(two, 'b', 'out'), undefined, 'a component of a section has nothing around it but the section');
  t.equal(tree(by(two, 'b', 'down')!), 'main a if then:if else:if foot b f');
  t.equal(tree(by(two, 'f', 'up')!), 'main a if then:if else:if b f foot');
  t.equal(tree(by(two, 'foot', 'up')!), 'foot f main a if then:if else:if b');
  t.equal(by(two, 'foot', 'down'), undefined);
  t.equal(by(two, 'a', 'in'), undefined, 'a text takes nothing in');
  t.equal(by(two, 'a', 'up'), undefined);
  t.end();
});

void t.test('what reads the items of a loop stays in it', (t) => {
  const row = text('row', '<p>{{ item.name }}</p>');
  const table = {
    id: 'own',
    type: 'table',
    props: { dataSource: 'items', itemVariable: 'item', columns: [{ content: '{{item.name}}' }] },
  };
  const check = { id: 'if', type: 'conditional', props: { condition: 'item', operator: 'exists' }, children: [] };
  const start = mail(loop('each', row, table, check, text('free')), loop('other', text('o')));
  const outline = outlineOf(start, 'email');
  for (const key of ['row', 'if'])
    t.match(
      move(outline, key, { parent: 'main', index: 0 }),
      { refused: /reads item, .*“For each item of items”/ },
      key,
    );
  t.match(unwrap(outline, 'each'), { refused: /reads item/ });
  t.notOk(mayMove(outline, 'row', 'main'));
  t.equal(placeBy(outline, 'row', 'out'), undefined);
  for (const key of ['own', 'free']) t.ok('content' in move(outline, key, { parent: 'main', index: 0 }), key);
  t.ok('content' in move(outline, 'row', { parent: 'other', index: 0 }), 'another loop has an item, too');
  const known = { ...start, variables: [{ name: 'item', type: 'object' }] };
  t.ok('content' in move(outlineOf(known, 'email'), 'row', { parent: 'main', index: 0 }), 'a variable of that name');
  t.end();
});

void t.test('copies have ids of their own, and what is wrapped can be unwrapped', (t) => {
  const start = mail(loop('each', text('row'), text('row-2')));
  const outline = outlineOf(start, 'email');
  const copied = duplicate(outline, 'each');
  t.match(copied, { key: 'each-2' });
  t.equal(tree(contentOf(copied)), 'main each row row-2 each-2 row-3 row-4');
  const section = contentOf(duplicate(outline, 'main'));
  t.equal(tree(section), 'main each row row-2 main-2 each-2 row-3 row-4');
  const wrapped = wrap(outline, 'row', makeComponent('conditional', outline));
  t.equal(tree(contentOf(wrapped)), 'main each condition then:condition row else:condition row-2');
  const inside = outlineOf(contentOf(wrapped), 'email');
  t.ok(mayUnwrap(inside.byKey.get('condition')!));
  t.equal(JSON.stringify(contentOf(unwrap(inside, 'condition'))), JSON.stringify(start));
  t.match(unwrap(inside, 'row'), { refused: 'It holds no component.' });
  t.match(wrap(outline, 'main', makeComponent('loop', outline)), { refused: /Only components/ });
  t.end();
});

void t.test('widths of columns go with their columns', (t) => {
  const columns = { id: 'co', type: 'columns', props: { widths: ['65%', '35%'] }, children: [text('l'), text('r')] };
  const start = mail(columns, text('a'));
  const outline = outlineOf(start, 'email');
  const widths = (outcome: Outcome): unknown =>
    valueAt(contentOf(outcome), ['schema', 'sections', 0, 'components', 0, 'props', 'widths']);
  t.same(widths(move(outline, 'r', { parent: 'co', index: 0 })), ['35%', '65%']);
  t.same(widths(remove(outline, 'l')), ['35%']);
  t.same(widths(move(outline, 'l', { parent: 'main', index: 2 })), ['35%']);
  t.equal(widths(move(outline, 'a', { parent: 'co', index: 1 })), undefined, 'a third column shares the room');
  t.end();
});

void t.test('names, ways and faults are told in words', (t) => {
  const start = mail(
    text('a', '<h1>Hello &amp; <b>welcome</b></h1>'),
    {
      id: 'if',
      type: 'conditional',
      props: { condition: '{{seats}}', operator: '>=', value: 10 },
      children: [loop('each', text('b', 'x'.repeat(80)))],
    },
    { id: 'two', type: 'columns', children: [{ id: 'c1', type: 'container', children: [] }] },
    { id: 'odd', type: 'marquee' },
  );
  const outline = outlineOf(start, 'email');
  const label = (key: string): string => labelOf(outline.byKey.get(key)!);
  t.equal(label('a'), 'Text: Hello & welcome');
  t.equal(label('if'), 'If seats is at least 10');
  t.equal(label('each'), 'For each item of items');
  t.equal(label('b'), `Text: ${'x'.repeat(60)}…`);
  t.equal(label('c1'), 'Column 1');
  t.equal(label('odd'), 'marquee');
  t.equal(wayTo(outline.byKey.get('b')!), 'Main, If seats is at least 10, Then, For each item of items');
  t.equal(nodeAt(outline, 'schema.sections[0].components[1].children[0].children[0].content')?.key, 'b');
  t.equal(nodeAt(outline, 'schema.sections[0].components[1].props.value')?.key, 'if');
  t.equal(nodeAt(outline, 'schema.sections[0].components[10].props')?.key, 'main');
  t.equal(nodeAt(outline, 'subject'), undefined);
  t.equal(gistOf(`<img alt="${'<'.repeat(5_000)}`).length <= 61, true);
  t.end();
});

void t.test('a name is the id, and no two have the same', (t) => {
  const outline = outlineOf(mail(text('a'), text('b')), 'email');
  t.match(rename(outline, 'a', ' Intro '), { key: 'Intro' });
  t.equal(tree(contentOf(rename(outline, 'a', 'Intro'))), 'main Intro b');
  for (const [wanted, refused] of [
    ['', /at least one/],
    ['x'.repeat(101), /at most 100/],
    ['b', /Another component/],
    ['main', /Another component/],
  ] as const)
    t.match(rename(outline, 'a', wanted), { refused }, wanted);
  t.end();
});

void t.test('limits, outputs and slots hold', (t) => {
  const many = outlineOf(mail(...Array.from({ length: 200 }, (_, n) => text(`t${n}`))), 'email');
  t.match(duplicate(many, 't0'), { refused: /at most 200/ });
  const deep = Array.from({ length: 9 }).reduce<object>(
    (inner, _, n) => ({ id: `c${n}`, type: 'container', children: [inner] }),
    text('inner'),
  );
  const outline = outlineOf(mail(deep, { id: 'box', type: 'container', children: [] }, text('a')), 'email');
  t.match(insert(outline, { parent: 'c0', index: 0 }, makeComponent('container', outline)), { refused: /10 deep/ });
  t.match(move(outline, 'c8', { parent: 'box', index: 0 }), { refused: /10 deep/ });
  t.notOk(mayMove(outline, 'c8', 'box'));
  t.ok(mayMove(outline, 'a', 'box'));
  const loops = outlineOf(mail(loop('l1', loop('l2', loop('l3', text('x')))), loop('l4', text('y'))), 'email');
  t.match(move(loops, 'l4', { parent: 'l3', index: 0 }), { refused: /at most 3/ });
  const raised = Array.from({ length: 210 }, (_, n) => text(`t${n}`));
  const beyond = outlineOf(mail(...raised), 'email');
  t.ok('content' in duplicate(beyond, 't0'), 'the service of that template has another limit');

  const [, , , document, block, layout] = starts.map(([kind, content]) => outlineOf(content, kind));
  t.notOk(typesOf(document!).includes('button'));
  t.ok(typesOf(document!).includes('chart'));
  t.match(insert(document!, { parent: 's', index: 0 }, makeComponent('button', document!)), { refused: /output/ });
  t.ok(typesOf(block!).includes('button') && typesOf(block!).includes('chart'));
  const withButton = outlineOf(
    contentOf(insert(block!, { parent: undefined, index: 0 }, makeComponent('button', block!))),
    'block',
  );
  t.notOk(typesOf(withButton).includes('chart'), 'no output has both');
  t.match(remove(layout!, 'middle'), { refused: /keeps its slot/ });
  t.match(duplicate(layout!, 'middle'), { refused: /one slot/ });
  t.match(insert(layout!, { parent: 'middle', index: 0 }, makeComponent('button', layout!)), {
    refused: /Nothing can/,
  });
  t.match(insert(document!, { parent: 'page:p', index: 0 }, makeSection(document!)), { key: 'header' });
  t.match(insert(document!, { parent: undefined, index: 1 }, makePage(document!)), { key: 'page:page' });
  t.match(insert(outline, { parent: 'box', index: 0 }, makeInclude('legal-footer')), { key: 'block' });
  t.end();
});

void t.test('the palette is searched by the words of people', (t) => {
  const entries = paletteOf(outlineOf(mail(), 'email'));
  const found = (typed: string): readonly string[] =>
    entries.filter((entry) => isMeant(entry, typed)).map(({ id }) => id);
  t.same(found('heading'), ['rich-text']);
  t.same(found('pic logo'), ['image']);
  t.same(found('IF'), ['conditional']);
  t.same(found('zzz'), []);
  t.equal(found('').length, entries.length);
  t.notOk(entries.some(({ id }) => (id as string) === 'chart' || (id as string) === 'include'));
  t.end();
});

void t.test('content of any shape has a tree', (t) => {
  const odd: readonly unknown[] = [
    {},
    { schema: null },
    { schema: { sections: 'x' } },
    {
      schema: {
        sections: [null, 1, { components: [null, { id: 'a' }, { id: 'a', type: 5 }, { type: 'loop', children: 'x' }] }],
      },
    },
    { schema: { sections: [{ id: '@schema.sections[1]', components: [] }, { components: [] }] } },
    JSON.parse(
      '{"schema":{"sections":[{"id":"__proto__","type":"constructor","components":[{"__proto__":{"id":"x"},"id":"toString","type":"toString"}]}]}}',
    ),
  ];
  for (const content of odd)
    for (const kind of ['email', 'attachment', 'block'] as const) {
      const { byKey, roots } = outlineOf(content as Content, kind);
      t.equal(walk(roots).length, byKey.size);
      for (const node of byKey.values()) t.type(labelOf(node), 'string');
    }
  const kept = changedAt(JSON.parse('{"__proto__":{"a":1},"b":{"c":1}}') as Content, ['b', 'c'], () => 2);
  t.equal(JSON.stringify(kept), '{"__proto__":{"a":1},"b":{"c":2}}');
  t.end();
});

void t.test('acts of one group within a second are one step', (t) => {
  let history = begin('');
  for (const [at, value] of [
    [0, 'H'],
    [300, 'He'],
    [1_200, 'Hel'],
    [2_300, 'Hell'],
  ] as const)
    history = done(history, value, { label: 'Text', group: 'text' }, at);
  history = done(history, 'Hello', { label: 'Colour', group: 'color' }, 2_400);
  t.same(labelsOf(history), { undo: 'Colour', redo: undefined });
  const values = [];
  for (let now = undone(history); now !== undefined; now = undone(now)) values.push(now.present);
  t.same(values, ['Hell', 'Hel', '']);
  const back = undone(history)!;
  t.same(labelsOf(back), { undo: 'Text', redo: 'Colour' });
  const other = done(back, 'Hell!', { label: 'Text', group: 'text' }, 2_450);
  t.equal(undone(other)!.present, 'Hell', 'an undo ends the group');
  t.equal(redone(other), undefined, 'a new act ends what could be done again');
  t.equal(done(other, other.present, { label: 'Nothing' }, 9_000), other);
  t.end();
});
