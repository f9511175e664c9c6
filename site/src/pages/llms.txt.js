/** The pages for programs that read, as Markdown: https://llmstxt.org. */
import { base, front, pageOf } from '../docs.js';
import { pagesOfReference } from '../reference.js';
import { groupsOfPages } from '../sidebar.js';

const line = (id, { title, description }) => `- [${title}](${base}/${id}.md): ${description}`;

const sections = () => [
  ...groupsOfPages.map(
    ({ label, names }) => `## ${label}\n\n${names.map((name) => line(name, pageOf(name))).join('\n')}`,
  ),
  `## API reference\n\n${[
    ...pagesOfReference().map((page) => line(page.id, page)),
    line('api-errors', pageOf('api-errors')),
  ].join('\n')}`,
];

export const GET = () => {
  const { title, description } = front();
  return new Response([`# ${title}`, `> ${description}`, ...sections()].join('\n\n') + '\n');
};
