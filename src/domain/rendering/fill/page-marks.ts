/** The two placeholders that only the header and the footer of a page know: their values exist once the pages are laid out. */

export const pageMarks = ['pageNumber', 'totalPages'] as const;
export type PageMark = (typeof pageMarks)[number];

export const isPageMark = (name: unknown): name is PageMark => pageMarks.some((mark) => mark === name);
