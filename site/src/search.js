/** The order in which the search of the site shows what Pagefind found: sections, not pages. */

/** Words of a question that no section is about. */
const FILLING = new Set(
  'a an and are be by can did do does for from get has have how i in into is it its me my of on or our the their to was what when where which who why will with you your'.split(
    ' ',
  ),
);

/** The sections of one page that are shown. */
const SECTIONS_OF_PAGE_MAX = 3;

/** A word of the query in the title of a section counts as much as this many in its text. */
const IN_TITLE = 12;

/** Letters by which forms of one word are taken as equal: rotate, rotation. */
const STEM_CHARS = 5;

/** The pages whose sections are shown. */
const PAGES_MAX = 8;

/** Pages for each word, where no page has all words of a query. */
const PAGES_OF_WORD_MAX = 3;

/** How Pagefind ranks pages: a long page is not worse than a short one. */
export const searchOptions = { excerptLength: 22, ranking: { termFrequency: 0.6, pageLength: 0.3 } };

/**
 * @typedef {Readonly<{ search: (query: string) => Promise<Readonly<{ results: readonly Readonly<{ data: () => Promise<Found> }>[] }>> }>} Pagefind
 * @typedef {Readonly<{ url: string; meta: Readonly<{ title?: string }>; excerpt: string; sub_results: readonly Readonly<{ url: string; title: string; excerpt: string; weighted_locations?: readonly Readonly<{ balanced_score: number }>[] }>[] }>} Found
 * @typedef {Readonly<{ url: string; title: string; page: string; excerpt: string }>} Section
 */

/**
 * In: what somebody typed. Out: the text for the index, and its words.
 * @param {string} query
 */
const readQuery = (query) => {
  const all = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}_@.-]+/u)
    .filter((word) => word !== '');
  const telling = all.filter((word) => !FILLING.has(word));
  const words = telling.length === 0 ? all : telling;
  return { text: words.join(' '), words };
};

/** Whether the title has the word, in any of its forms. */
const hasWord = (title, word) => title.toLowerCase().includes(word.slice(0, STEM_CHARS));

/**
 * In: the pages found, best first; the words of the query. Out: the best sections of each page, in the order of the
 * pages. Pages whose titles have all words come first.
 * @param {readonly Found[]} pages
 * @param {readonly string[]} words
 * @returns {Section[]}
 */
const sectionsOf = (pages, words) => {
  const isAbout = ({ meta: { title = '' } }) => words.every((word) => hasWord(title, word));
  const sorted = [...pages.filter(isAbout), ...pages.filter((page) => !isAbout(page))];
  const scored = sorted.flatMap(({ url, meta, excerpt, sub_results: parts }) => {
    const page = meta.title ?? '';
    const sections = parts.length === 0 ? [{ url, title: page, excerpt, weighted_locations: [] }] : parts;
    return sections
      .map(({ url: address, title, excerpt: text, weighted_locations: found = [] }) => {
        const inTitle = words.filter((word) => hasWord(title, word)).length;
        const inText = found.reduce((sum, { balanced_score: score }) => sum + Math.sqrt(score), 0);
        return { url: address, title, page, excerpt: text, score: inText + inTitle * IN_TITLE };
      })
      .sort((one, other) => other.score - one.score)
      .slice(0, SECTIONS_OF_PAGE_MAX);
  });
  return scored.map(({ url, title, page, excerpt }) => ({ url, title, page, excerpt }));
};

/**
 * In: what somebody typed. Out: the sections of the pages that have all its words; without such a page, of those that
 * have one of them.
 * @param {Pagefind} pagefind
 * @param {string} query
 * @returns {Promise<Section[]>}
 */
export const findSections = async (pagefind, query) => {
  const { text, words } = readQuery(query);
  if (text === '') return [];
  let { results } = await pagefind.search(text);
  if (results.length === 0) {
    const answers = await Promise.all(words.map((word) => pagefind.search(word)));
    results = answers.flatMap((answer) => answer.results.slice(0, PAGES_OF_WORD_MAX));
  }
  return sectionsOf(await Promise.all(results.slice(0, PAGES_MAX).map((result) => result.data())), words);
};
