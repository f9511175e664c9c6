/** The collection of pages: those of docs/, the reference of the API, and the list of files that pages link to. */
import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro:content';
import { front, listOfFiles, pageNames, pageOf } from './docs.js';
import { pagesOfReference, withPlainJson } from './reference.js';

const pages = () => [
  { id: 'index', ...front(), edit: { tableOfContents: false, prev: false, next: false, pagefind: false } },
  ...pageNames.map((name) => ({ id: name, ...pageOf(name), edit: {} })),
  ...pagesOfReference().map(({ id, title, description, body }) => ({
    id,
    title,
    description,
    // A guide that explains something stands before the reference that lists it.
    body: `<div data-pagefind-weight="0.3">\n\n${withPlainJson(body)}\n\n</div>`,
    markdown: `# ${title}\n\n${body}`,
    edit: { tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 2 } },
  })),
  {
    id: 'files',
    title: 'Files',
    description: 'Files of the repository that pages link to.',
    body: listOfFiles(),
    markdown: `# Files\n\n${listOfFiles()}`,
    edit: { pagefind: false },
  },
];

export const collections = {
  docs: defineCollection({
    loader: {
      name: 'pages-of-the-guide',
      load: async ({ store, parseData, renderMarkdown, config }) => {
        store.clear();
        for (const { id, title, description, body, markdown, edit } of pages()) {
          const fileURL = new URL(`src/content/docs/${id}.md`, config.root);
          const data = await parseData({ id, data: { title, description, editUrl: false, ...edit } });
          store.set({ id, data, body: markdown, rendered: await renderMarkdown(body, { fileURL }) });
        }
      },
    },
    schema: docsSchema(),
  }),
};
