/**
 * How LibreOffice shows a workbook, as text: each cell with what stands in it, its letters, its colours, its lines and
 * its side. Properties that depend on installed fonts (column widths, line breaks) are left out, so the text is the
 * same on every machine.
 */
import { parseDocument } from 'htmlparser2';

type Nodes = ReturnType<typeof parseDocument>['children'];
type Element = Extract<Nodes[number], { name: string; attribs: Record<string, string> }>;

const elementsIn = (nodes: Nodes): readonly Element[] =>
  nodes.filter((node): node is Element => 'name' in node && 'attribs' in node);

/** Not those within one of `except`: a chart holds a copy of the cells that it draws. */
const allNamed = (nodes: Nodes, name: string, except = ''): readonly Element[] =>
  elementsIn(nodes).flatMap((element) => [
    ...(element.name === name ? [element] : []),
    ...(element.name === except ? [] : allNamed(element.children as Nodes, name, except)),
  ]);

type Look = Readonly<Record<string, string>>;
type Styles = ReadonlyMap<string, Look>;

/** In: a flat OpenDocument spreadsheet. Out: a line for each sheet, cell and drawing. */
export const looksOf = (fods: string): string => {
  const document = parseDocument(fods, { xmlMode: true }).children as Nodes;
  const styles: Styles = new Map(
    allNamed(document, 'style:style').map((style) => [
      style.attribs['style:name'] ?? '',
      Object.assign({}, ...elementsIn(style.children as Nodes).map(({ attribs }) => attribs)) as Look,
    ]),
  );
  return `${allNamed(document, 'table:table', 'draw:frame')
    .flatMap((sheet) => sheetLines(sheet, styles))
    .join('\n')}\n`;
};

const sheetLines = (sheet: Element, styles: Styles): readonly string[] => {
  const look = styles.get(sheet.attribs['table:style-name'] ?? '') ?? {};
  const lines = [
    `== ${sheet.attribs['table:name'] ?? ''}${look['style:writing-mode'] === 'rl-tb' ? ', from the right' : ''}${look['table:display'] === 'false' ? ', hidden' : ''}`,
  ];
  let row = 1;
  for (const element of allNamed(sheet.children as Nodes, 'table:table-row', 'draw:frame')) {
    const repeated = Number(element.attribs['table:number-rows-repeated'] ?? 1);
    const cells = rowLines(element, row, styles);
    if (cells.length > 0)
      lines.push(
        ...(element.attribs['table:visibility'] === undefined ? cells : cells.map((cell) => `${cell}, hidden`)),
      );
    row += repeated;
  }
  const drawings = allNamed(sheet.children as Nodes, 'draw:frame', 'draw:frame').map((frame) => {
    const parts = elementsIn(frame.children as Nodes);
    const said = ['svg:title', 'svg:desc'].map((name) => textOf(parts.find((part) => part.name === name)));
    const isChart = parts.some(({ name }) => name === 'draw:object');
    const titles = allNamed(frame.children as Nodes, 'chart:title').map((title) =>
      allNamed(title.children as Nodes, 'text:p')
        .map((text) => runsIn(text, new Map()))
        .join(' '),
    );
    return `${isChart ? 'chart' : 'picture'}: ${(isChart ? titles : said).filter((text) => text !== '').join(', ')}`;
  });
  return [...lines, ...drawings];
};

const COLUMNS_MAX = 60;

const rowLines = (row: Element, at: number, styles: Styles): readonly string[] => {
  const lines: string[] = [];
  let column = 1;
  for (const cell of elementsIn(row.children as Nodes)) {
    if (cell.name !== 'table:table-cell' && cell.name !== 'table:covered-table-cell') continue;
    const repeated = Number(cell.attribs['table:number-columns-repeated'] ?? 1);
    const spanned = Number(cell.attribs['table:number-columns-spanned'] ?? 1);
    const look = cellLook(styles.get(cell.attribs['table:style-name'] ?? '') ?? {});
    const text = shownIn(cell, styles);
    const isSeen = text !== '' || /fill|line/.test(look);
    if (cell.name === 'table:table-cell' && isSeen && repeated < COLUMNS_MAX) {
      const sides = text === '' ? look.split('; ').filter((part) => /^(?:fill|line)/.test(part)) : [look];
      // Versions count cells that are alike in their own ways.
      for (let first = column; first < column + repeated; first += 1) {
        const merged = spanned > 1 ? `:${letters(first + spanned - 1)}${at}` : '';
        lines.push(`${letters(first)}${at}${merged} | ${text} | ${sides.join('; ')}`);
      }
    }
    column += repeated;
  }
  return lines;
};

/** The text as it is formatted; runs that look otherwise than their cell say how. */
const shownIn = (cell: Element, styles: Styles): string =>
  elementsIn(cell.children as Nodes)
    .filter(({ name }) => name === 'text:p')
    .map((paragraph) => runsIn(paragraph, styles))
    .join(' / ');

const runsIn = (element: Element, styles: Styles): string =>
  (element.children as Nodes)
    .map((node) => {
      if ('data' in node && !('name' in node)) return String(node.data);
      if (!('attribs' in node)) return '';
      const child = node as Element;
      if (child.name === 'text:s') return ' '.repeat(Number(child.attribs['text:c'] ?? 1));
      if (child.name === 'text:line-break') return ' / ';
      const text = runsIn(child, styles);
      if (child.name === 'text:a') return `[${text}](${child.attribs['xlink:href'] ?? ''})`;
      const look = lettersOf(styles.get(child.attribs['text:style-name'] ?? '') ?? {}).join(' ');
      return child.name !== 'text:span' || look === '' ? text : `{${look}: ${text}}`;
    })
    .join('');

const textOf = (element: Element | undefined): string =>
  element === undefined
    ? ''
    : (element.children as Nodes).map((node) => ('data' in node ? String(node.data) : '')).join('');

const cellLook = (look: Look): string => {
  const fill = look['fo:background-color'];
  const lines = ['top', 'right', 'bottom', 'left'].flatMap((side) => {
    const line = look[`fo:border-${side}`] ?? look['fo:border'] ?? 'none';
    // Versions round widths in their own ways.
    return line === 'none' ? [] : [`${side} ${line.replace(/^\S+ /, '')}`];
  });
  return [
    lettersOf(look).join(' '),
    [
      look['fo:text-align'] ?? '',
      look['fo:wrap-option'] === 'wrap' ? 'wrapped' : '',
      (look['fo:margin-left'] ?? '0in') === '0in' ? '' : 'indented',
    ]
      .filter((word) => word !== '')
      .join(' '),
    fill === undefined || fill === 'transparent' ? '' : `fill ${fill}`,
    lines.length === 0 ? '' : `line ${lines.join(', ')}`,
  ]
    .filter((part) => part !== '')
    .join('; ');
};

const lettersOf = (look: Look): readonly string[] => {
  const underline = look['style:text-underline-style'] ?? 'none';
  const strike = look['style:text-line-through-type'] ?? look['style:text-line-through-style'] ?? 'none';
  return [
    look['fo:font-size'] ?? '',
    look['fo:font-weight'] === 'bold' ? 'bold' : '',
    look['fo:font-style'] === 'italic' ? 'italic' : '',
    underline === 'none' ? '' : 'underlined',
    strike === 'none' ? '' : 'struck',
    look['style:use-window-font-color'] === 'true' ? '' : (look['fo:color'] ?? ''),
    positionOf(look['style:text-position'] ?? ''),
  ].filter((word) => word !== '');
};

const positionOf = (position: string): string => {
  const points = position.startsWith('sub') ? -1 : position.startsWith('super') ? 1 : parseFloat(position) || 0;
  return points < 0 ? 'lowered' : points > 0 ? 'raised' : '';
};

const letters = (column: number): string =>
  column <= 26
    ? String.fromCharCode(64 + column)
    : letters(Math.floor((column - 1) / 26)) + letters(((column - 1) % 26) + 1);
