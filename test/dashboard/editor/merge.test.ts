/** Two people's changes put together, and copies of a template that show what its data hide. Neither needs a browser. */
import t from 'tap';
import { mergedOf } from '../../../dashboard/src/templates/editor/merge.js';
import { outlineOf, type Content } from '../../../dashboard/src/templates/editor/model.js';
import { shownAs, switchesFor, type Switch } from '../../../dashboard/src/templates/editor/shown.js';
import { renderTemplate, templateOf } from '../../support/rendering.js';

const text = (id: string, content = id) => ({ id, type: 'rich-text', content });
const mail = (...components: readonly object[]): Content => ({
  subject: 'Hello',
  schema: { sections: [{ id: 'main', type: 'main', components }] },
});
const base = mail(text('a'), text('b'), text('c'));

void t.test('changes of different components go together', (t) => {
  const mine = mail(text('a', 'mine'), text('b'), text('c'));
  const theirs = { ...mail(text('a'), text('b'), text('c', 'theirs')), subject: 'Theirs' };
  const both = { ...mail(text('a', 'mine'), text('b'), text('c', 'theirs')), subject: 'Theirs' };
  t.same(mergedOf(base, mine, theirs), { content: both, conflicts: [] });
  t.same(mergedOf(base, theirs, mine), { content: both, conflicts: [] });
  t.end();
});

void t.test('one adds and moves, the other changes what stays', (t) => {
  const mine = mail(text('c'), text('a'), text('new'), text('b'));
  const theirs = mail(text('a'), text('b', 'theirs'), text('c'));
  const both = mail(text('c'), text('a'), text('new'), text('b', 'theirs'));
  t.same(mergedOf(base, mine, theirs), { content: both, conflicts: [] });
  t.same(mergedOf(base, theirs, mine), { content: both, conflicts: [] });
  const removed = mail(text('a'), text('c'));
  t.same(mergedOf(base, removed, mail(text('a', 'x'), text('b'), text('c'))).content, mail(text('a', 'x'), text('c')));
  t.end();
});

void t.test('what both changed is a conflict, and mine is kept', (t) => {
  const mine = mail(text('a', 'mine'), text('b'), text('c'));
  const theirs = mail(text('a', 'theirs'), text('b'), text('c'));
  t.same(mergedOf(base, mine, theirs), {
    content: mine,
    conflicts: ['schema.sections[main].components[a].content'],
  });
  const removed = mail(text('b'), text('c'));
  t.same(mergedOf(base, removed, mine).conflicts, ['schema.sections[main].components']);
  t.same(mergedOf(base, mine, removed).conflicts, ['schema.sections[main].components']);
  const moved = mail(text('b'), text('a'), text('c'));
  t.same(mergedOf(base, moved, removed).conflicts, ['schema.sections[main].components']);
  t.same(mergedOf(base, mine, mine), { content: mine, conflicts: [] }, 'the same change of both is none');
  t.end();
});

void t.test('lists without ids go together by their places', (t) => {
  const table = (...rows: readonly string[][]): Content => mail({ id: 't', type: 'table', props: { rows } });
  const was = table(['a', 'b'], ['c', 'd']);
  const both = mergedOf(was, table(['a', 'x'], ['c', 'd']), table(['a', 'b'], ['y', 'd']));
  t.same(both, { content: table(['a', 'x'], ['y', 'd']), conflicts: [] });
  t.same(mergedOf(was, table(['a', 'x']), table(['a', 'b'], ['y', 'd'])).conflicts, [
    'schema.sections[main].components[t].props.rows',
  ]);
  t.end();
});

const hidden = {
  id: 'if',
  type: 'conditional',
  props: { condition: '{{seats}}', operator: '>', value: 5 },
  children: [text('many', '<p>Many</p>')],
  elseChildren: [
    text('few', '<p>Few</p>'),
    {
      id: 'each',
      type: 'loop',
      props: { dataSource: '{{order.items}}', itemVariable: 'item' },
      children: [text('row', '<p>{{item.name}} for {{item.price.net}}</p>')],
    },
  ],
};

const shownText = (content: Content, variables: Content, switches: ReadonlyMap<string, Switch>): string => {
  const shown = shownAs(content, 'email', variables, switches);
  const schema = shown.content['schema'] as { sections: { components: never[] }[] };
  const { html } = renderTemplate(templateOf(schema.sections[0]!.components), shown.variables as never);
  return html.replace(/^.*<body/s, '').replace(/<[^>]*>|\s+/g, ' ');
};

void t.test('both branches and items can be shown, whatever the data are', (t) => {
  const content = mail(hidden);
  const { byKey } = outlineOf(content, 'email');
  const before = JSON.stringify(content);
  t.match(shownText(content, { seats: 9 }, new Map()), /Many/);
  t.match(shownText(content, { seats: 1 }, new Map()), /Few/);
  t.match(shownText(content, { seats: 1 }, new Map([['if', 'then']])), /Many/);
  const other = shownText(content, { seats: 9 }, switchesFor(byKey.get('row')!));
  t.match(other, /Few/);
  t.match(other, /name for net .*name for net/, 'two items with a word for each member');
  t.notMatch(other, /Many/);
  const given = { seats: 9, order: { items: [{ name: 'Mug', price: { net: 5 } }] } };
  t.match(shownText(content, given, switchesFor(byKey.get('row')!)), /Mug for 5/, 'own items are kept');
  t.equal(JSON.stringify(content), before);
  t.end();
});

void t.test('switches of what is gone, and loops in loops, change nothing', (t) => {
  const inner = {
    id: 'inner',
    type: 'loop',
    props: { dataSource: '{{item.parts}}', itemVariable: 'part' },
    children: [text('p', '{{part.name}}')],
  };
  const outer = { id: 'outer', type: 'loop', props: { dataSource: 'items', itemVariable: 'item' }, children: [inner] };
  const content = mail(outer);
  const switches = new Map<string, Switch>([
    ['gone', 'then'],
    ['inner', 'items'],
  ]);
  t.same(shownAs(content, 'email', {}, switches), { content, variables: {} });
  const { byKey } = outlineOf(content, 'email');
  t.same(shownAs(content, 'email', {}, switchesFor(byKey.get('p')!)).variables, {
    items: Array.from({ length: 2 }, () => ({ parts: [{ name: 'name' }, { name: 'name' }] })),
  });
  t.end();
});
