/**
 * Previews of emails: small ones are rendered in the process of the service, large ones in a document process, and the
 * answer is the same.
 */
import t, { type Test } from 'tap';
import { previewTemplate } from '../../src/commands/templates/preview.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import type { CreateTemplateRequest, PreviewResponse } from '../../src/api/templates/templates.js';
import { kitchenSink, sinkVariables } from '../support/kitchen-sink.js';
import { caller, openWorld, schemaSaying, stranger, welcome } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';

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
