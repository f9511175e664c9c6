/** The addresses that stand in HTML as its author wrote it: those of links and of pictures. */

export type HtmlAddress = Readonly<{
  tag: 'a' | 'img';
  /** Without entities of the usual kinds. */
  address: string;
  /** True where the element has the attributes `width` and `height`, and neither is blank. */
  isSized: boolean;
}>;

const TAGS = /<!--[^]*?(?:-->|$)|<(a|img)(?=[\s/>])/gi;
const ATTRIBUTE = /[\s/]*(?:([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s>]*)))?|=)/y;

/** In: HTML, however hostile. Out: the `href` of each link and the `src` of each picture, in order. One pass, linear. */
export const addressesIn = (html: string): readonly HtmlAddress[] => {
  const found: HtmlAddress[] = [];
  if (!/<(?:a|img)[\s/]/i.test(html)) return found;
  TAGS.lastIndex = 0;
  for (let match = TAGS.exec(html); match !== null; match = TAGS.exec(html)) {
    const tag = match[1]?.toLowerCase();
    if (tag !== 'a' && tag !== 'img') continue;
    const wanted = tag === 'a' ? 'href' : 'src';
    ATTRIBUTE.lastIndex = TAGS.lastIndex;
    let end = TAGS.lastIndex;
    let address: string | undefined;
    const sides = new Set<string>();
    for (let one = ATTRIBUTE.exec(html); one !== null; one = ATTRIBUTE.exec(html)) {
      end = ATTRIBUTE.lastIndex;
      // The first of two of one name counts, as in browsers.
      const name = one[1]?.toLowerCase();
      const value = one[2] ?? one[3] ?? one[4] ?? '';
      if (name === wanted) address ??= value;
      else if ((name === 'width' || name === 'height') && value.trim() !== '') sides.add(name);
    }
    TAGS.lastIndex = end;
    if (address !== undefined) found.push({ tag, address: withoutEntities(address), isSized: sides.size === 2 });
  }
  return found;
};

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", colon: ':', sol: '/' };

const withoutEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|lt|gt|quot|apos|colon|sol));/gi,
    (whole, decimal?: string, hex?: string, name?: string) =>
      name === undefined
        ? String.fromCharCode(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal))
        : (entities[name.toLowerCase()] ?? whole),
  );
