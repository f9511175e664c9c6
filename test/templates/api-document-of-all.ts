/** An attachment template that uses whatever there is. */
import type { JsonObject } from '../../src/domain/core/json.js';
import { column, common, flow, variables } from './api-parts-of-all.js';

const page = (id: string, pageSettings: JsonObject, components: readonly JsonObject[]): JsonObject => ({
  pageId: id,
  pageName: `Page ${id}`,
  pageSettings,
  sections: [{ id: `section-${id}`, type: 'main', components }],
});

export const documentOfAll: JsonObject = {
  variables,
  translations: { de: { 'Hello {{name}}': 'Hallo {{name}}', Item: 'Posten' }, 'de-AT': {} },
  schema: {
    outputFormats: ['pdf'],
    missingCharacters: 'replace',
    fonts: [
      {
        family: 'Brand Sans',
        regular: `asset:${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`,
        bold: `asset:${'1'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`,
      },
    ],
    pages: [
      page(
        'a',
        {
          format: 'A4',
          orientation: 'landscape',
          direction: 'ltr',
          margin: { top: '20mm', right: 20, bottom: '1in', left: '2cm' },
          backgroundColor: 'white',
          header: {
            content: '<p>{{pageNumber}}</p>',
            height: '10mm',
            align: 'center',
            code: { value: '{{name}}', size: 40, align: 'right' },
          },
          footer: { content: '' },
          firstPageHeader: { content: 'a' },
          firstPageFooter: { content: 'b', align: 'end' },
          backgroundImage: { src: 'https://example.com/a.png', fit: 'cover', sheets: 'first' },
          watermark: { text: 'Draft', color: '#eee' },
          contents: { title: 'Contents', levels: 2 },
          sheet: { hidden: false, fitToWidth: true, gridLines: true, printArea: 'A1:F40' },
        },
        [
          { id: 'flow', type: 'rich-text', content: 'a', props: flow },
          ...common,
          {
            id: 'chart',
            type: 'chart',
            props: {
              chartType: 'bar',
              dataSource: 'items',
              categoryField: 'name',
              series: [{ name: 'Total', valueField: 'total', color: 'red' }],
              title: 'a',
              width: '12cm',
              height: 200,
              showLegend: true,
              xTitle: 'x',
              yTitle: 'y',
              hideWhenEmpty: true,
            },
          },
          {
            id: 'stock',
            type: 'table',
            props: {
              dataSource: 'items',
              groupBy: 'name',
              groupOrder: 'name',
              columns: [
                {
                  ...column,
                  hidden: true,
                  rules: [
                    {
                      kind: 'cells',
                      operator: 'between',
                      value: 1,
                      and: 5,
                      color: 'red',
                      backgroundColor: 'white',
                      bold: true,
                    },
                    { kind: 'colorScale', colors: ['red', 'green'] },
                    { kind: 'dataBar', color: 'blue' },
                  ],
                },
              ],
            },
          },
        ],
      ),
    ],
  },
};
