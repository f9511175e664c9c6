/**
 * Workbooks as LibreOffice shows them, cell by cell, compared with what somebody looked at: the samples in each
 * language, and every component from both sides.
 */
import t from 'tap';
import { makeWorkbook } from '../../../../src/adapters/render/excel/make-workbook.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import { attachmentOf, expandTemplate } from '../../../support/documents.js';
import { matchesGolden } from '../../../support/golden.js';
import { lacksLibreOffice, openDocumentOf } from '../../../support/libreoffice.js';
import { documentSamples } from '../../../support/samples.js';
import { looksOf } from '../../../support/workbook-looks.js';
import { everyLook, lookVariables } from '../../../support/workbook-sink.js';
import { metadata } from './xlsx.js';

// LibreOffice takes seconds to start where the machine does much else.
t.setTimeout(900_000);

const shown = async (content: unknown, values: JsonObject, locale: string | undefined): Promise<string> => {
  const document = expandTemplate(content, values, {
    format: 'excel',
    ...(locale === undefined ? {} : { language: { locale } }),
  });
  return looksOf(await openDocumentOf(t, await makeWorkbook(document, new Map(), metadata, defaultLimits)));
};

void t.test('workbooks look as they did', { skip: lacksLibreOffice }, async (t) => {
  for (const { name, locale, content, values } of documentSamples)
    if (content.schema.outputFormats.includes('excel'))
      matchesGolden(t, `workbooks/${name}.txt`, await shown(content, values, locale));
  for (const locale of ['en', 'ar']) {
    const pages = everyLook.map(({ name, components }) => ({
      pageId: name,
      pageName: name,
      sections: [{ id: `s-${name}`, type: 'main', components }],
    }));
    const content = attachmentOf([], { locale, schema: { outputFormats: ['excel'], pages } });
    matchesGolden(t, `workbooks/components.${locale}.txt`, await shown(content, lookVariables, undefined));
  }
});

void t.test('what differs is seen', { skip: lacksLibreOffice }, async (t) => {
  const table = (props: object): unknown =>
    attachmentOf(
      [
        {
          id: 't',
          type: 'table',
          props: { dataSource: 'items', columns: [{ header: 'Name', content: '{{item.name}}' }], ...props },
        },
      ],
      {
        variables: [{ name: 'items', type: 'array' }],
      },
    );
  const of = (props: object): Promise<string> => {
    const content = table(props) as { schema: { outputFormats: readonly string[] } };
    return shown({ ...content, schema: { ...content.schema, outputFormats: ['excel'] } }, lookVariables, undefined);
  };
  const usual = await of({});
  for (const props of [
    { color: '#be185d' },
    { striped: true },
    { headerBackgroundColor: '#dcfce7' },
    { fontSize: 14 },
    { border: '1px solid #000' },
  ])
    t.not(await of(props), usual, JSON.stringify(props));
});
