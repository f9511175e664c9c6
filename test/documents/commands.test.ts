/** Documents, and whose an attachment is. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { openOutboundHttp } from '../../src/adapters/outbound-http/fetch.js';
import { makeDocument, type DocumentOrder } from '../../src/commands/documents/documents.js';
import { openAttachmentClaims, type AttachmentClaims } from '../../src/commands/documents/storage.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { type Limits, defaultLimits } from '../../src/domain/core/limits.js';
import { OutboundFault, type FetchFault, type OutboundHttp } from '../../src/domain/ports/outbound-http.js';
import type { DocumentComponent } from '../../src/domain/rendering/content.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { caller, openWorld, stranger, TEAM, commandsOfTest } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator } from '../support/recording-generator.js';

// The pictures of a document: from where they come, what is refused and in which words, and what bounds them.

/** A whole picture of one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const SVG = Buffer.from(
  '<?xml version="1.0"?>\n<!-- logo --><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>',
);
const BASE = 'https://cdn.example';

type Answers = Readonly<Record<string, Buffer | FetchFault | 'never'>>;

/** As an open connection does, it keeps the process alive, which the timer of a signal does not. */
const aborted = async (signal: AbortSignal): Promise<void> => {
  if (signal.aborted) return;
  const alive = setInterval(() => {}, 60_000);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  clearInterval(alive);
};

/** Answers by path; `never` waits until the caller gives up. */
const outboundOf = (answers: Answers): OutboundHttp & Readonly<{ asked: string[]; most: () => number }> => {
  const asked: string[] = [];
  let [open, most] = [0, 0];
  return {
    asked,
    most: () => most,
    get: async (url, { signal }) => {
      asked.push(url);
      most = Math.max(most, (open += 1));
      await new Promise((resolve) => setImmediate(resolve));
      const answer = answers[new URL(url).pathname] ?? 'status';
      if (answer === 'never') await aborted(signal);
      open -= 1;
      if (answer === 'never')
        throw new OutboundFault('timeout', 'The file had not come when the work it was needed for was stopped.');
      if (typeof answer === 'string') throw new OutboundFault(answer, `It is the ${answer}.`);
      return { bytes: answer, contentType: 'text/html' };
    },
    close: async () => {},
  };
};

const image = (src: string): DocumentComponent => ({ id: src, type: 'image', props: { src } });

type Case = Readonly<{
  sources: readonly string[];
  outbound?: OutboundHttp;
  limits?: Partial<Limits>;
  signal?: AbortSignal;
}>;

const making = async ({
  sources,
  outbound = outboundOf({}),
  limits = {},
  signal = new AbortController().signal,
}: Case) => {
  const world = await openWorld(limits);
  const generator = recordingGenerator(sources);
  const deps: CommandNeeds = { ...world.deps, generator, outbound };
  const order: DocumentOrder = {
    teamId: TEAM,
    content: {
      variables: [],
      schema: {
        outputFormats: ['pdf'],
        pages: [
          {
            pageId: 'p',
            pageName: 'P',
            sections: [
              { id: 's', type: 'main', components: sources.filter((src) => !src.includes('filled')).map(image) },
            ],
          },
        ],
      },
    },
    cacheKey: 'k',
    variables: {},
    environment: { at: T0, company: { ...emptyCompany, name: 'Example Ltd' } },
    format: 'pdf',
    title: 'Invoice',
    signal,
  };
  return {
    world,
    deps,
    generator,
    make: (more: Partial<DocumentOrder> = {}) => makeDocument(deps, { ...order, ...more }),
  };
};

void t.test('pictures come from the web and from the gallery, each once, typed by their bytes', async (t) => {
  const outbound = outboundOf({ '/a.png': PNG, '/b': SVG });
  const { world, deps } = await making({ sources: [] });
  const asset = await commandsOfTest(deps).uploadAsset(
    caller,
    { filename: 'logo.png', bytes: PNG },
    { count: 0, sizeBytes: 0 },
  );
  const sources = [`${BASE}/a.png`, `asset:${asset.id}`, `${BASE}/b`];
  const generator = recordingGenerator(sources);
  const order = {
    teamId: TEAM,
    content: { variables: [], schema: { outputFormats: ['pdf' as const], pages: [] } },
    cacheKey: 'k',
    variables: {},
    environment: { at: T0, company: { ...emptyCompany, name: 'Example Ltd' } },
    format: 'pdf' as const,
    title: 'Invoice',
    signal: new AbortController().signal,
  };
  const { bytes } = await makeDocument({ ...world.deps, generator, outbound }, order);
  t.match(Buffer.from(bytes).toString(), /^pdf: /);
  const [made] = generator.made;
  t.strictSame(Object.fromEntries([...made!.images].map(([source, { contentType }]) => [source, contentType])), {
    [sources[0]!]: 'image/png',
    [sources[1]!]: 'image/png',
    [sources[2]!]: 'image/svg+xml',
  });
  t.same(made?.images.get(sources[1]!)?.bytes, PNG);
  t.strictSame(made?.metadata, { title: 'Invoice', author: 'Example Ltd', createdAt: T0 });
  t.same(outbound.asked.sort(), [`${BASE}/a.png`, `${BASE}/b`]);

  const theirs = await refusedWith(
    t,
    makeDocument({ ...world.deps, generator, outbound }, { ...order, teamId: stranger.teamId }),
    'IMAGE_NOT_AVAILABLE',
  );
  t.match(theirs.message, /no such asset/, 'another team has no such asset');
});

void t.test('a document without pictures asks for none', async (t) => {
  const outbound = outboundOf({});
  const { make, generator } = await making({ sources: [], outbound });
  t.equal(Buffer.from((await make()).bytes).toString(), 'pdf: ');
  t.equal(generator.made.length, 1);
  t.same(outbound.asked, []);
});

void t.test('what cannot be shown is named with its place and reason, and nothing is made', async (t) => {
  const cases: readonly (readonly [string, Buffer | FetchFault, RegExp])[] = [
    ['not found', 'status', /It is the status\./],
    ['an inner address', 'address-not-allowed', /It is the address-not-allowed\./],
    ['HTML', Buffer.from('<!doctype html><html><svg></svg></html>'), /no PNG, JPEG, GIF, WebP or SVG/],
    ['a text', Buffer.from('hello'), /no PNG, JPEG, GIF, WebP or SVG/],
    ['nothing', Buffer.alloc(0), /no PNG, JPEG, GIF, WebP or SVG/],
    ['a PDF', Buffer.from('%PDF-1.4\n'), /no PNG, JPEG, GIF, WebP or SVG/],
    ['bytes', Buffer.from([0xff, 0x00, 0xfe]), /no PNG, JPEG, GIF, WebP or SVG/],
    [
      'an SVG that loads',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'),
      /The SVG .*stand alone/,
    ],
  ];
  for (const [name, answer, reason] of cases) {
    const address = `${BASE}/x.png?signature=secret`;
    const { make, generator } = await making({
      sources: [`${BASE}/ok.png`, address],
      outbound: outboundOf({ '/ok.png': PNG, '/x.png': answer }),
    });
    const { message, details } = await refusedWith(t, make(), 'IMAGE_NOT_AVAILABLE');
    t.match(message, reason, name);
    t.match(message, `${BASE}/x.png`);
    t.notMatch(message, /secret/);
    t.same(
      details.errors?.map(({ field }) => field),
      ['schema.pages[0].sections[0].components[1].props.src'],
      name,
    );
    t.same(generator.made, []);
  }
  const { make } = await making({
    sources: ['https://cdn.example/filled.png', `https://cdn.example/filled-${'x'.repeat(500)}`],
  });
  const { message, details } = await refusedWith(t, make(), 'IMAGE_NOT_AVAILABLE');
  t.same(
    details.errors?.map(({ field }) => field),
    ['schema.pages'],
  );
  t.ok(message.length < 400);
});

void t.test('pictures are brought in some at a time, and the first that fails stops the rest', async (t) => {
  const many = Array.from({ length: 40 }, (_, n) => `${BASE}/${n}.png`);
  const all = Object.fromEntries(many.map((_, n) => [`/${n}.png`, PNG]));
  const outbound = outboundOf(all);
  const { make, generator } = await making({ sources: many, outbound });
  await make();
  t.equal(generator.made[0]?.images.size, 40);
  t.ok(outbound.most() > 1 && outbound.most() <= 6, `${outbound.most()} at once`);

  const failing = outboundOf({ ...all, '/0.png': 'status', '/1.png': 'never' });
  await refusedWith(t, (await making({ sources: many, outbound: failing })).make(), 'IMAGE_NOT_AVAILABLE');
  t.ok(failing.asked.length <= 12, `${failing.asked.length} were asked for`);
});

void t.test(
  'all pictures together are bounded in bytes and in time; a caller that is gone is not waited for',
  async (t) => {
    const big = {
      sources: ['a', 'b', 'c'].map((name) => `${BASE}/${name}`),
      outbound: outboundOf({ '/a': PNG, '/b': PNG, '/c': PNG }),
    };
    const { details } = await refusedWith(
      t,
      (await making({ ...big, limits: { documentImagesSizeBytesMax: 2 * PNG.length } })).make(),
      'IMAGES_TOO_LARGE',
    );
    t.same(details.relatedInfo, { actualSizeBytes: 3 * PNG.length, maxSizeBytes: 2 * PNG.length });
    await (await making({ ...big, limits: { documentImagesSizeBytesMax: 3 * PNG.length } })).make();

    const slow = { sources: [`${BASE}/slow`], outbound: outboundOf({ '/slow': 'never' }) };
    t.match(
      (
        await refusedWith(
          t,
          (await making({ ...slow, limits: { documentImagesTimeoutMs: 20 } })).make(),
          'IMAGE_NOT_AVAILABLE',
        )
      ).message,
      /had not come/,
    );
    const gone = new AbortController();
    const made = (await making(slow)).make({ signal: gone.signal });
    gone.abort();
    await refusedWith(t, made, 'IMAGE_NOT_AVAILABLE');
  },
);

/** A web server on this machine, which the guard takes for the public internet. */
const serve = async (t: Test, bytes: Buffer): Promise<string> => {
  const server = createServer((_request, response) => response.end(bytes));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/logo.png`;
};

void t.test('over real HTTP: a picture of a public server is shown, one of an inner network is not', async (t) => {
  const source = await serve(t, PNG);
  const open = openOutboundHttp({ isAllowed: () => true });
  const guarded = openOutboundHttp();
  t.teardown(() => Promise.all([open.close(), guarded.close()]));
  const { make, generator } = await making({ sources: [source], outbound: open });
  await make();
  t.same(generator.made[0]?.images.get(source)?.contentType, 'image/png');
  const { message } = await refusedWith(
    t,
    (await making({ sources: [source], outbound: guarded })).make(),
    'IMAGE_NOT_AVAILABLE',
  );
  t.match(message, /cannot be shown\. \S/);
});

// The bound of what a team's attachments take: exact in one process, and how far several may pass it.

const MAX = 1_000;
const open = (): AttachmentClaims => openAttachmentClaims({ ...defaultLimits, teamAttachmentBytesMax: MAX });

/** In: what the read models tell. Out: whether there was room. */
const takes = (claims: AttachmentClaims, shown: number, bytes: number, position: number): boolean => {
  try {
    claims.claim('team', { bytes: shown, position: 1 }, bytes).accepted(position);
    return true;
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'ATTACHMENT_STORAGE_EXCEEDED') return false;
    throw fault;
  }
};

void t.test(
  'while the read models stand still, processes together pass the bound by the room left, once for each further one',
  async () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(MAX),
        fc.array(fc.record({ process: fc.nat(3), bytes: fc.integer({ min: 1, max: 300 }) }), { maxLength: 60 }),
        (processes, shown, calls) => {
          const each = Array.from({ length: processes }, open);
          let stored = shown;
          for (const [at, { process, bytes }] of calls.entries())
            if (takes(each[process % processes]!, shown, bytes, at + 2)) stored += bytes;
          return stored <= MAX + (processes - 1) * (MAX - shown);
        },
      ),
    ),
);

void t.test('the bound is no lower than that: each process fills the room that it knows of', async (t) => {
  const each = [open(), open(), open()];
  t.same(
    each.map((claims) => [takes(claims, 600, 400, 2), takes(claims, 600, 1, 3)]),
    each.map(() => [true, false]),
  );
});
