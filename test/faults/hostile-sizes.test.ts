/**
 * Inputs of hostile sizes over saving, preview, sending and names of attachments: what they cost is told in units of
 * the budget, never in time.
 */
import t, { type Test } from 'tap';
import { escapeHtml } from '../../src/adapters/render/email/escape.js';
import { writeDocument } from '../../src/adapters/render/email/document.js';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import { wrap } from '../../src/adapters/render/email/text-layout.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { compilePreparation } from '../../src/domain/rendering/fill/compile.js';
import { compileLosses } from '../../src/domain/rendering/paths/losses.js';
import { partsOfEmail } from '../../src/domain/rendering/paths/walk.js';
import { spendHtml } from '../../src/domain/rendering/html.js';
import { caller, openWorld, schemaSaying, simple, welcome } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { attachmentOf, expandTemplate } from '../support/documents.js';
import { environment, renderTemplate, templateOf } from '../support/rendering.js';
import { turnsBeside } from '../support/loop-turns.js';

const never = new AbortController().signal;

const MEGA = 1_000_000;
const definitions = ['s', 'list'].map((name) => ({ name, type: name === 's' ? 'string' : 'array' }));

type Template = Readonly<{
  content?: string;
  subject?: string;
  variables?: readonly unknown[];
  props?: Readonly<Record<string, unknown>>;
}>;

const world = async ({ content = 'x', subject = 'Hello', variables = definitions, props }: Template) => {
  const opened = await openWorld();
  const schema = schemaSaying('x');
  const [section] = schema.sections;
  const components = [{ id: 'text', type: 'rich-text', content, ...(props === undefined ? {} : { props }) }];
  const template = {
    ...welcome,
    subject,
    variables: [...variables],
    schema: { sections: [{ ...section, components }] },
  };
  return { ...opened, save: () => opened.commands.createTemplate(caller, template) };
};

/** The code that the work is refused with, the message of another error, or that it was done. */
const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'done';
  } catch (fault) {
    return fault instanceof DomainError ? fault.code : String(fault);
  }
};

type Work = Parameters<typeof refusedWith>[1];

/** Refused with the unit that was spent, and nothing written. */
const tooMuch = async (
  t: Test,
  unit: 'characters' | 'elements' | 'operations' | 'modules',
  work: Work,
): Promise<void> => {
  const { details } = await refusedWith(t, work, 'WORK_LIMIT_EXCEEDED');
  t.equal(details.relatedInfo?.['unit'], unit);
};

void t.test('file names share the characters of the call', async (t) => {
  const { save, commands, store } = await world({});
  await save();
  const before = store.events.length;
  const filename = '{{s}}'.repeat(50);
  const files = Array.from({ length: 10 }, () => ({ filename, content: 'AAAA', contentType: 'text/plain' }));
  const send = (chars: number) =>
    commands.sendEmail(caller, simple({ variables: { s: 's'.repeat(chars) }, attachments: files }));
  await tooMuch(t, 'characters', send(MEGA));
  await tooMuch(t, 'characters', send(Math.ceil(defaultLimits.workCharsMax / 500) + 1));
  t.equal(store.events.length, before, 'nothing is written');
  await send(1_000);
});

void t.test(
  'a subject of many placeholders, of the call or of the template, is refused while it is filled',
  async (t) => {
    const subject = '{{s}}'.repeat(190);
    const variables = { s: 's'.repeat(MEGA) };
    const given = await world({});
    await given.save();
    await tooMuch(t, 'characters', given.commands.sendEmail(caller, simple({ variables, subject })));
    const own = await world({ subject });
    await own.save();
    await tooMuch(t, 'characters', own.commands.sendEmail(caller, simple({ variables })));
    await tooMuch(t, 'characters', own.commands.previewTemplate(caller, 'welcome', { variables }, never));
  },
);

void t.test('one value that is shown fifty times stops the mail before it is larger than a mail may be', async (t) => {
  const { save, commands } = await world({ content: '{{s}}'.repeat(50) });
  await save();
  const variables = { s: '<'.repeat(3 * MEGA) };
  await refusedWith(t, commands.sendEmail(caller, simple({ variables })), 'RENDERED_BODY_TOO_LARGE');
  await refusedWith(t, commands.previewTemplate(caller, 'welcome', { variables }, never), 'RENDERED_BODY_TOO_LARGE');
});

void t.test(
  'values that are longer together than a string may be are refused wherever they are put together',
  async (t) => {
    const many = '{{s}}'.repeat(200);
    const item = { title: many, description: many, date: many };
    const parts: readonly (readonly [place: string, component: Readonly<Record<string, unknown>>])[] = [
      ['a word', { type: 'rich-text', content: many }],
      ['a whole address', { type: 'rich-text', content: `<a href="${many}">x</a>` }],
      ['a host', { type: 'rich-text', content: `<a href="https://${many}">x</a>` }],
      ['a path', { type: 'rich-text', content: `<a href="https://example.com/${many}">x</a>` }],
      ['a query', { type: 'rich-text', content: `<a href="https://example.com/?q=${many}">x</a>` }],
      ['the address of a picture', { type: 'image', props: { src: many, alt: many } }],
      ['a button', { type: 'button', content: many, props: { href: many } }],
      ['a list', { type: 'list', content: `<ul><li>${many}</li></ul>` }],
      ['a cell', { type: 'table', props: { rows: [[many]] } }],
      ['a header', { type: 'table', props: { dataSource: 'list', columns: [{ header: many, content: '{{item}}' }] } }],
      ['a timeline', { type: 'timeline', props: { items: [item] } }],
      ['a code', { type: 'qr-code', props: { value: many } }],
      ['a colour', { type: 'rich-text', content: 'x', props: { color: many } }],
    ];
    const shown = [{}, { fallback: 'none' }, { filters: ['upper'] }];
    const variables = { s: 's'.repeat(3 * MEGA), list: ['x'] };
    for (const [place, component] of parts) {
      for (const definition of shown) {
        const [s, list] = definitions;
        const template = templateOf([{ id: 'a', ...component }], { variables: [{ ...s, ...definition }, list] });
        const render = openRenderer({ limits: defaultLimits }).compileEmail(
          checkEmailTemplate(template, defaultLimits).content,
        );
        for (const work of [render.check, render]) {
          const code = codeOf(() => work({ variables, environment, budget: openBudget(defaultLimits) }));
          t.ok(
            ['RENDERED_BODY_TOO_LARGE', 'WORK_LIMIT_EXCEEDED'].includes(code),
            `${place} ${JSON.stringify(definition)}: ${code}`,
          );
        }
      }
    }
  },
);

void t.test('several values in one word, or in one address, are shown as they are', async (t) => {
  const content = '<p>{{s}}-{{list[0]}}{{s}}</p><a href="{{list[0]}}{{s}}">x</a>';
  const { html, text } = renderTemplate(
    templateOf([{ id: 'a', type: 'rich-text', content }], { variables: definitions }),
    {
      s: '<b>',
      list: ['https://example.com/'],
    },
  );
  t.match(html, /&lt;b&gt;-https:\/\/example\.com\/&lt;b&gt;/);
  t.match(html, /href="https:\/\/example\.com\/[^"]*b[^"]*"/);
  t.match(text, /<b>-https:\/\/example\.com\/<b>/);
});

void t.test(
  'a text of a document, and what a condition compares with, is refused before it is put together',
  async (t) => {
    const many = '{{s}}'.repeat(200);
    const variables = { s: 's'.repeat(3 * MEGA), list: [] };
    const document = attachmentOf([{ id: 'a', type: 'rich-text', content: many }], { variables: definitions });
    t.equal(
      codeOf(() => expandTemplate(document, variables)),
      'RENDERED_BODY_TOO_LARGE',
    );
    const compared = {
      id: 'c',
      type: 'conditional',
      props: { condition: 's', operator: '==', value: many },
      children: [{ id: 'a', type: 'rich-text', content: 'x' }],
    };
    const { content } = checkEmailTemplate(templateOf([compared], { variables: definitions }), defaultLimits);
    const budget = openBudget(defaultLimits);
    const prepared = compilePreparation(content.variables, { locale: 'en-US', timeZone: 'UTC' }, defaultLimits)(
      variables,
      environment,
      budget,
    );
    const find = compileLosses(partsOfEmail(content), {
      definitions: content.variables,
      locale: 'en-US',
      limits: defaultLimits,
    });
    t.equal(
      codeOf(() => find(prepared, { budget })),
      'WORK_LIMIT_EXCEEDED',
    );
  },
);

void t.test('a value that never reaches the mail costs what it is read for', async (t) => {
  const { save, commands } = await world({ props: { color: '{{s}}'.repeat(50) } });
  await save();
  const variables = { s: 's'.repeat(MEGA) };
  await tooMuch(t, 'characters', commands.sendEmail(caller, simple({ variables })));
  await tooMuch(t, 'characters', commands.previewTemplate(caller, 'welcome', { variables }, never));
});

void t.test('what a call spends is what it fills in, and a mail at its largest stays within', async (t) => {
  const { content } = checkEmailTemplate(
    templateOf([{ id: 'a', type: 'rich-text', content: '<p>{{s}} {{s}}</p>' }]),
    defaultLimits,
  );
  const render = openRenderer({ limits: defaultLimits }).compileEmail(content);
  const spent = (chars: number): number => {
    const budget = openBudget(defaultLimits);
    render.check({ variables: { s: 's'.repeat(chars) }, environment, budget });
    return defaultLimits.workCharsMax - budget.charsLeft;
  };
  t.equal(spent(1_000), 1_000, 'read once, however often it is shown');
  t.ok(spent(500_000) <= 2 * 500_000, 'measured, then rendered');
  const budget = openBudget({ ...defaultLimits, workCharsMax: 10 });
  t.throws(() => render.check({ variables: { s: 'eleven char' }, environment, budget }), {
    code: 'WORK_LIMIT_EXCEEDED',
  });
  t.doesNotThrow(
    () => render({ variables: { s: 'eleven char' }, environment }),
    'what was accepted is rendered whatever the limit is',
  );
});

void t.test(
  'escaping goes piece by piece, stops where too much is written, and keeps every character whole',
  async (t) => {
    t.ok(
      escapeHtml('<'.repeat(100_000), 100_000).length < 100_000 + 4_096 * '&quot;'.length,
      'at most one piece too much',
    );
    t.equal(
      escapeHtml('<'.repeat(3 * MEGA), 10_000).length,
      3 * MEGA,
      'what is too long as it stands is not escaped at all',
    );
    for (const before of [4_094, 4_095, 4_096]) {
      const long = `${'a'.repeat(before)}😀<é`;
      t.equal(escapeHtml(long), `${'a'.repeat(before)}&#128512;&lt;&#233;`);
    }
    t.equal(escapeHtml(`${'漢'.repeat(5_000)}&`), `${'漢'.repeat(5_000)}&amp;`);
  },
);

const hostileHtml: readonly Readonly<{ what: string; html: string }>[] = [
  { what: '25,000 breaks', html: '<br>'.repeat(25_000) },
  { what: '25,000 paragraphs', html: '<p>a</p>'.repeat(25_000) },
  { what: '25,000 paragraphs that nobody closes', html: '<p>a'.repeat(25_000) },
  { what: 'a million angles', html: '<'.repeat(MEGA) },
  { what: 'comments', html: '<!--'.repeat(250_000) },
  { what: 'closing tags alone', html: '</b>'.repeat(250_000) },
  { what: 'attributes', html: `<p ${'a '.repeat(400_000)}>x</p>` },
  { what: 'attributes without blanks', html: `<p ${'a=""'.repeat(200_000)}>x</p>` },
  { what: 'declarations', html: `<p style="${'color:red;'.repeat(100_000)}">x</p>` },
  { what: 'entities', html: '&amp;'.repeat(200_000) },
  { what: 'placeholders', html: '{{s}}'.repeat(200_000) },
];

void t.test('HTML of many elements is refused at save before it is parsed', async (t) => {
  for (const { what, html } of hostileHtml) {
    const { save, store } = await world({ content: html });
    const before = store.events.length;
    await tooMuch(t, 'elements', save());
    t.equal(store.events.length, before, what);
    const budget = openBudget(defaultLimits);
    t.throws(() => spendHtml(html, budget), { code: 'WORK_LIMIT_EXCEEDED' });
  }
  const pages = [
    {
      pageId: 'p',
      pageName: 'x',
      sections: [
        { id: 's', type: 'main', components: [{ id: 'a', type: 'rich-text', content: '<br>'.repeat(25_000) }] },
      ],
    },
  ];
  const document = { variables: [], schema: { outputFormats: ['pdf'], pages } };
  t.throws(
    () => checkAttachmentTemplate(document, defaultLimits),
    { code: 'WORK_LIMIT_EXCEEDED' },
    'documents as well',
  );
});

void t.test('a tag that another stands in costs what is read of it again', async (t) => {
  for (const tag of ['<br/b=', '<p/b=', '<li/b=', '<a', '<br<']) {
    const html = tag.repeat(MEGA / tag.length);
    const { save } = await world({ content: html });
    await tooMuch(t, 'characters', save());
  }
  const html = `${'<p class="a" title="{{s}}">x</p>'.repeat(500)}`;
  const budget = openBudget(defaultLimits);
  spendHtml(html, budget);
  t.ok(defaultLimits.workCharsMax - budget.charsLeft <= html.length, 'otherwise each character is read once');
});

void t.test('the elements of all texts count together', async (t) => {
  const template = templateOf(['a', 'b'].map((id) => ({ id, type: 'rich-text', content: '<p>x</p>'.repeat(6) })));
  const check = (workElementsMax: number) => checkEmailTemplate(template, { ...defaultLimits, workElementsMax });
  t.doesNotThrow(() => check(12));
  t.throws(() => check(11), { code: 'WORK_LIMIT_EXCEEDED', details: { relatedInfo: { unit: 'elements', max: 11 } } });
});

void t.test('elements that are never closed are refused where they stand, after a few hundred of them', async (t) => {
  const html = '<b>'.repeat(340_000);
  const { save } = await world({ content: html });
  const { details } = await refusedWith(t, save(), 'TEMPLATE_INVALID');
  t.match(details.errors, [{ field: 'schema.sections[0].components[0].content', message: /<b>/ }]);
  const budget = openBudget(defaultLimits);
  t.match(spendHtml(html, budget), /256/);
  t.equal(defaultLimits.workElementsMax - budget.elementsLeft, 257);
});

void t.test('what authors write every day costs its tags', async (t) => {
  const spent = (html: string): number => {
    const budget = openBudget(defaultLimits);
    t.equal(spendHtml(html, budget), undefined, html);
    return defaultLimits.workElementsMax - budget.elementsLeft;
  };
  t.equal(spent('no markup; none at all'), 0);
  t.equal(spent('<p>Dear {{name}}</p>'), 2);
  t.equal(spent('<a href="https://example.com/?a=1>2" title=\'x\'>y</a><br/>'), 2.5);
  t.equal(spent('<td style="margin:0;padding:0">&amp;</td>'), 2);
  t.equal(spent('<p>one<p>two<p>three'), 3);
  t.equal(spent('<ul><li>one<li>two</ul>'.repeat(300)), 900, 'lists without closing tags nest nothing');
  t.equal(spent('<div><p>one<div>two</div></div>'.repeat(300)), 900);
});

void t.test('no recursion and no list of arguments depends on how much an author wrote', async (t) => {
  const limits: Limits = { ...defaultLimits, workElementsMax: Infinity };
  for (const content of ['<br>'.repeat(25_000), '<i>a</i>'.repeat(25_000)]) {
    const { content: checked } = checkEmailTemplate(templateOf([{ id: 'a', type: 'rich-text', content }]), limits);
    t.doesNotThrow(() => openRenderer({ limits }).compileEmail(checked));
  }
});

void t.test(
  'a rich text is taken apart once for both outputs of a template, which are compiled in turns of their own',
  async (t) => {
    const richTexts = new Map();
    const { content } = checkEmailTemplate(
      templateOf([{ id: 'a', type: 'rich-text', content: '<p>a</p><p>{{s}}</p>' }]),
      defaultLimits,
    );
    const language = { locale: 'en-US', timeZone: 'UTC' };
    writeDocument(content, defaultLimits, language, { outputs: 'html and text', richTexts, checkedCodes: new Set() });
    t.equal(richTexts.size, 1);
    const [nodes] = [...richTexts.values()];
    writeDocument(content, defaultLimits, language, { outputs: 'html', richTexts, checkedCodes: new Set() });
    t.same([...richTexts.values()], [nodes]);
    t.equal([...richTexts.values()][0], nodes, 'the second output has taken what the first has made');
    const turns = await turnsBeside(() => openRenderer({ limits: defaultLimits }).compileEmailInTurns(content));
    t.ok(turns >= 2, `${turns} turns`);
  },
);

void t.test(
  'QR codes cost their modules, before they are laid: those of the template at save, all of them in a mail',
  async (t) => {
    const code = (at: number, value: string) => ({ id: `q${at}`, type: 'qr-code', props: { value, size: 400 } });
    const template = (count: number, value: string) =>
      templateOf(Array.from({ length: count }, (_, at) => code(at, `${value}${at}`)));
    t.throws(() => checkEmailTemplate(template(50, 'x'.repeat(800)), defaultLimits), {
      code: 'WORK_LIMIT_EXCEEDED',
      details: { relatedInfo: { unit: 'modules', max: defaultLimits.workModulesMax } },
    });
    t.doesNotThrow(
      () => checkEmailTemplate(template(50, 'https://example.com/tickets/0123456789'), defaultLimits),
      'tickets of a family',
    );
    const { content } = checkEmailTemplate(
      templateOf(Array.from({ length: 50 }, (_, at) => code(at, `{{s}}${at}`))),
      defaultLimits,
    );
    const render = openRenderer({ limits: defaultLimits }).compileEmail(content);
    const spend = (chars: number): number => {
      const budget = openBudget(defaultLimits);
      render.check({ variables: { s: 's'.repeat(chars) }, environment, budget });
      return defaultLimits.workModulesMax - budget.modulesLeft;
    };
    t.ok(spend(100) > 50 * 21 * 21, 'at least those of the smallest code');
    t.throws(() => spend(500), { code: 'WORK_LIMIT_EXCEEDED' });
    t.doesNotThrow(
      () => render({ variables: { s: 's'.repeat(500) }, environment }),
      'what was accepted is rendered whatever the limit is',
    );
  },
);

void t.test('cells of a table that are written out cost as tags do', async (t) => {
  const table = (rows: number) =>
    templateOf(
      Array.from({ length: 20 }, (_, at) => ({
        id: `t${at}`,
        type: 'table',
        props: { rows: Array.from({ length: rows }, () => ['a', 'b', 'c', 'd']) },
      })),
    );
  t.throws(() => checkEmailTemplate(table(100), defaultLimits), {
    code: 'WORK_LIMIT_EXCEEDED',
    details: { relatedInfo: { unit: 'elements' } },
  });
  t.doesNotThrow(() => checkEmailTemplate(table(60), defaultLimits));
});

void t.test('calculated variables share the operations of the call', async (t) => {
  const calculated = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      name: `c${at}`,
      type: 'number',
      isCalculated: true,
      expression: 'list.map(x => x + 1).length',
    }));
  const { save, commands } = await world({ variables: [...definitions, ...calculated(490)] });
  await save();
  const variables = { list: Array.from({ length: 400 }, (_, at) => at) };
  await tooMuch(t, 'operations', commands.sendEmail(caller, simple({ variables })));
  await tooMuch(t, 'operations', commands.previewTemplate(caller, 'welcome', { variables }, never));
  const few = await world({ variables: [...definitions, ...calculated(50)] });
  await few.save();
  await few.commands.sendEmail(caller, simple({ variables }));
});

void t.test('texts that are compared cost their length', async (t) => {
  const compare = (expression: string) => ({ name: 'same', type: 'boolean', isCalculated: true, expression });
  for (const expression of ['s === list[0]', 's == list[0]', 's !== list[0]', 'list.includes(s)']) {
    const template = templateOf([{ id: 'a', type: 'rich-text', content: 'x' }], {
      variables: [...definitions, compare(expression)],
    });
    const text = 's'.repeat(7_000_000);
    t.throws(
      () => renderTemplate(template, { s: text, list: [`${text}`] }),
      { code: 'VALIDATION_ERROR', message: /operations/ },
      expression,
    );
  }
});

void t.test('the text part grows with what is shown, not with rows or depth', async (t) => {
  const table = templateOf(
    [{ id: 't', type: 'table', props: { dataSource: 'list', columns: [{ header: '{{s}}', content: '{{item}}' }] } }],
    { variables: definitions },
  );
  const s = 'long '.repeat(2_000);
  const { text } = renderTemplate(table, { s, list: Array.from({ length: 500 }, (_, at) => `row ${at}`) });
  t.ok(text.length < 500 * 200, 'a label in each row is cut');
  t.ok(wrap('a '.repeat(10_000), '> '.repeat(50)).length < 3 * 20_000, 'half of each line is left to the text');
});
