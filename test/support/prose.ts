/** Faults in the text of a mail or a document: holes where a value should be. */

/** A blank where nothing stands: doubled, before a punctuation mark, or at either end of a paragraph, cell or line. */
const hole =
  /[^\s>]* {2,}[^\s<]*|\S* [,.;:](?=[\s<])|<(?:p|li|td|h\d)[^>]*> [^<]*|<br\/?> [^<]*|[^>]* <(?:br|\/p|\/li|\/td|\/h\d)/g;

/** Remains of a missing value. The numbers of pages are filled in when a document is drawn. */
const leftover = /\{\{(?!pageNumber|totalPages)|\bundefined\b|\bnull\b|\bNaN\b|\[object/g;

/** In: HTML of a mail or of a rich text. Out: the places where a value is missing, empty where it reads well. */
export const holesOf = (html: string): readonly string[] => {
  const body = /<body[^]*<\/body>/.exec(html)?.[0].replace(/<!--[^]*?-->/g, '') ?? html;
  return [...(body.match(hole) ?? []), ...(body.match(leftover) ?? [])];
};

/** A line, a paragraph or an item with nothing in it. */
const emptyLine =
  /<(p|li|h\d)\b[^>]*>(?:\s|&nbsp;|<br\/?>)*<\/\1>|<br\/?>\s*(?=<br|<\/(?:p|li|td|h\d)>)|<(?:p|li|h\d)\b[^>]*>\s*<br/g;

/** In: HTML of a mail or of a rich text. Out: the lines of it that are empty. */
export const emptyLinesOf = (html: string): readonly string[] =>
  html.replace(/<!--[^]*?-->/g, '').match(emptyLine) ?? [];
