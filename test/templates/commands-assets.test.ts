/** The gallery: what an upload makes, who may see it, how much there may be, and that what is deleted is gone. */
import { createHash } from 'node:crypto';
import t from 'tap';
import type { AssetId } from '../../src/domain/core/ids.js';
import { assetStream, assertDefined, parseAssetId } from '../../src/domain/core/ids.js';
import { AppendUnknown } from '../../src/domain/core/errors.js';
import { deleteAsset, loadAsset } from '../../src/commands/templates/assets.js';
import { eraseAll } from '../../src/commands/core/erase.js';
import {
  caller,
  openWorld,
  OTHER_TEAM,
  schemaSaying,
  stranger,
  TEAM,
  commandsOfTest,
  welcome,
} from '../support/command-world.js';
import { DAY_MS, T0 } from '../support/email-facts.js';
import { brandFont, withLicence } from '../support/gallery-fonts.js';
import { png, svg } from '../support/pictures.js';
import { readPdf } from '../support/read-pdf.js';
import type { JsonObject } from '../../src/domain/core/json.js';

const empty = { count: 0, sizeBytes: 0 };
const idOf = (record: Readonly<{ id: string }>): AssetId => assertDefined(parseAssetId(record.id), 'asset id');
const upload = { filename: 'logo.png', bytes: png };

void t.test('an upload is recorded with what its bytes are, and comes back byte for byte', async (t) => {
  const { commands, events, deps, elsewhere } = await openWorld();
  const record = await commands.uploadAsset(caller, upload, empty);
  const sha256 = createHash('sha256').update(png).digest('hex');
  t.same(record, {
    id: record.id,
    filename: 'logo.png',
    contentType: 'image/png',
    sizeBytes: png.length,
    sha256,
    width: 7,
    height: 5,
    createdAt: T0,
  });
  const id = idOf(record);
  t.same(await commands.getAsset(caller, id), record);
  t.same(await commands.assetContent(caller, id), { bytes: png, contentType: 'image/png', filename: 'logo.png' });
  t.same(
    await commandsOfTest(elsewhere()).assetContent(caller, id),
    { bytes: png, contentType: 'image/png', filename: 'logo.png' },
    'in another process too',
  );
  t.same(await loadAsset(deps, TEAM, record.id.toUpperCase()), {
    bytes: png,
    contentType: 'image/png',
    filename: 'logo.png',
  });
  t.match(await events(assetStream(id)), [
    {
      type: 'AssetUploaded',
      data: { contentType: 'image/png', sizeBytes: png.length, width: 7, height: 5 },
      sealed: { filename: 'logo.png', sha256 },
    },
  ]);

  const text = await commands.uploadAsset(
    caller,
    { filename: 'C:\\folder\\run.bat', bytes: Buffer.from('echo') },
    empty,
  );
  t.match(text, { filename: 'run.bat.txt', contentType: 'text/plain' });
  t.notOk('width' in text);
  t.match(await commands.uploadAsset(caller, { filename: 'x', bytes: svg }, empty), {
    filename: 'x.svg',
    contentType: 'image/svg+xml',
    width: 7,
    height: 5,
  });
});

void t.test('neither the log nor the files hold a name or a byte that can be read', async (t) => {
  const { commands, store, files } = await openWorld();
  await commands.uploadAsset(
    caller,
    { filename: 'contract of jane@example.com.txt', bytes: Buffer.from('jane@example.com owes us') },
    empty,
  );
  const log = store.events
    .map(({ data, sealed, metadata }) => `${data}${Buffer.from(sealed ?? []).toString('latin1')}${metadata}`)
    .join();
  const stored = [...files.stored.values()].map((bytes) => bytes.toString('latin1')).join();
  t.equal(files.stored.size, 1);
  for (const text of [log, stored]) t.notMatch(text, /jane|owes/);
  t.notMatch(log, createHash('sha256').update('jane@example.com owes us').digest('hex'));
});

void t.test('another team cannot tell an asset from an unknown id', async (t) => {
  const { commands, deps } = await openWorld();
  const id = idOf(await commands.uploadAsset(caller, upload, empty));
  const unknown = assertDefined(parseAssetId('99999999-9999-4999-8999-999999999999'), 'asset id');
  const faults: unknown[] = [];
  for (const [who, which] of [
    [stranger, id],
    [caller, unknown],
  ] as const) {
    for (const ask of [commands.getAsset, commands.assetContent, commands.deleteAsset]) {
      await ask(who, which).then(
        () => t.fail('it was answered'),
        (fault: Error & { code?: string }) => {
          t.equal(fault.code, 'ASSET_NOT_FOUND');
          faults.push(fault.message);
        },
      );
    }
  }
  t.equal(new Set(faults).size, 1);
  t.equal(await loadAsset(deps, OTHER_TEAM, id), undefined);
  for (const reference of ['', 'x', unknown, `${id}0`, '../x'])
    t.equal(await loadAsset(deps, TEAM, reference), undefined);
  t.match(await commands.getAsset(caller, id), { id }, 'and it is still there');
});

void t.test('limits: one file, all files, their number', async (t) => {
  const { commands, files, store } = await openWorld({
    assetSizeBytesMax: 100,
    assetStorageBytesMax: 1_000,
    assetsMax: 3,
  });
  const bytes = Buffer.alloc(100, 'a');
  const given = (sizeBytes: number) => ({ filename: 'a.txt', bytes: Buffer.alloc(sizeBytes, 'a') });
  t.match(await commands.uploadAsset(caller, { filename: 'a.txt', bytes }, { count: 2, sizeBytes: 900 }), {
    sizeBytes: 100,
  });
  const [before, kept] = [store.events.length, files.stored.size];
  await t.rejects(commands.uploadAsset(caller, given(101), empty), {
    code: 'ASSET_TOO_LARGE',
    message: /101 bytes, the maximum is 100/,
    details: { relatedInfo: { actualSizeBytes: 101, maxSizeBytes: 100 } },
  });
  await t.rejects(commands.uploadAsset(caller, given(100), { count: 1, sizeBytes: 901 }), {
    code: 'STORAGE_LIMIT_EXCEEDED',
    message: /1,001 bytes, the maximum is 1,000/,
    details: { relatedInfo: { actualSizeBytes: 1_001, maxSizeBytes: 1_000 } },
  });
  await t.rejects(commands.uploadAsset(caller, given(1), { count: 3, sizeBytes: 0 }), {
    code: 'STORAGE_LIMIT_EXCEEDED',
    message: /3 assets, the maximum is 3/,
    details: { relatedInfo: { actualAssets: 3, maxAssets: 3 } },
  });
  await t.rejects(commands.uploadAsset(caller, given(0), empty), {
    code: 'VALIDATION_ERROR',
    details: { errors: [{ field: 'file' }] },
  });
  for (const filename of ['/', '..', '\u202e', ' \n', 'a\u0000.png', 'gnp\u202e.exe', '\u200b'])
    await t.rejects(commands.uploadAsset(caller, { filename, bytes }, empty), {
      code: 'VALIDATION_ERROR',
      details: { errors: [{ field: 'filename' }] },
    });
  await t.rejects(commands.uploadAsset(caller, { filename: 'logo.png', bytes: Buffer.from('<html>') }, empty), {
    code: 'ASSET_TYPE_NOT_ALLOWED',
  });
  t.equal(store.events.length, before);
  t.equal(files.stored.size, kept, 'nothing was written');
});

void t.test('what is deleted permanently is gone: bytes, key, name', async (t) => {
  const { commands, files, keys, events, deps } = await openWorld();
  const [first, second] = [
    idOf(await commands.uploadAsset(caller, upload, empty)),
    idOf(await commands.uploadAsset(caller, upload, empty)),
  ];
  const held = keys.ids().length;
  t.equal(files.stored.size, 2, 'the same file twice is kept twice, each under its own key');
  t.same(await commands.deleteAsset(caller, first, { permanently: true }), { id: first, deleted: true });
  t.equal(files.stored.size, 1);
  t.equal(keys.ids().length, held - 1);
  t.match(await events(assetStream(first)), [
    { type: 'AssetUploaded', sealed: undefined },
    { type: 'AssetDeleted', data: { at: T0 } },
  ]);
  for (const ask of [commands.getAsset, commands.assetContent, commands.deleteAsset])
    await t.rejects(async () => void (await ask(caller, first)), { code: 'ASSET_NOT_FOUND' });
  t.equal(await loadAsset(deps, TEAM, first), undefined);
  t.same((await commands.assetContent(caller, second)).bytes, png, 'the other one is untouched');
});

void t.test(
  'nothing is erased before the deletion is recorded, and a deletion that is cut off after it is finished by the eraser',
  async (t) => {
    const { commands, deps, keys, store, files, events } = await openWorld();
    const id = idOf(await commands.uploadAsset(caller, upload, empty));
    store.beforeAppend(() => {
      throw new Error('the disk is full');
    });
    await t.rejects(commands.deleteAsset(caller, id, { permanently: true }), { message: 'the disk is full' });
    t.equal(files.stored.size, 1);
    store.beforeAppend(undefined);
    t.match(await commands.getAsset(caller, id), { id });
    const dying = { ...deps, files: { ...files, delete: () => Promise.reject(new Error('died')) } };
    await t.rejects(deleteAsset(dying, caller, id, { permanently: true }), { message: 'died' });
    t.equal(files.stored.size, 1);
    await t.rejects(commands.assetContent(caller, id), { code: 'ASSET_NOT_FOUND' });
    await t.rejects(commands.getAsset(caller, id), { code: 'ASSET_NOT_FOUND' });
    t.equal(await eraseAll({ ...deps, store, keys }, 0), 1);
    t.equal(files.stored.size, 0);
    t.match(
      (await events(assetStream(id))).map(({ type }) => type),
      ['AssetUploaded', 'AssetDeleted'],
    );
  },
);

void t.test(
  'where nobody knows whether an upload is in the log its bytes stay; where it certainly is not they go',
  async (t) => {
    const { commands, store, files, clock } = await openWorld();
    store.loseAnswers(['written']);
    store.beforeAppend(() => store.failReads(Infinity));
    let fault: unknown;
    void commands.uploadAsset(caller, upload, empty).catch((error: unknown) => (fault = error));
    while (fault === undefined) await clock.advance(10_000);
    t.ok(fault instanceof AppendUnknown);
    t.equal(files.stored.size, 1);
    store.failReads(0);
    store.beforeAppend(() => Promise.reject(new Error('disk full')));
    await t.rejects(commands.uploadAsset(caller, upload, empty), { message: 'disk full' });
    t.equal(files.stored.size, 1);
  },
);

void t.test('what is deleted is seen by nobody, and comes back as it was for 30 days', async (t) => {
  const { commands, files, deps, clock } = await openWorld();
  const record = await commands.uploadAsset(caller, upload, empty);
  const id = idOf(record);
  t.same(await commands.deleteAsset(caller, id), { id, deleted: true });
  for (const ask of [commands.getAsset, commands.assetContent, commands.deleteAsset])
    await t.rejects(async () => void (await ask(caller, id)), { code: 'ASSET_NOT_FOUND' });
  t.equal(await loadAsset(deps, TEAM, id), undefined);
  await t.rejects(commands.restoreAsset(stranger, id), { code: 'ASSET_NOT_FOUND' });
  await t.rejects(commands.deleteAsset(stranger, id, { permanently: true }), { code: 'ASSET_NOT_FOUND' });
  await clock.advance(30 * DAY_MS);
  t.same(await commands.restoreAsset(caller, id), record, 'at the last moment');
  t.same(await commands.restoreAsset(caller, id), record, 'a living one stays as it is');
  t.same((await commands.assetContent(caller, id)).bytes, png);
  await commands.deleteAsset(caller, id);
  await clock.advance(30 * DAY_MS + 1);
  await t.rejects(commands.restoreAsset(caller, id), { code: 'ASSET_NOT_FOUND' });
  t.equal(files.stored.size, 1);
  await commands.deleteAsset(caller, id, { permanently: true });
  t.equal(files.stored.size, 0, 'a deleted one can be destroyed too');
  await t.rejects(commands.restoreAsset(caller, id), { code: 'ASSET_NOT_FOUND' });
});

void t.test('two deletions at once delete once', async (t) => {
  const { commands, events } = await openWorld();
  const id = idOf(await commands.uploadAsset(caller, upload, empty));
  const ends = await Promise.allSettled([commands.deleteAsset(caller, id), commands.deleteAsset(caller, id)]);
  t.ok(ends.some(({ status }) => status === 'fulfilled'));
  t.same(
    (await events(assetStream(id))).map(({ type }) => type),
    ['AssetUploaded', 'AssetTrashed'],
  );
});

void t.test('an upload that cannot be recorded leaves no file behind', async (t) => {
  const { commands, store, files } = await openWorld();
  store.beforeAppend(() => {
    throw new Error('the disk is full');
  });
  await t.rejects(commands.uploadAsset(caller, upload, empty), { message: 'the disk is full' });
  t.equal(files.stored.size, 0);
});

void t.test('a font is kept where documents may be written in it, and a template names it', async (t) => {
  const { commands } = await openWorld();
  const font = await commands.uploadAsset(caller, { filename: 'Brand.ttf', bytes: brandFont }, empty);
  t.match(font, { filename: 'Brand.ttf', contentType: 'font/ttf', sizeBytes: brandFont.length });
  await t.rejects(commands.uploadAsset(caller, { filename: 'Brand.ttf', bytes: withLicence(2) }, empty), {
    code: 'ASSET_TYPE_NOT_ALLOWED',
    message: /licence/,
  });
  const text = { id: 'text', type: 'rich-text', content: '<p>Brand</p>', props: { fontFamily: 'Brand Sans' } };
  const schemaOf = (regular: string): JsonObject => ({
    outputFormats: ['pdf'],
    fonts: [{ family: 'Brand Sans', regular }],
    pages: [{ pageId: 'p', pageName: 'Page', sections: [{ id: 's', type: 'main', components: [text] }] }],
  });
  await commands.createAttachmentTemplate(caller, {
    name: 'Letter',
    slug: 'letter',
    schema: schemaOf(`asset:${font.id}`),
  });
  const preview = () =>
    commands.previewAttachmentTemplate(caller, 'letter', { variables: {} }, new AbortController().signal);
  t.same(readPdf((await preview()).bytes).fonts, ['Roboto-Italic']);
  const picture = await commands.uploadAsset(caller, upload, empty);
  await commands.updateAttachmentTemplate(caller, 'letter', { schema: schemaOf(`asset:${picture.id}`) });
  await t.rejects(preview(), {
    code: 'IMAGE_NOT_AVAILABLE',
    message: /^schema\.fonts\[0\]\.regular: the font asset:.* It is no TTF or OTF font/,
  });
});

void t.test('an asset of another team is told on save as one that is not there', async (t) => {
  const { commands } = await openWorld();
  const own = await commands.uploadAsset(caller, { filename: 'a.png', bytes: png }, empty);
  const theirs = await commands.uploadAsset(stranger, { filename: 'b.png', bytes: png }, empty);
  const showing = (assetId: string) => ({ ...welcome, schema: schemaSaying(`<img src="asset:${assetId}" alt="">`) });
  const { id, warnings } = await commands.createTemplate(caller, showing(theirs.id));
  const unknown = await commands.updateTemplate(caller, id, showing('5f0c2a7e-1d4b-4c3a-9e8f-0a1b2c3d4e5f'));
  const without = (told: readonly Readonly<{ message: string }>[]) =>
    told.map(({ message }) => message.replace(/[0-9a-f-]{36}/, 'ID'));
  t.match(warnings, [
    { field: 'schema.sections[0].components[0].content', message: /^names the asset .* which is not in the gallery/ },
  ]);
  t.same(without(warnings), without(unknown.warnings));
  t.same((await commands.updateTemplate(caller, id, showing(own.id))).warnings, []);
});
