/**
 * Warnings in the answers to saves and previews of a template over HTTP: addresses, files of the gallery, translations,
 * sizes in each language.
 */
import t from 'tap';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { brandFont } from '../support/gallery-fonts.js';
import { png } from '../support/pictures.js';

type Told = Readonly<{ id: string; code?: string; warnings: readonly Readonly<{ field: string; message: string }>[] }>;

const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t) });
t.teardown(() => app.stop());

const text = (content: string, id = 'text') => ({ id, type: 'rich-text', content });
const mail = (components: readonly unknown[], more: Readonly<Record<string, unknown>> = {}) => ({
  name: 'Mail',
  subject: 'Hello',
  schema: { sections: [{ id: 's', type: 'main', components }] },
  ...more,
});
const document = (
  components: readonly unknown[],
  { pageSettings, schema, ...more }: Readonly<Record<string, unknown>> = {},
) => ({
  name: 'Document',
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'p',
        pageName: 'Page',
        ...(pageSettings === undefined ? {} : { pageSettings }),
        sections: [{ id: 's', type: 'main', components }],
      },
    ],
    ...(schema as object | undefined),
  },
  ...more,
});
const MAILS = '/api/templates';
const DOCUMENTS = '/api/templates/attachment';

const saved = async (path: string, body: unknown): Promise<Told> => {
  const { status, body: told, text: answered } = await app.call<Told>('POST', path, body);
  if (status !== 201) throw new Error(answered);
  return told;
};
/** Each with its place. */
const toldOf = ({ warnings }: Told): readonly string[] => warnings.map(({ field, message }) => `${field} ${message}`);
const told = async (path: string, body: unknown): Promise<readonly string[]> => toldOf(await saved(path, body));

const CONTENT = 'schema.sections[0].components[0].content';
const ofPage = (at: string): string => `schema.pages[0].${at}`;

void t.test(
  'a format that the template does not have is named, whether it is asked in the query or in the body',
  async (t) => {
    const { id } = await saved(DOCUMENTS, document([text('Hi')]));
    const message = "format must be one of the template's formats: pdf";
    const path = `${DOCUMENTS}/${id}/preview`;
    t.match(await app.call('POST', path, { format: 'excel' }), {
      status: 400,
      body: { code: 'VALIDATION_ERROR', message },
    });
    t.match(await app.call('GET', `${path}?format=excel`), {
      status: 400,
      body: { code: 'VALIDATION_ERROR', message },
    });
  },
);

void t.test(
  'a link and a picture with an address that can never be one are told, in every text of a template',
  async (t) => {
    const relative = text(
      '<p><a href="offers/today.html">Today</a> <img alt="" src=logo.png> <a href="//example.com/x">Here</a></p>',
    );
    const [link, picture, scheme, ...rest] = await told(MAILS, mail([relative]));
    t.match(
      link,
      `${CONTENT} has a link to "offers/today.html", which leads nowhere from an email: it must be an address that begins with https://`,
    );
    t.match(
      picture,
      `${CONTENT} has a picture "logo.png", which an email does not show: it must be an address that begins with https://`,
    );
    t.match(scheme, `${CONTENT} has a link to "//example.com/x"`);
    t.same(rest, []);
    const header = { content: '<img src="logo.png" width="80">' };
    const cells = {
      id: 'table',
      type: 'table',
      props: { rows: [['<a href="terms">Terms</a>']], columns: [{ header: 'Terms' }] },
    };
    t.match(await told(DOCUMENTS, document([cells], { pageSettings: { header } })), [
      `${ofPage('pageSettings.header.content')} has a picture "logo.png", which a document does not show`,
      `${ofPage('sections[0].components[0].props.rows[0][0]')} has a link to "terms", which leads nowhere from a document`,
    ]);
    const translations = { de: { '<p>Hi</p>': '<p><a href="seite.html">Hallo</a></p>', Hello: 'Hallo' } };
    t.match(await told(MAILS, mail([text('<p>Hi</p>')], { translations })), [
      /^translations\.de has a link to "seite\.html"/,
    ]);
  },
);

void t.test('addresses that may be right are not told', async (t) => {
  const variables = ['base', 'page'].map((name) => ({ name, type: 'string', defaultValue: 'https://example.com' }));
  const right = [
    '<p><a href="https://example.com/?a=1&amp;b=2">a</a><a href="&#104;ttps://example.com">a</a><a href="mailto:a@example.com">b</a></p>',
    '<p><a href="#top">c</a><a name="top">d</a><a href="{{base}}/x">e</a><a href="https://{{page}}">f</a><a href={{base}}>g</a></p>',
    `<p><!-- <img src="logo.png"> --><img src="data:image/png;base64,${png.toString('base64')}"></p>`,
    '<p>5 < 6, <abbr title="src">img src="logo.png"</abbr></p>',
  ];
  t.same(
    await told(
      MAILS,
      mail(
        right.map((html, at) => text(html, `t${at}`)),
        { variables },
      ),
    ),
    [],
  );
});

void t.test('a constant without braces is told by the save of a mail and by its previews', async (t) => {
  const message = `${CONTENT} shows __COMPANY_NAME__ as it is written: a constant stands in braces, {{__COMPANY_NAME__}}`;
  const { id, ...own } = await saved(MAILS, mail([text('<p>From __COMPANY_NAME__</p>')]));
  t.same(toldOf({ id, ...own }), [message]);
  t.same(toldOf((await app.call<Told>('POST', `${MAILS}/${id}/preview`, {})).body), [message]);
});

void t.test('a picture of another server without both sides is told, in every text of a mail', async (t) => {
  const remote = 'https://example.com/a.png';
  const image = (props: object, id: string) => ({ id, type: 'image', props: { alt: '', ...props } });
  const moves = (src: string): string => `shows the picture "${src}" of another server without its width and height`;
  const rich = `<p><img src="${remote}" height="5"> <img src='${remote}' width=20 height="5"></p>`;
  const bare = mail([
    image({ src: remote }, 'a'),
    image({ src: `${remote}?of={{id}}`, width: 20 }, 'b'),
    { id: 'c', type: 'container', children: [image({ src: remote, height: 9 }, 'd')] },
    text(rich, 'e'),
    text('<p>Hi</p>', 'f'),
  ]);
  const variables = ['id', 'logo', 'host'].map((name) => ({ name, type: 'string', defaultValue: 'x' }));
  const translations = { de: { '<p>Hi</p>': `<p><img src="${remote}"></p>`, Hello: 'Hallo' } };
  const { id, ...own } = await saved(MAILS, { ...bare, variables, translations });
  const components = 'schema.sections[0].components';
  const ours = toldOf({ id, ...own }).filter((one) => one.includes('of another server'));
  t.match(ours, [
    `${components}[0].props.src ${moves(remote)}`,
    `${components}[1].props.src ${moves(`${remote}?of={{id}}`)}`,
    `${components}[2].children[0].props.src ${moves(remote)}`,
    `${components}[3].content ${moves(remote)}`,
    `translations.de ${moves(remote)}`,
  ]);
  t.equal(ours.length, 5);
  const { body } = await app.call<Told>('POST', `${MAILS}/${id}/preview`, {});
  t.match(toldOf(body)[3], `${components}[3].content ${moves(remote)}`);

  const known = [
    image({ src: remote, width: 20, height: '10px' }, 'a'),
    image({ src: '{{logo}}' }, 'b'),
    image({ src: 'https://{{host}}/a.png' }, 'c'),
    image({ src: `data:image/png;base64,${png.toString('base64')}` }, 'd'),
    text(`<p><img src="{{logo}}"> <!-- <img src="${remote}"> --> <a href="${remote}">A picture</a></p>`, 'e'),
  ];
  t.same(await told(MAILS, mail(known, { variables })), []);
  t.same(await told(DOCUMENTS, document([image({ src: remote }, 'a')])), [], 'documents fetch it');
});

void t.test('what is told of a save is told of a preview, of the page for a browser in a header', async (t) => {
  const absent = '5f0c2a7e-1d4b-4c3a-9e8f-0a1b2c3d4e5f';
  const { id } = await saved(MAILS, mail([text(`<p><a href="page.html">x</a> <img src="asset:${absent}"></p>`)]));
  const { body } = await app.call<Told>('POST', `${MAILS}/${id}/preview`, {});
  t.match(toldOf(body), [
    `${CONTENT} has a link to "page.html"`,
    `${CONTENT} names the asset ${absent}, which is not in the gallery`,
  ]);
  const page = await app.call('GET', `${MAILS}/${id}/preview`);
  t.equal(page.status, 200);
  t.match(String(page.headers['x-warnings']).split(',').map(decodeURIComponent), [
    `${CONTENT} has a link to "page.html"`,
    `${CONTENT} names the asset ${absent}`,
  ]);
  const made = await saved(DOCUMENTS, document([text('<p><a href="page.html">x</a></p>')]));
  for (const method of ['GET', 'POST'] as const) {
    const { status, headers } = await app.call(
      method,
      `${DOCUMENTS}/${made.id}/preview`,
      method === 'POST' ? {} : undefined,
    );
    t.equal(status, 200);
    t.match(
      decodeURIComponent(String(headers['x-warnings'])),
      `${ofPage('sections[0].components[0].content')} has a link to "page.html"`,
    );
  }
});

void t.test('a preview of a workbook tells of a formula that stands as text', async (t) => {
  const table = { id: 'table', type: 'table', props: { rows: [['={{x}}*2']] } };
  const variables = [{ name: 'x', type: 'number', defaultValue: 1 }];
  const { id, ...own } = await saved(DOCUMENTS, document([table], { variables, schema: { outputFormats: ['excel'] } }));
  const { headers } = await app.call('GET', `${DOCUMENTS}/${id}/preview`);
  t.match(toldOf({ id, ...own }), [/^schema\.pages\[0\].*rows\[0\]\[0\] stands in the workbook as text/]);
  t.same(decodeURIComponent(String(headers['x-warnings'])).slice(0, 60), toldOf({ id, ...own })[0]?.slice(0, 60));
});

void t.test(
  'fonts and pictures that are not in the gallery, or are something else, are told by their place',
  async (t) => {
    const upload = async (filename: string, bytes: Buffer): Promise<string> => {
      const { body } = await app.call<Told>('POST', '/api/assets', { filename, content: bytes.toString('base64') });
      return body.id;
    };
    const [picture, font, deleted] = [
      await upload('logo.png', png),
      await upload('Brand.ttf', brandFont),
      await upload('old.png', png),
    ];
    await app.call('DELETE', `/api/assets/${deleted}`);
    const unknown = '5f0c2a7e-1d4b-4c3a-9e8f-0a1b2c3d4e5f';
    const image = (src: string, id = 'image') => ({ id, type: 'image', props: { src, alt: 'Logo' } });
    const gone = 'which is not in the gallery: what shows it cannot be sent until it names another';
    t.match(
      await told(
        MAILS,
        mail([image(`asset:${unknown}`), text(`<p><img src="asset:${deleted}"><img src='asset:${picture}'></p>`)]),
      ),
      [
        `schema.sections[0].components[0].props.src names the asset ${unknown}, ${gone}`,
        `schema.sections[0].components[1].content names the asset ${deleted}, ${gone}`,
      ],
    );
    const fonts = [
      { family: 'Brand', regular: `asset:${font}`, bold: `asset:${unknown}` },
      { family: 'Logo', regular: `asset:${picture}` },
    ];
    const pageSettings = {
      backgroundImage: { src: `asset:${deleted}` },
      header: { content: `<img src="asset:${font}">` },
    };
    const tellsAll = await told(DOCUMENTS, document([image(`asset:${picture}`)], { pageSettings, schema: { fonts } }));
    t.match(tellsAll.toSorted(), [
      `schema.fonts[0].bold names the asset ${unknown}, ${gone}`,
      `schema.fonts[1].regular names the asset ${picture} as a font, and it is none (image/png)`,
      `${ofPage('pageSettings.backgroundImage.src')} names the asset ${deleted}, ${gone}`,
      `${ofPage('pageSettings.header.content')} names the asset ${font} as a picture, and it is none (font/ttf)`,
    ]);
    const { id } = await saved(DOCUMENTS, document([image(`asset:${picture}`)]));
    const patched = await app.call<Told>('PATCH', `${DOCUMENTS}/${id}`, document([image(`asset:${unknown}`)]));
    t.match(toldOf(patched.body), [
      `${ofPage('sections[0].components[0].props.src')} names the asset ${unknown}, ${gone}`,
    ]);
    const imported = await app.call<Told>('POST', `${DOCUMENTS}/import`, document([image(`asset:${unknown}`)]));
    t.equal(imported.body.warnings.length, 1);
    const translated = { 'A <b>logo</b>': `<img src="asset:${deleted}">`, Hello: 'Hallo' };
    t.match(await told(MAILS, mail([text('A <b>logo</b>')], { translations: { de: translated } })), [
      `translations.de names the asset ${deleted}, ${gone}`,
    ]);
  },
);

void t.test('a mail that Gmail cuts off in another language is told by its language', async (t) => {
  const long = '<p>Long</p>';
  const translations = {
    de: { [long]: `<p>${'Wort '.repeat(20_000)}</p>`, Hello: 'Hallo' },
    fr: { [long]: '<p>Court</p>', Hello: 'Salut' },
  };
  const { id, ...own } = await saved(MAILS, mail([text(long)], { translations, publish: true }));
  t.match(toldOf({ id, ...own }), [
    /^translations\.de makes a mail whose HTML has 1\d\d,\d{3} bytes; Gmail shows the first 104,448/,
  ]);
  const recipients = [
    { email: 'a@example.com' },
    { email: 'b@example.com', locale: 'fr' },
    { email: 'c@example.com', locale: 'de-AT' },
  ];
  const report = await app.call<{ warnings: string[] }>('POST', '/api/emails/send/bulk', {
    templateId: id,
    recipients,
    dryRun: true,
  });
  t.match(report.body.warnings, [/^the template, in de-AT, makes a mail whose HTML has 1\d\d,\d{3} bytes/]);
});

void t.test('two texts that share a translation are told where they look different', async (t) => {
  const translations = { de: { "<p>Say 'yes'</p>": '<p>Sag Ja</p>', Hello: 'Hallo' } };
  t.match(await told(MAILS, mail([text('<p>Say "yes"</p>', 'a'), text("<p>Say 'yes'</p>", 'b')], { translations })), [
    `translations.de "<p>Say 'yes'</p>" is shown in the place of two texts, which differ only in quotation marks, backslashes or blanks: ${CONTENT} and schema.sections[0].components[1].content`,
  ]);
  const alike = { de: { "<p class='x'>Yes or no</p>": '<p>Ja oder nein</p>', Hello: 'Hallo' } };
  t.same(
    await told(
      MAILS,
      mail([text('<p class="x">Yes or no</p>', 'a'), text("<p class='x'>Yes\r\nor no</p>", 'b')], {
        translations: alike,
      }),
    ),
    [],
  );
});

void t.test('codes of headers and footers are part of the translations, and have no page number', async (t) => {
  const code = { kind: 'qr', value: 'https://example.com/en/terms', size: 60 };
  const pageSettings = { footer: { content: 'Terms', code } };
  const translations = {
    de: {
      Terms: 'AGB',
      Page: 'Seite',
      Document: 'Dokument',
      'https://example.com/en/terms': 'https://example.com/de/agb',
    },
  };
  t.same(
    await told(
      DOCUMENTS,
      document([{ id: 'x', type: 'spacer', props: { height: 5 } }], { pageSettings, translations }),
    ),
    [],
  );
  const withPage = (value: string) =>
    document([text('x')], { pageSettings: { footer: { content: 'x', code: { ...code, value } } } });
  t.match(await app.call('POST', DOCUMENTS, withPage('https://example.com/{{pageNumber}}')), {
    status: 400,
    body: {
      errors: [
        {
          field: ofPage('pageSettings.footer.code.value'),
          message: /^\{\{pageNumber\}\} cannot stand in a code, which is drawn before/,
        },
      ],
    },
  });
  t.match(await told(DOCUMENTS, withPage('https://example.com/{{page}}')), [
    `${ofPage('pageSettings.footer.code.value')} {{page}}: no variable "page" is declared, so its values are not checked`,
  ]);
});

void t.test('a watermark is drawn as a whole, one that is too long is told', async (t) => {
  const watermarked = (length: number) =>
    document([text('x')], { pageSettings: { watermark: { text: 'W'.repeat(length) } } });
  t.same(await told(DOCUMENTS, watermarked(120)), []);
  t.match(await told(DOCUMENTS, watermarked(121)), [
    `${ofPage('pageSettings.watermark.text')} has 121 characters, of which the first 120 are drawn`,
  ]);
});
