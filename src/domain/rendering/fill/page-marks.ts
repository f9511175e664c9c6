/** The two placeholders that only the header and the footer of a page know: their values exist once the pages are laid out. */

export const pageMarks = ['pageNumber', 'totalPages'] as const;
export type PageMark = (typeof pageMarks)[number];

/** Other words for them, in small letters and without marks between. */
const otherWords: Readonly<Record<PageMark, readonly string[]>> = {
  pageNumber: ['page', 'pageno', 'pagenum', 'currentpage', 'pageindex'],
  totalPages: ['pages', 'pagecount', 'pagescount', 'numpages', 'numberofpages', 'pagetotal', 'pagestotal', 'lastpage'],
};

/** The placeholder that a name may stand for. */
export const pageMarkMeantBy = (name: string): PageMark | undefined => {
  const word = name.toLowerCase().replaceAll(/[-_]/g, '');
  return pageMarks.find((mark) => otherWords[mark].includes(word));
};

export const isPageMark = (name: unknown): name is PageMark => pageMarks.some((mark) => mark === name);
