/** The document that a process makes before the first one that is asked of it: of all that most documents have, so that it is loaded and was run once. */
import { parseTeamId, assertDefined } from '../../../domain/core/ids.js';
import { emptyCompany } from '../../../domain/teams/state.js';
import type { DocumentJob } from './jobs.js';

const html =
  '<h1>Title</h1><p>Text with <strong>bold</strong>, <em>slanted</em>, <strong><em>both</em></strong> and a <a href="https://example.com">link</a>.</p><ul><li>Item</li></ul>';

export const sampleJob: DocumentJob & { kind: 'make' } = {
  kind: 'make',
  format: 'pdf',
  images: new Map(),
  metadata: { title: 'Sample', author: 'sealpost', createdAt: '2026-01-01T00:00:00.000Z' },
  input: {
    teamId: assertDefined(parseTeamId('00000000-0000-4000-8000-000000000000'), 'team'),
    cacheKey: 'sample',
    variables: { rows: Array.from({ length: 3 }, (_, at) => ({ name: `Row ${at}`, count: at + 0.5 })) },
    environment: { at: '2026-01-01T00:00:00.000Z', company: emptyCompany },
    content: {
      variables: [],
      schema: {
        outputFormats: ['pdf'],
        pages: [
          {
            pageId: 'sample',
            pageName: 'Sample',
            sections: [
              {
                id: 'sample',
                type: 'body',
                components: [
                  { id: 'text', type: 'rich-text', content: html },
                  {
                    id: 'rows',
                    type: 'table',
                    props: {
                      dataSource: 'rows',
                      columns: [
                        { header: 'Name', content: '{{item.name}}' },
                        { header: 'Count', content: '{{item.count}}', type: 'number' },
                      ],
                    },
                  },
                ],
              },
            ],
          },
        ],
      },
    },
  },
};
