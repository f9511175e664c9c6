/**
 * SVG in mails: a drawing becomes a PNG when a template is saved and when a mail shows one of the gallery; a hostile
 * one reaches nothing and takes no time.
 */
import t, { type Test } from 'tap';
import { systemClock } from '../../src/adapters/clock/system.js';
import { openGenerator } from '../../src/adapters/render/workers/generator.js';
import { loadAttachments } from '../../src/commands/documents/attachments.js';
import type { CreateTemplateRequest } from '../../src/api/templates/templates.js';
import { shownSize, pictureSize } from '../../src/domain/rendering/pictures.js';
import { assertDefined, emailStream, parseEmailId } from '../../src/domain/core/ids.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { caller, openWorld, TEAM, welcome } from '../support/command-world.js';
import { keptLog } from '../support/kept-log.js';

const never = new AbortController().signal;
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
