/** A preview: the mail, its drawings, clipping. */
import t, { type Test } from 'tap';
import { systemClock } from '../../src/adapters/clock/system.js';
import { openGenerator } from '../../src/adapters/render/workers/generator.js';
import type { CreateTemplateRequest, PreviewResponse } from '../../src/api/templates/templates.js';
import { loadAttachments } from '../../src/commands/documents/attachments.js';
import { previewTemplate } from '../../src/commands/templates/preview.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, emailStream, parseEmailId } from '../../src/domain/core/ids.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { shownSize, pictureSize } from '../../src/domain/rendering/pictures.js';
import { caller, openWorld, schemaSaying, stranger, welcome, TEAM } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { keptLog } from '../support/kept-log.js';
import { kitchenSink, sinkVariables } from '../support/kitchen-sink.js';

// Previews of emails: small ones are rendered in the process of the service, large ones in a document process, and the
// answer is the same.

const never = new AbortController().signal;

type Answer = Readonly<{ status: 'answered'; body: unknown }> | Readonly<{ status: 'refused'; fault: unknown }>;

/** A world that says which mails were rendered apart. */
const open = async (t: Test, limits: Partial<Limits> = {}) => {
  const { deps, commands } = await openWorld(limits);
  t.teardown(() => deps.generator.close());
  const apart: string[] = [];
  const watched = {
    ...deps,
    generator: {
      ...deps.generator,
      renderEmail: (...[input, signal]: Parameters<typeof deps.generator.renderEmail>) => {
        apart.push(input.teamId);
        return deps.generator.renderEmail(input, signal);
      },
    },
  };
  const save = (request: Partial<CreateTemplateRequest>) =>
    commands.createTemplate(caller, { ...welcome, variables: [], ...request });
  const preview = async (variables: JsonObject): Promise<Answer> =>
    previewTemplate(watched, caller, 'welcome', { variables }, never).then(
      (body): Answer => ({ status: 'answered', body }),
      (fault: unknown): Answer => {
        if (!(fault instanceof DomainError)) throw fault;
        const { code, message, details } = fault;
        return { status: 'refused', fault: { code, message, details } };
      },
    );
  return { apart, save, preview };
};

/** In: a template and variables. Out: the answer, which is the same from both places. */
const fromBoth = async (
  t: Test,
  request: Partial<CreateTemplateRequest>,
  variables: JsonObject,
  limits: Partial<Limits> = {},
): Promise<Answer> => {
  const here = await open(t, { ...limits, previewInlineCharsMax: Infinity, previewInlineShare: 1 });
  const there = await open(t, { ...limits, previewInlineCharsMax: 0 });
  await here.save(request);
  await there.save(request);
  const answer = await here.preview(variables);
  t.strictSame(await there.preview(variables), answer);
  t.equal(there.apart.length, 1, 'one was rendered apart');
  // Work that passes the budget of the call passes it there as well.
  t.ok(here.apart.length === 0 || JSON.stringify(answer).includes('WORK_LIMIT_EXCEEDED'), 'the other was not');
  return answer;
};

void t.test('a mail with every component is the same, byte for byte', async (t) => {
  const { status } = await fromBoth(t, kitchenSink() as Partial<CreateTemplateRequest>, sinkVariables as JsonObject);
  t.equal(status, 'answered');
});

void t.test('a refusal is the same, with its details', async (t) => {
  const needed = {
    variables: [{ name: 'name', type: 'string', required: true }],
    schema: schemaSaying('{{name}}'),
  } as const;
  t.match(await fromBoth(t, needed, {}), {
    fault: { code: 'VALIDATION_ERROR', details: { errors: [{ field: 'variables.name' }] } },
  });
  const many = { schema: schemaSaying('{{s}}'.repeat(50)) };
  t.match(await fromBoth(t, many, { s: '<'.repeat(300_000) }), { fault: { code: 'RENDERED_BODY_TOO_LARGE' } });
  t.match(await fromBoth(t, many, { s: 'x' }, { workCharsMax: 40 }), {
    fault: { code: 'WORK_LIMIT_EXCEEDED', details: { relatedInfo: { unit: 'characters', max: 40 } } },
  });
});

void t.test(
  'small previews stay, and large templates, large variables and much work go to a process, for the team that asks',
  async (t) => {
    const { apart, save, preview } = await open(t);
    await save({ schema: schemaSaying('Dear {{name}}') });
    t.match(await preview({ name: 'Ann' }), { status: 'answered' });
    t.same(apart, []);

    const chars = defaultLimits.previewInlineCharsMax;
    t.match(await preview({ name: 'Ann', more: 'x'.repeat(chars) }), { status: 'answered' });
    t.same(apart, [caller.teamId], 'large variables');

    const large = await open(t);
    await large.save({ schema: schemaSaying('x'.repeat(chars)) });
    t.match(await large.preview({}), { status: 'answered' });
    t.equal(large.apart.length, 1, 'a large template');

    const busy = await open(t, { workCharsMax: 8_000 });
    await busy.save({ schema: schemaSaying('{{s}}'.repeat(10)) });
    t.match(await busy.preview({ s: 'x'.repeat(10) }), { status: 'answered' });
    t.equal(busy.apart.length, 0, 'little work');
    t.match(await busy.preview({ s: 'x'.repeat(200) }), { status: 'answered' });
    t.equal(busy.apart.length, 1, 'more than an eighth of the work of a call');
  },
);

void t.test('a picture that the call attaches is a frame with its name in a preview, which warns of it', async (t) => {
  const content =
    '<p><img src="cid:logo" alt="A" width="40"><img src="cid:logo" alt="B"> cid:logo <img src="{{u}}" alt="C"></p>' +
    '<div style="background:#fff url(cid:tile) no-repeat">a</div>';
  const schema = { sections: [{ id: 'm', type: 'main', components: [{ id: 'r', type: 'rich-text', content }] }] };
  const request = { schema, variables: [{ name: 'u', type: 'string' }] } as Partial<CreateTemplateRequest>;
  const answer = await fromBoth(t, request, { u: 'cid:photo.1' });
  const { html, warnings } = (answer as Extract<Answer, { status: 'answered' }>).body as PreviewResponse;
  const frames = [...html.matchAll(/(?:src="|url\(')data:image\/svg\+xml;base64,([A-Za-z0-9+/=]+)(?:"|'\))/g)].map(
    ([, svg = '']) => Buffer.from(svg, 'base64').toString(),
  );
  t.same(
    frames.map((svg) => /<text[^>]*>([^<]*)<\/text>/.exec(svg)?.[1]),
    ['cid:logo', 'cid:logo', 'cid:photo.1', 'cid:tile'],
  );
  t.match(html, ' cid:logo ', 'text stays as it is');
  t.same(
    warnings.map(({ field, message }) => [field, /contentId "([^"]+)"/.exec(message)?.[1]]),
    ['logo', 'photo.1', 'tile'].map((id) => ['schema', id]),
  );
});

void t.test('a preview link is good for 15 minutes, for its team and its service', async (t) => {
  const world = await openWorld();
  t.teardown(() => world.deps.generator.close());
  const { id } = await world.commands.createTemplate(caller, { ...welcome, variables: [] });
  const asked = { kind: 'email', reference: 'welcome', request: { locale: 'de' } } as const;
  const { token, expiresAt } = await world.commands.makePreviewLink(caller, asked);
  t.same(await world.commands.openPreviewLink(token), {
    teamId: caller.teamId,
    kind: 'email',
    id,
    request: { locale: 'de' },
  });
  await refusedWith(t, world.commands.makePreviewLink(stranger, asked), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, world.commands.makePreviewLink(caller, { ...asked, kind: 'document' }), 'TEMPLATE_NOT_FOUND');
  for (const wrong of ['', 'x', token.slice(1), `${token}A`, token.replace(/.$/, token.endsWith('A') ? 'B' : 'A')])
    t.equal(await world.commands.openPreviewLink(wrong), undefined, wrong.slice(0, 20));
  await world.clock.advance(Date.parse(expiresAt) - world.clock.now() - 1);
  t.ok(await world.commands.openPreviewLink(token));
  await world.clock.advance(1);
  t.equal(await world.commands.openPreviewLink(token), undefined, 'its time is over');
});

// Warnings of a save and a preview about the mail itself: Gmail clips it, and its HTML loses parts.

const saying = (text: string): CreateTemplateRequest => ({
  ...welcome,
  variables: [],
  schema: schemaSaying(text),
  publish: true,
});

/** The warnings that speak of the size. */
const ofSize = ({ warnings = [] }: Readonly<{ warnings?: readonly Readonly<{ message: string }>[] }>): number =>
  warnings.filter(({ message }) =>
    /^makes a mail whose HTML has \d{2,3},\d{3} bytes; Gmail shows the first 104,448 of it/.test(message),
  ).length;

void t.test('a mail near 102 KB is told of, a smaller one is not', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  t.equal(ofSize(await commands.createTemplate(caller, saying('word '.repeat(15_000)))), 0);
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', {}, never)), 0);
  t.equal(
    ofSize(await commands.updateTemplate(caller, 'welcome', { schema: schemaSaying('word '.repeat(20_000)) })),
    1,
  );
  t.equal(ofSize(await commands.previewTemplate(caller, 'welcome', {}, never)), 1);
  await commands.publishTemplate(caller, 'welcome');
  const report = await commands.dryRunBulk(caller, {
    templateId: 'welcome',
    recipients: [{ email: 'ada@example.com' }],
  });
  t.match(report.warnings.join('\n'), /the template makes a mail whose HTML has/);
  const { template } = await commands.importTemplate(caller, { ...saying('word '.repeat(25_000)), slug: 'other' });
  t.equal(ofSize(template), 1);
});

void t.test('what values bring counts', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  t.equal(ofSize(await commands.createTemplate(caller, saying('{{text}}'))), 0);
  t.equal(
    ofSize(await commands.previewTemplate(caller, 'welcome', { variables: { text: 'word '.repeat(20_000) } }, never)),
    1,
  );
});

void t.test('what the HTML of the author loses is told by a save and by a preview, a translation apart', async (t) => {
  const { commands, deps } = await openWorld();
  t.teardown(() => deps.generator.close());
  const lost = ({ warnings = [] }: Readonly<{ warnings?: readonly Readonly<{ field: string; message: string }>[] }>) =>
    warnings.filter(({ message }) => message.startsWith('is shown without what an email does not keep: '));
  const own = { field: 'schema.sections[0].components[0].content', message: /<o:p>$/ };
  const text = '<p>Dear <o:p>Ana</o:p></p>';
  const made = await commands.createTemplate(caller, saying('Dear <o:p>Ana</o:p>'));
  t.match(lost(made), [own]);
  t.match(lost(await commands.previewTemplate(caller, 'welcome', {}, never)), [own]);
  const translated = await commands.updateTemplate(caller, 'welcome', {
    translations: { de: { [text]: '<p style="position:fixed">Liebe Ana</p>' }, fr: { [text]: text } },
  });
  t.match(lost(translated), [own, { field: 'translations.de', message: /the style position$/ }]);
  t.equal(lost(translated).length, 2, 'what all languages lose is told once');
  t.same(
    lost(await commands.updateTemplate(caller, 'welcome', { schema: schemaSaying('<p>fine</p>'), translations: {} })),
    [],
  );
});

// SVG in mails: a drawing becomes a PNG when a template is saved and when a mail shows one of the gallery; a hostile
// one reaches nothing and takes no time.

const svgOf = (inner: string, size = 'width="120" height="40"'): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${size}>${inner}</svg>`;
const logo = svgOf(
  '<rect width="120" height="40" fill="#0f766e"/><text x="10" y="28" font-size="20" fill="#fff">Northwind</text>',
);
const uriOf = (svg: string): string => `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;

const world = async (t: Test, limits: Partial<Limits> = {}) => {
  const opened = await openWorld(limits);
  t.teardown(() => opened.deps.generator.close());
  const saved = (components: readonly unknown[]): CreateTemplateRequest =>
    ({
      ...welcome,
      variables: [],
      schema: { sections: [{ id: 's', type: 'main', components }] },
    }) as CreateTemplateRequest;
  return { ...opened, saved };
};

void t.test('a data URI is saved as PNG, twice as fine, and is as large as the drawing', async (t) => {
  const { commands, saved } = await world(t);
  const percent = `data:image/svg+xml,${encodeURIComponent(svgOf('<circle cx="5" cy="5" r="5"/>', 'viewBox="0 0 10 10"'))}`;
  await commands.createTemplate(
    caller,
    saved([
      { id: 'a', type: 'image', props: { src: uriOf(logo), alt: 'Logo' } },
      { id: 'b', type: 'rich-text', content: `<p>Hello <img alt="dot" src='${percent}'> {{name}}</p>` },
    ]),
  );
  const { schema } = await commands.getTemplate(caller, 'welcome');
  const stored = JSON.stringify(schema);
  t.notMatch(stored, /svg/);
  const pictures = [...stored.matchAll(/data:image\/png;base64,([A-Za-z0-9+/=]+)/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64'),
  );
  t.same(
    pictures.map((bytes) => [pictureSize(bytes, 'image/png'), shownSize(bytes, 'image/png')]),
    [
      [
        { width: 600, height: 200 },
        { width: 120, height: 40 },
      ],
      [
        { width: 600, height: 600 },
        { width: 10, height: 10 },
      ],
    ],
  );
  const { html } = await commands.previewTemplate(caller, 'welcome', {}, never);
  t.match(html, /<img[^>]* width="120" height="40"/);
  t.match(html, /<img[^>]* width="10" height="10"/);
  const changed = await commands.updateTemplate(caller, 'welcome', {
    schema: saved([{ id: 'a', type: 'image', props: { src: uriOf(logo), alt: '' } }]).schema,
  });
  t.notMatch(JSON.stringify(changed.schema), /svg/, 'a change too');
  t.match(
    JSON.stringify(changed.schema),
    new RegExp(pictures[0]!.toString('base64').slice(0, 200).replaceAll('+', '\\+')),
    'the same drawing is the same picture',
  );
});

void t.test('a text with a drawing still has its translation', async (t) => {
  const { commands, saved } = await world(t, { inlineImagesMax: 1 });
  const text = (words: string): string => `<p>${words} <img alt="dot" src="${uriOf(logo)}"></p>`;
  const made = await commands.createTemplate(caller, {
    ...saved([{ id: 'b', type: 'rich-text', content: text('Hello') }]),
    subject: 'S',
    translations: { de: { S: 'S', [text('Hello')]: text('Guten Tag') } },
  });
  t.same(made.warnings, []);
  t.notMatch(JSON.stringify(made.translations), /svg/);
  const { html } = await commands.previewTemplate(caller, 'welcome', { locale: 'de' }, never);
  t.match(html, /Guten Tag <img[^>]* src="data:image\/png/);
});

void t.test('what is no drawing that stands alone is refused, with its place', async (t) => {
  const { commands, saved } = await world(t, { inlineImagesMax: 2 });
  const hostile: Readonly<Record<string, string>> = {
    'a file': svgOf('<image href="file:///etc/passwd" width="10" height="10"/>'),
    'a server': svgOf('<image xlink:href="http://127.0.0.1/" width="10" height="10"/>'),
    'a script': svgOf('<script>1</script>'),
    entities: `<!DOCTYPE svg [<!ENTITY a "b">]>${svgOf('&a;')}`,
    'no SVG': '<html></html>',
    'no end': '<svg xmlns="http://www.w3.org/2000/svg"><g>',
  };
  for (const [what, svg] of Object.entries(hostile)) {
    await t.rejects(
      commands.createTemplate(caller, saved([{ id: 'a', type: 'image', props: { src: uriOf(svg), alt: '' } }])),
      {
        code: 'TEMPLATE_INVALID',
        message: /schema\.sections\[0\]\.components\[0\]\.props\.src: holds an SVG that /,
      },
    );
    t.comment(what);
  }
  const many = Array.from({ length: 3 }, (_, at) => ({
    id: `i${at}`,
    type: 'image',
    props: { src: uriOf(logo), alt: '' },
  }));
  await t.rejects(commands.createTemplate(caller, saved(many)), {
    code: 'TEMPLATE_INVALID',
    message: /more than 2 drawings/,
  });
  await t.rejects(
    commands.createTemplate(
      caller,
      saved([{ id: 'a', type: 'image', props: { src: 'data:image/svg+xml,{{svg}}', alt: '' } }]),
    ),
    {
      code: 'TEMPLATE_INVALID',
      message: /src/,
    },
  );
});

void t.test(
  'the program that draws reaches no file and no network, even past that check, and ends in time',
  async (t) => {
    const { logger, lines } = keptLog();
    const open = (svgTimeoutMs: number) => {
      const generator = openGenerator({ limits: { ...defaultLimits, svgTimeoutMs }, clock: systemClock(), logger });
      t.teardown(() => generator.close());
      return generator;
    };
    const [patient, hasty] = [open(60_000), open(2_000)];
    const draw = (inner: string, generator = patient) =>
      generator.drawSvg(
        { teamId: TEAM, svg: svgOf(inner), drawing: { natural: { width: 120, height: 40 }, width: 600, height: 200 } },
        never,
      );
    const empty = await draw('');
    for (const href of [
      'file:///etc/passwd',
      '/etc/passwd',
      'http://127.0.0.1:9/x.png',
      `${new URL('../../../test/golden/', import.meta.url).href}`,
    ])
      t.same(await draw(`<image href="${href}" width="120" height="40"/>`), empty, href);
    t.not(
      Buffer.compare(
        assertDefined(await draw('<rect width="120" height="40"/>'), 'drawn'),
        assertDefined(empty, 'empty'),
      ),
      0,
    );
    const slow =
      '<filter id="f" x="-100" y="-100" width="300" height="300"><feTurbulence numOctaves="200"/><feGaussianBlur stdDeviation="50"/></filter>';
    const tooMuch = slow + '<rect width="120" height="40" filter="url(#f)"/>'.repeat(500);
    await t.rejects(draw(tooMuch, hasty), { code: 'GENERATION_TIMEOUT' });
    await t.rejects(draw(tooMuch, hasty), { code: 'GENERATION_TIMEOUT' });
    t.equal(
      lines.filter((line) => line.includes('not finished in time')).length,
      1,
      'the next mail that shows it does not wait for it again',
    );
    t.same(await draw(''), empty, 'and the next one is drawn');
  },
);

void t.test('a drawing of the gallery travels as PNG', async (t) => {
  const { commands, events, deps, saved } = await world(t);
  const { id } = await commands.uploadAsset(
    caller,
    { filename: 'logo.svg', bytes: Buffer.from(logo) },
    { count: 0, sizeBytes: 0 },
  );
  await commands.createTemplate(caller, {
    ...saved([{ id: 'a', type: 'image', props: { src: `asset:${id}`, alt: 'Logo' } }]),
    publish: true,
  });
  const { html } = await commands.previewTemplate(caller, 'welcome', {}, never);
  t.match(html, /src="data:image\/png;base64,/);
  t.match(html, /width="120" height="40"/);
  const sent = await commands.sendEmail(caller, {
    templateId: 'welcome',
    to: [{ email: 'ada@example.com' }],
    variables: {},
  });
  const stream = emailStream(assertDefined(parseEmailId(sent.body.id), 'email id'));
  const [queued] = await events(stream);
  const { attachments } = (queued as { sealed: { attachments: Parameters<typeof loadAttachments>[2] } }).sealed;
  t.match(attachments, [{ filename: 'logo.png', contentType: 'image/png', contentId: `asset-${id}@sealpost` }]);
  const key = assertDefined(await deps.eventLog.existingKey(stream), 'key');
  const loaded = await loadAttachments(deps.files, key, attachments);
  t.same(shownSize(assertDefined(loaded?.[0]?.bytes, 'bytes'), 'image/png'), { width: 120, height: 40 });
});
