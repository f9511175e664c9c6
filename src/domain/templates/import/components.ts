/**
 * Makes components of ours from the nodes of a mail: texts, pictures, buttons, boxes and columns where they look alike,
 * fragments of HTML for the rest, conditionals and loops for the blocks around them.
 */
import type { Json, JsonObject } from '../../core/json.js';
import { cssBorder, cssBox, cssColor, cssFontFamily, cssLength, cssLineHeight, pixels } from '../../rendering/css.js';
import { tableTags, voidTags } from '../../rendering/html.js';
import type { Block, Place, Statement } from './language.js';
import { BAND, FRAGMENT } from './mjml.js';
import type { AddNote, Names, Scope, TextPart } from './names.js';
import { holdsMark, statementsIn, unknownNote, type Element, type Node, type Styles } from './tree.js';

export type Made = {
  id: string;
  type: string;
  content?: string;
  props?: Record<string, Json>;
  children?: readonly Made[];
  elseChildren?: readonly Made[];
  /** Room above and below in pixels, for components without a padding of their own. */
  room?: Readonly<{ above: number; below: number }>;
  /** A box that is a section of its own where it is as wide as the mail. */
  isBand?: boolean;
};
/** The look that text inherits. Sizes are pixels; `lineHeight` is as CSS writes it. */
export type Look = Readonly<{
  fontFamily: string;
  fontSize: number;
  lineHeight: string;
  color: string;
  align: 'left' | 'center' | 'right';
  /** The side to which tables and other boxes move, as the attribute `align` and `<center>` move them. */
  boxes: 'left' | 'center' | 'right';
  /** Inherited styles of letters that no prop says: weight, slant, capitals, spacing. */
  letters: Styles;
  /** The colour behind; undefined where none is stated. */
  background: string | undefined;
}>;
export type Sides = readonly [top: number, right: number, bottom: number, left: number];
type Box = Readonly<{
  padding: Sides;
  background: string | undefined;
  border: string | undefined;
  radius: number;
  width: string | undefined;
  /** The side to which a box with a width of its own moves. */
  place?: Look['align'] | undefined;
  at: Place;
}>;

export const START: Look = {
  fontFamily: 'Arial, Helvetica, sans-serif',
  fontSize: 16,
  lineHeight: 'normal',
  color: '#000000',
  align: 'left',
  boxes: 'left',
  letters: new Map(),
  background: undefined,
};
/** `normal`, which props cannot say. */
const NORMAL_LINES = '1.2';

const INLINE = new Set(
  'a abbr acronym b bdi bdo big br cite code del dfn em font i img ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
const TEXT_BLOCKS = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre address'.split(' '));
const TABLE_PARTS = new Set([...tableTags, 'colgroup', 'col']);
const KEPT = new Set([
  ...[...INLINE].filter((tag) => tag !== 'label'),
  ...[...TEXT_BLOCKS, ...TABLE_PARTS],
  ...'center div dd dt li hr section article header footer main figure figcaption'.split(' '),
]);
const VOID = new Set(voidTags);
/** Margins and sizes of browsers, in parts of the size of the letters. */
const USUAL: Readonly<Record<string, Readonly<{ size: number; margin: number }>>> = {
  ...{ h1: { size: 2, margin: 0.67 }, h2: { size: 1.5, margin: 0.83 }, h3: { size: 1.17, margin: 1 } },
  ...{ h4: { size: 1, margin: 1.33 }, h5: { size: 0.83, margin: 1.67 }, h6: { size: 0.67, margin: 2.33 } },
  ...{ p: { size: 1, margin: 1 }, ul: { size: 1, margin: 1 }, ol: { size: 1, margin: 1 }, dl: { size: 1, margin: 1 } },
  ...{ blockquote: { size: 1, margin: 1 }, pre: { size: 1, margin: 1 } },
};
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  a: ['href', 'name', 'title'],
  img: ['src', 'alt', 'width', 'height', 'title'],
  table: ['width', 'height', 'cellpadding', 'cellspacing', 'border', 'bgcolor', 'background', 'align', 'role', 'dir'],
  td: ['width', 'height', 'valign', 'align', 'bgcolor', 'background', 'colspan', 'rowspan', 'nowrap', 'dir'],
  th: ['width', 'height', 'valign', 'align', 'bgcolor', 'background', 'colspan', 'rowspan', 'scope', 'dir'],
  tr: ['valign', 'bgcolor', 'height', 'align'],
  ol: ['start', 'type', 'reversed'],
  ul: ['type'],
  li: ['value'],
  font: ['color', 'face', 'size'],
  col: ['width', 'span'],
  hr: ['width', 'size', 'color'],
};
/** Properties that a mail shows, but for those of Outlook alone and of positions. */
const LOST_STYLES =
  /^(?:mso-|-webkit-|-ms-|-moz-|position$|top$|left$|right$|bottom$|z-index$|transform|transition|animation|filter|content$|src$|border-spacing$|cursor$|outline|user-select|appearance|interpolation)/;
const CONDITIONS_MAX = 5;
const LOOPS_MAX = 3;
const BOXES_MAX = 4;
const VARIANTS_MAX = 3;
const COLUMNS_MAX = 8;

export type Depth = Readonly<{ conditions: number; loops: number; boxes: number }>;
export const NO_DEPTH: Depth = { conditions: 0, loops: 0, boxes: 0 };
export type Context = Readonly<{ scope: Scope; look: Look; depth: Depth }>;

export type Builder = ReturnType<typeof openBuilder>;

/** In: the names of the template, and the statements of its marks. `isCoarse`: few components, larger fragments. */
export const openBuilder = ({
  names,
  marks,
  base,
  note,
  isCoarse,
}: Readonly<{ names: Names; marks: ReadonlyMap<number, Statement>; base: Look; note: AddNote; isCoarse: boolean }>) => {
  const counts = new Map<string, number>();
  const made = (type: string, rest: Omit<Made, 'id' | 'type'>): Made => {
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    return { id: `${type}-${count}`, type, ...rest };
  };

  /** The text of an attribute with our placeholders, not escaped. */
  const filled = (text: string, scope: Scope, at: Place, as: 'text' | 'link' | 'picture' = 'text'): string => {
    if (!holdsMark(text)) return plainBraces(text);
    const parts = statementsIn(text, marks, at);
    if (parts === undefined) {
      note(
        'dropped',
        at,
        'A block that begins or ends inside of an attribute is left out',
        'Write the attribute with a calculated variable.',
      );
      return '';
    }
    return parts
      .map((part, _, all) =>
        part.kind === 'text'
          ? plainBraces(part.text)
          : valueText(part, scope, all.length === 1 ? as : as === 'text' ? 'text' : 'link'),
      )
      .join('');
  };

  const valueText = (
    part: Exclude<Statement, Readonly<{ kind: 'text' }>>,
    scope: Scope,
    as: 'text' | 'link' | 'picture',
  ): string => {
    switch (part.kind) {
      case 'unknown':
        unknownNote(part, note);
        return '';
      case 'value': {
        const shown = names.shown(part.value, scope, as);
        if (shown === undefined)
          note(
            'dropped',
            part.at,
            `${part.written} is left out: no path or calculated variable says the same`,
            'Make a calculated variable for it, and write its name.',
          );
        else if (part.isRaw && as === 'text' && !shown.startsWith('{{__'))
          names.noteOnce(
            `raw ${part.written}`,
            'approximated',
            part.at,
            `${part.written} is written as text, not as HTML`,
            'Values are always escaped. Move markup of the value into the template.',
          );
        return shown ?? '';
      }
      case 'block': {
        const made = names.text([part].filter(isTextPart), scope);
        if (made === undefined)
          note(
            'dropped',
            part.at,
            `${part.written} inside of a line is left out`,
            'Make a calculated variable for this part of the text.',
          );
        return made ?? '';
      }
    }
  };

  /** Statements as one line of our placeholders, without markup. */
  const line = (parts: readonly Statement[], scope: Scope): string =>
    parts.map((part) => (part.kind === 'text' ? plainBraces(part.text) : valueText(part, scope, 'text'))).join('');

  const lineOfNodes = (nodes: readonly Node[], scope: Scope): string =>
    nodes
      .map((node) => {
        switch (node.kind) {
          case 'text':
            return plainBraces(node.text);
          case 'value':
            return valueText(node, scope, 'text');
          case 'block':
            return blockText(node, scope);
          case 'element':
            return lineOfNodes(node.children, scope);
        }
      })
      .join('');

  const styleText = (styles: Styles, scope: Scope, at: Place): string =>
    [...styles]
      .flatMap(([name, value]) => {
        if (LOST_STYLES.test(name) || /^(?:inherit|initial|unset)$/.test(value)) return [];
        const text = filled(value, scope, at);
        return text === '' ? [] : [`${name}:${text.replaceAll('"', "'")}`];
      })
      .join(';');

  const tagOf = (node: Element, scope: Scope, extra?: Styles): string => {
    const kept = (ATTRIBUTES[node.tag] ?? ['align', 'dir', 'title']).flatMap((name) => {
      const value = node.attributes.get(name);
      if (value === undefined || (name === 'title' && value === '')) return [];
      const as = name === 'href' ? 'link' : name === 'src' || name === 'background' ? 'picture' : 'text';
      return [` ${name}="${escapedAttribute(filled(addressOf(value, as), scope, node.at, as))}"`];
    });
    const style = styleText(new Map([...(extra ?? []), ...node.styles]), scope, node.at);
    return `<${node.tag}${kept.join('')}${style === '' ? '' : ` style="${escapedAttribute(style)}"`}>`;
  };

  /** SendGrid writes some addresses with tags of its own. */
  const addressOf = (value: string, as: string): string =>
    as === 'link'
      ? value
          .trim()
          .replace(
            /^<%\s*asm_(?:global|group)_unsubscribe(?:_raw)?_url\s*%>$|^<%\s*asm_preferences(?:_raw)?_url\s*%>$|^\[unsubscribe\]$/,
            UNSUBSCRIBE,
          )
      : value;

  /** HTML of nodes, as content of a rich text or a fragment. */
  const html = (nodes: readonly Node[], scope: Scope): string =>
    nodes
      .map((node, at) => {
        names.spend(1);
        switch (node.kind) {
          case 'text':
            return escapedText(plainBraces(node.text.replace(/[ \t\r\n\f]+/g, ' '))).replaceAll('{ {', '&#123;&#123;');
          case 'value':
            return valueText(node, scope, 'text');
          case 'block':
            return blockText(node, scope);
          case 'element':
            return elementHtml(node, scope, at);
        }
      })
      .join('');

  const blockText = (node: Block<Node>, scope: Scope): string => {
    names.spend(sizeOf(node));
    const part = textPartOf(node);
    const shown = part && names.text([part], scope);
    if (shown !== undefined) return shown;
    note(
      'dropped',
      node.at,
      `${node.written} inside of a line stands without its condition or loop`,
      'Put this part of the text into a component of its own, inside of a conditional or loop.',
    );
    return html(node.body, names.enter(node, scope).scope);
  };

  const elementHtml = (node: Element, scope: Scope, _at: number): string => {
    const { tag } = node;
    if (isHidden(node)) return '';
    const inner = (): string => html(node.children, scope);
    if (!KEPT.has(tag)) {
      if (!HARMLESS.has(tag))
        names.noteOnce(
          `tag ${tag}`,
          'dropped',
          node.at,
          `<${tag.slice(0, 30)}> is left out; its text stays`,
          'Mails show no such element.',
        );
      return tag === 'label' || tag.includes(':') || HARMLESS.has(tag) ? inner() : ` ${inner()} `;
    }
    if (VOID.has(tag)) return tagOf(node, scope);
    return `${tagOf(node, scope, usualOf(node))}${inner()}</${tag}>`;
  };

  /** Styles that browsers give an element and our renderer gives in another size. */
  const usualOf = ({ tag, styles }: Element): Styles => {
    const usual = Object.hasOwn(USUAL, tag) ? USUAL[tag] : undefined;
    const out = new Map<string, string>();
    if (tag === 'a' && !styles.has('text-decoration')) return out;
    if (tag === 'li') out.set('margin', '0');
    if (usual === undefined) return out;
    const heading = /^h\d$/.test(tag);
    const has = (name: string): boolean => styles.has(name);
    if (heading && !has('font-size')) out.set('font-size', `${usual.size}em`);
    if (heading && !has('font-weight')) out.set('font-weight', 'bold');
    if (heading && !has('line-height')) out.set('line-height', 'inherit');
    out.set('margin', `${tag === 'p' || heading ? '' : ''}${usual.margin}em ${tag === 'blockquote' ? '40px' : '0'}`);
    if ((tag === 'ul' || tag === 'ol') && !has('padding')) out.set('padding', '0 0 0 40px');
    if (tag === 'blockquote') {
      if (!has('padding')) out.set('padding', '0');
      if (!has('border-left') && !has('border')) out.set('border-left', 'none');
    }
    return out;
  };

  const lookProps = (look: Look): Record<string, Json> => {
    const family = cssFontFamily(look.fontFamily);
    const color = cssColor(look.color);
    const lines = cssLineHeight(look.lineHeight === 'normal' ? NORMAL_LINES : look.lineHeight);
    return {
      ...(look.align === 'left' ? {} : { align: look.align }),
      ...(look.color === base.color || color === undefined ? {} : { color }),
      ...(look.fontSize === base.fontSize ? {} : { fontSize: rounded(look.fontSize) }),
      ...(look.fontFamily === base.fontFamily || family === undefined ? {} : { fontFamily: family }),
      ...(look.lineHeight === base.lineHeight || lines === undefined
        ? {}
        : { lineHeight: /^\d(\.\d+)?$/.test(lines) ? Number(lines) : lines }),
    };
  };

  const richText = (content: string, look: Look): Made[] =>
    content.trim() === ''
      ? []
      : [made('rich-text', { content: lettered(content.trim(), look), props: { padding: '0', ...lookProps(look) } })];

  /** HTML with the inherited styles of letters around it. */
  const lettered = (content: string, { letters }: Look): string => {
    if (letters.size === 0) return content;
    const tag = BLOCK_HTML.test(content) ? 'div' : 'span';
    return `<${tag} style="${escapedAttribute(lettersText(letters))}">${content}</${tag}>`;
  };

  /** A picture behind other things, which only a fragment of HTML shows. */
  const isFragment = (node: Element): boolean => {
    const isPictured = hasPicture(node);
    if (!isPictured && !node.attributes.has(FRAGMENT)) return false;
    if (loopOrBlock(node.children) === undefined) return true;
    if (isPictured)
      note(
        'dropped',
        node.at,
        `The picture behind <${node.tag}> is left out`,
        'It stands behind a conditional or a loop. Give the box a colour in the editor.',
      );
    return false;
  };

  const fragment = (nodes: readonly Node[], { scope, look }: Context): Made[] => {
    const content = html(nodes, scope).trim();
    if (content === '') return [];
    const lines = look.lineHeight === 'normal' ? 'normal' : look.lineHeight;
    const style = [
      look.fontFamily === base.fontFamily ? '' : `font-family:${look.fontFamily.replaceAll('"', "'")}`,
      look.fontSize === base.fontSize ? '' : `font-size:${rounded(look.fontSize)}px`,
      look.lineHeight === base.lineHeight ? '' : `line-height:${lines}`,
      look.color === base.color || holdsMark(look.color) ? '' : `color:${look.color}`,
      look.align === 'left' ? '' : `text-align:${look.align}`,
      lettersText(look.letters),
    ].filter((one) => one !== '');
    return [
      made('html-fragment', {
        content: style.length === 0 ? content : `<div style="${escapedAttribute(style.join(';'))}">${content}</div>`,
        props: { padding: '0' },
      }),
    ];
  };

  /** The nodes below each other. */
  const build = (nodes: readonly Node[], context: Context): Made[] => {
    const out: Made[] = [];
    let run: Node[] = [];
    let texts: Element[] = [];
    const { scope, look } = context;
    names.spend(nodes.reduce((sum, node) => sum + sizeOf(node), 0) / 4);
    const flushTexts = (): void => {
      if (texts.length > 0) out.push(...richText(html(texts, scope), look));
      texts = [];
    };
    const flush = (): void => {
      const line = trimmedRun(run);
      run = [];
      if (line.length === 0) return;
      flushTexts();
      out.push(...lineOf(line, context));
    };
    const seen = nodes.filter((node) => node.kind !== 'element' || !isHidden(node));
    for (let at = 0; at < seen.length; at += 1) {
      const node = seen[at]!;
      if (isInline(node)) {
        run.push(node);
        continue;
      }
      const beside = node.kind === 'element' ? besideOf(seen, at) : undefined;
      if (beside !== undefined) {
        flush();
        flushTexts();
        out.push(...columnsOf(beside.cells, context, true));
        at = beside.last;
        continue;
      }
      flush();
      if (node.kind === 'element' && isPlainText(node, context)) {
        texts.push(node);
        continue;
      }
      flushTexts();
      if (node.kind === 'block') out.push(...bandOfBlock(blockOf(node, context)));
      else if (node.kind === 'element') out.push(...elementOf(node, context));
    }
    flush();
    flushTexts();
    return out;
  };

  /** A paragraph or a list that a rich text shows as it is. */
  const isPlainText = (node: Element, context: Context): boolean =>
    TEXT_BLOCKS.has(node.tag) &&
    !hasOwnBox(node) &&
    isTextContent(node.children) &&
    toLift(node.children, context.scope) === undefined &&
    loopIn(node.children, context.scope) === undefined &&
    pictureIn([node]) === undefined &&
    buttonIn([node]) === undefined;

  const hasOwnBox = ({ styles }: Element): boolean =>
    backgroundOf(styles) !== undefined && styles.has('background-image');

  /** A line of text, or what stands alone in a line: a picture, a button, a block. */
  const lineOf = (line: readonly Node[], context: Context): Made[] => {
    const { scope, look } = context;
    const [only] = line;
    if (line.length === 1 && only?.kind === 'block') return blockOf(only, context);
    const picture = pictureIn(line);
    if (picture !== undefined) return imageOf(picture, context);
    const link = buttonIn(line);
    if (link !== undefined)
      return buttonOf(
        link,
        { padding: NO_SIDES, background: undefined, border: undefined, radius: 0, width: undefined, at: link.at },
        context,
      );
    const lifted = toLift(line, scope);
    if (lifted !== undefined) return variants(line, lifted, context, (nodes, inner) => lineOf(nodes, inner));
    const loop = loopIn(line, scope);
    if (loop !== undefined) {
      const at = line.indexOf(loop);
      if (at >= 0) {
        note(
          'approximated',
          loop.at,
          `${loop.written} inside of a line: its items stand below each other`,
          'Use a calculated text with join(), or a list.',
        );
        return [
          ...trimmedLine(line.slice(0, at), context),
          ...blockOf(loop, context),
          ...trimmedLine(line.slice(at + 1), context),
        ];
      }
    }
    return richText(html(line, scope), look);
  };
  const trimmedLine = (line: readonly Node[], context: Context): Made[] => {
    const rest = trimmedRun(line);
    return rest.length === 0 ? [] : lineOf(rest, context);
  };

  /** The first block in a line that no calculated text can say. */
  const toLift = (nodes: readonly Node[], scope: Scope): Block<Node> | undefined => {
    for (const node of nodes) {
      names.spend(1);
      if (node.kind === 'block') {
        names.spend(sizeOf(node));
        const part = textPartOf(node);
        if (names.enter(node, scope).kind === 'if' && (part === undefined || names.text([part], scope) === undefined))
          return node;
      }
      if (node.kind !== 'element') continue;
      const found = toLift(node.children, scope);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const loopIn = (nodes: readonly Node[], scope: Scope): Block<Node> | undefined => {
    for (const node of nodes) {
      names.spend(1);
      if (node.kind === 'block') {
        names.spend(sizeOf(node));
        const part = textPartOf(node);
        if (names.enter(node, scope).kind === 'each' && (part === undefined || names.text([part], scope) === undefined))
          return node;
      }
      const found = node.kind === 'element' ? loopIn(node.children, scope) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  };

  /** A conditional around two copies of what stands around a block. */
  const variants = (
    nodes: readonly Node[],
    block: Block<Node>,
    context: Context,
    make: (nodes: readonly Node[], inner: Context) => Made[],
  ): Made[] => {
    const condition = names.condition(block, context.scope);
    const isIn = names.enter(block, context.scope).scope;
    const body = isIn.path === context.scope.path ? block.body : undefined;
    if (
      condition === undefined ||
      body === undefined ||
      context.depth.conditions >= Math.min(CONDITIONS_MAX, VARIANTS_MAX)
    ) {
      note(
        'dropped',
        block.at,
        `${block.written} inside of a line stands without its condition`,
        'Put this part of the text into a conditional of its own.',
      );
      return make(withBlock(nodes, block, block.body), context);
    }
    const inner = { ...context, depth: { ...context.depth, conditions: context.depth.conditions + 1 } };
    return conditional(
      condition,
      make(withBlock(nodes, block, body), inner),
      make(withBlock(nodes, block, block.other), inner),
    );
  };

  const conditional = (
    condition: NonNullable<ReturnType<Names['condition']>>,
    yes: readonly Made[],
    no: readonly Made[],
  ): Made[] => {
    const [children, elseChildren] = condition.isNegated ? [no, yes] : [yes, no];
    if (children.length === 0 && elseChildren.length === 0) return [];
    return [
      made('conditional', {
        props: { ...condition.props },
        children,
        ...(elseChildren.length === 0 ? {} : { elseChildren }),
      }),
    ];
  };

  /** A block between elements. */
  const blockOf = (
    block: Block<Node>,
    context: Context,
    make: (nodes: readonly Node[], inner: Context) => Made[] = build,
  ): Made[] => {
    const { scope, depth } = context;
    const entered = names.enter(block, scope);
    const without = (reason: string): Made[] => {
      note(
        'dropped',
        block.at,
        `${block.written} ${reason}, so its content is always shown`,
        'Give it a condition or a data source in the editor.',
      );
      return [...make(block.body, { ...context, scope: entered.scope }), ...make(block.other, context)];
    };
    if (entered.kind === 'each') {
      if (!names.isLoopable(entered.usage)) return without('goes through the members of an object');
      if (depth.loops >= LOOPS_MAX) return without(`is the loop ${LOOPS_MAX + 1} deep`);
      const children = make(block.body, {
        ...context,
        scope: entered.scope,
        depth: { ...depth, loops: depth.loops + 1 },
      });
      const { loop } = entered.scope;
      const source = pathText(entered.source);
      const loops: Made[] =
        children.length === 0 || loop === undefined
          ? []
          : [
              made('loop', {
                props: {
                  dataSource: source,
                  itemVariable: loop.item,
                  ...(usesName(children, loop.index) ? { indexVariable: loop.index } : {}),
                },
                children,
              }),
            ];
      const other = make(block.other, context);
      return other.length === 0
        ? loops
        : conditional(
            { props: { condition: `${source}.length`, operator: '>', value: 0 }, isNegated: false },
            loops,
            other,
          );
    }
    const condition = names.condition(block, scope);
    if (condition === undefined) return without('has a condition that no component or calculated variable says');
    if (depth.conditions >= CONDITIONS_MAX) return without(`is the condition ${CONDITIONS_MAX + 1} deep`);
    const inner = { ...depth, conditions: depth.conditions + 1 };
    return conditional(
      condition,
      make(block.body, { ...context, scope: entered.scope, depth: inner }),
      make(block.other, { ...context, depth: inner }),
    );
  };

  const elementOf = (node: Element, outer: Context): Made[] => {
    const { tag } = node;
    const context = { ...outer, look: lookIn(node, outer.look) };
    if (tag === 'hr') return [dividerOf(node, outer)];
    if (tag === 'table') return tableOf(node, outer);
    if (tag === 'img') return imageOf({ image: node, link: undefined }, outer);
    const link = buttonIn([node]);
    if (link !== undefined && link !== node)
      return boxed(
        withMargins(boxOf(node, context), node, context),
        buttonOf(
          link,
          { ...boxOf(link, context), padding: NO_SIDES, background: undefined, border: undefined, radius: 0 },
          context,
        ),
        outer,
      );
    if (TEXT_BLOCKS.has(tag) && isTextContent(node.children)) {
      const picture = pictureIn([node]);
      if (picture !== undefined)
        return boxed(withMargins(boxOf(node, context), node, context), imageOf(picture, context), outer);
      const list = tag === 'ul' || tag === 'ol' ? listOf(node, outer) : undefined;
      if (list !== undefined) return list;
      const lifted = toLift(node.children, outer.scope);
      if (lifted !== undefined) return variants([node], lifted, outer, (nodes, inner) => build(nodes, inner));
      return boxed(withMargins(boxOf(node, context), node, context), build(node.children, context), outer);
    }
    if (VOID.has(tag)) return [];
    if (isSpace(node)) return spacerOf(node, outer);
    if (isFragment(node)) return fragment([node], outer);
    if (!KEPT.has(tag) && !HARMLESS.has(tag) && !INLINE.has(tag))
      names.noteOnce(
        `tag ${tag}`,
        'dropped',
        node.at,
        `<${tag.slice(0, 30)}> is left out; what stands in it stays`,
        'Mails show no such element.',
      );
    if (tag === 'a' && node.attributes.has('href')) return fragment([node], outer);
    if (node.attributes.has(BAND)) {
      const box = boxOf(node, context);
      const children = build(node.children, context);
      const isPlain = box.border === undefined && box.radius === 0;
      return isPlain ? [{ ...framed(box, outer, children), isBand: true }] : boxed(box, children, outer);
    }
    return linedBox(
      node,
      withMargins(boxOf(node, context), node, context),
      build(node.children, context),
      outer,
    );
  };

  /** A list with one item for each of a data source. */
  const listOf = (node: Element, { scope, look }: Context): Made[] | undefined => {
    const items = node.children.filter((child) => !isBlank(child));
    const [only] = items;
    if (items.length !== 1 || only?.kind !== 'block' || only.other.length > 0) return undefined;
    const entered = names.enter(only, scope);
    const inside = only.body.filter((child) => !isBlank(child));
    const [item] = inside;
    if (entered.kind !== 'each' || inside.length !== 1 || item?.kind !== 'element' || item.tag !== 'li')
      return undefined;
    if (!isTextContent(item.children) || toLift(item.children, entered.scope) !== undefined) return undefined;
    const { loop } = entered.scope;
    const content = lettered(html(item.children, entered.scope).trim(), lookIn(item, lookIn(node, look)));
    if (loop === undefined || content === '') return undefined;
    return [
      made('list', {
        content,
        props: {
          dataSource: pathText(entered.source),
          itemVariable: loop.item,
          ...(node.tag === 'ol' ? { ordered: true } : {}),
          ...lookProps(lookIn(node, look)),
        },
      }),
    ];
  };

  const dividerOf = (node: Element, { look }: Context): Made => {
    const [, width = '1px', style = 'solid', color = '#e5e7eb'] =
      /^(\S+) (\S+) (.+)$/.exec(cssBorder(node.styles.get('border-top') ?? node.styles.get('border') ?? '') ?? '') ??
      [];
    void look;
    const margin = marginOf(node, 8);
    const written = cssLength(node.styles.get('width') ?? node.attributes.get('width') ?? '');
    return made('divider', {
      props: {
        color,
        ...(written === undefined || written === '0' || written === '100%' || !/(?:px|%)$/.test(written)
          ? {}
          : { width: written }),
        ...(width === '1px' ? {} : { thickness: width }),
        ...(style === 'solid' || style === 'none' ? {} : { style }),
        margin: boxText(margin),
      },
    });
  };

  const spacerOf = (node: Element, context: Context): Made[] => {
    const height = heightOf(node);
    if (height === undefined || height === 0) return [];
    void context;
    return [made('spacer', { props: { height } })];
  };

  const imageOf = ({ image, link }: Picture, { scope, look }: Context): Made[] => {
    const src = filled(image.attributes.get('src') ?? '', scope, image.at, 'picture');
    if (src === '') return [];
    const alt = filled(image.attributes.get('alt') ?? '', scope, image.at);
    const width =
      lengthOf(image.styles.get('width') ?? image.attributes.get('width'), true) ??
      lengthOf(image.styles.get('max-width'), false);
    const height = lengthOf(image.styles.get('height') ?? image.attributes.get('height'), false);
    const radius = lengthOf(image.styles.get('border-radius'), false);
    const href =
      link === undefined ? '' : filled(addressOf(link.attributes.get('href') ?? '', 'link'), scope, link.at, 'link');
    const isCentred = /auto/.test(image.styles.get('margin') ?? '') || image.attributes.get('align') === 'center';
    const align = isCentred ? 'center' : look.align;
    return [
      made('image', {
        props: {
          src,
          ...(alt === '' ? {} : { alt }),
          ...(width === undefined ? {} : { width }),
          ...(height === undefined || typeof height === 'string' ? {} : { height }),
          align,
          ...(href === '' ? {} : { href }),
          ...(radius === undefined ? {} : { borderRadius: radius }),
          padding: boxText(sidesIn(image.styles, 'margin', look.fontSize)),
        },
      }),
    ];
  };

  const buttonOf = (link: Element, around: Box, { scope, look }: Context): Made[] => {
    const inner = lookIn(link, look);
    const own = boxOf(link, { scope, look, depth: NO_DEPTH });
    const background = own.background ?? around.background;
    const href = filled(addressOf(link.attributes.get('href') ?? '', 'link'), scope, link.at, 'link');
    const weight = inner.letters.get('font-weight') ?? 'normal';
    const label = html(link.children, scope).trim();
    if (label === '') return [];
    const extra = [
      weight === '600' ||
      (/^h?\d|bold/.test(weight) && weight !== '400' && weight !== 'normal' && weight !== '500' && weight !== '300')
        ? ''
        : `font-weight:${weight}`,
      ...['text-transform', 'letter-spacing', 'font-style'].map((name) =>
        inner.letters.has(name) ? `${name}:${inner.letters.get(name)}` : '',
      ),
    ].filter((one) => one !== '' && !holdsMark(one));
    const color = cssColor(inner.color) ?? '#000000';
    const sides = own.padding.map((side, at) => side + around.padding[at]!) as unknown as Sides;
    const [padding, border] = buttonSides(link, sides, own.border ?? around.border, background);
    return [
      made('button', {
        content: extra.length === 0 ? label : `<span style="${escapedAttribute(extra.join(';'))}">${label}</span>`,
        props: {
          href: href === '' ? '#top' : href,
          backgroundColor: background ?? 'transparent',
          color,
          borderRadius: Math.max(own.radius, around.radius),
          padding: boxText(padding),
          ...(border === undefined || border === 'none' ? {} : { border }),
          align: look.align,
          ...((/block$/.test(link.styles.get('display') ?? '') && link.styles.get('display') === 'block') ||
          link.styles.get('width') === '100%'
            ? { fullWidth: true }
            : {}),
          ...(inner.fontSize === 16 ? {} : { fontSize: rounded(inner.fontSize) }),
          ...(inner.fontFamily === base.fontFamily || cssFontFamily(inner.fontFamily) === undefined
            ? {}
            : { fontFamily: cssFontFamily(inner.fontFamily)! }),
        },
      }),
    ];
  };

  /** Puts a box around components: their own paddings where that is enough, else a container. */
  const boxed = (box: Box, children: readonly Made[], { look, depth }: Context): Made[] => {
    if (children.length === 0) return [];
    const { padding, border, radius } = box;
    const background = box.background === look.background ? undefined : box.background;
    const width = box.width === '100%' ? undefined : box.width;
    const [only] = children;
    const place = width === undefined || box.place === 'left' ? undefined : box.place;
    const isFramed = border !== undefined || (radius > 0 && background !== undefined) || width !== undefined;
    if (!isFramed && background === undefined) {
      if (padding.every((side) => side === 0)) return [...children];
      const room = withRoom(children, padding);
      if (room !== undefined) return [...room];
    }
    if (
      !isFramed &&
      background !== undefined &&
      children.length === 1 &&
      only?.type === 'rich-text' &&
      only.props?.['backgroundColor'] === undefined
    )
      return [
        {
          ...only,
          props: {
            ...only.props,
            backgroundColor: background,
            padding: boxText(addedSides(sidesOf(only.props?.['padding']), padding)),
          },
        },
      ];
    if (
      children.length === 1 &&
      only?.type === 'container' &&
      !isFramed &&
      only.props?.['width'] === undefined &&
      only.room === undefined
    ) {
      const inner = only.props ?? {};
      const isPlain =
        inner['backgroundColor'] === undefined && inner['border'] === undefined && inner['borderRadius'] === undefined;
      if (isPlain || (background === undefined && padding.every((side) => side === 0)))
        return [
          {
            ...only,
            props: {
              ...inner,
              ...(background === undefined ? {} : { backgroundColor: background }),
              padding: boxText(addedSides(sidesOf(inner['padding']), padding)),
            },
          },
        ];
    }
    if (depth.boxes > BOXES_MAX && !isFramed && background === undefined) return [...children];
    return [framed({ ...box, background, width, place }, { look }, children)];
  };

  const framed = (
    { padding, background, border, radius, width, place }: Box,
    { look }: Pick<Context, 'look'>,
    children: readonly Made[],
  ): Made =>
    made('container', {
      props: {
        padding: boxText(padding),
        ...(background === undefined || background === look.background ? {} : { backgroundColor: background }),
        ...(border === undefined ? {} : { border }),
        ...(radius === 0 ? {} : { borderRadius: radius }),
        ...(width === undefined ? {} : { width }),
        ...(place === undefined ? {} : { align: place }),
      },
      children,
    });

  const rowsOf = (table: Element): readonly Node[] =>
    table.children.flatMap((child) =>
      child.kind === 'element' && /^t(?:head|body|foot)$/.test(child.tag)
        ? child.children.filter((row) => !isBlank(row))
        : isBlank(child)
          ? []
          : [child],
    );
  const cellsOf = (row: Element): readonly Node[] => row.children.filter((child) => !isBlank(child));

  const tableOf = (table: Element, outer: Context): Made[] => {
    const look = lookIn(table, outer.look);
    const box = boxOf(table, { ...outer, look: outer.look });
    const context = { ...outer, look, depth: { ...outer.depth, boxes: outer.depth.boxes + 1 } };
    const rows = rowsOf(table);
    if (rows.length === 0) return [];
    const place =
      alignOf(table.attributes.get('align')) ?? placeOf(table.styles) ?? outer.look.boxes;
    const asButton = buttonTable(table, context, place);
    if (asButton !== undefined) return withMargin(asButton, marginOf(table, 0));
    if (isFragment(table)) return fragment([table], outer);
    const isData = isDataTable(rows);
    const isSimple = loopOrBlock(table.children) === undefined;
    if (isSimple && (isData || isCoarse || rows.some(isOdd))) return fragment([table], outer);
    const inner = isData ? dataRows(table, rows, context) : rows.flatMap((row) => rowOf(table, row, context));
    const width =
      isSimpleWidth(box.width) && (place !== 'left' || parseFloat(box.width) >= 300) ? box.width : undefined;
    const padding = table.styles.get('border-collapse') === 'collapse' ? NO_SIDES : box.padding;
    const lined = linedBox(table, { ...box, width, padding, place }, inner, outer);
    return boxed({ ...NO_BOX, padding: marginOf(table, 0), at: table.at }, lined, outer);
  };

  /** A box with the lines that stand at its top or bottom alone, which a container has not. */
  const linedBox = (node: Element, box: Box, children: readonly Made[], context: Context): Made[] => {
    const made = boxed(box, children, context);
    return made.length === 0 ? made : [...lineAt(node, 'border-top'), ...made, ...lineAt(node, 'border-bottom')];
  };

  /** A row of a table that stands there for the layout. */
  const rowOf = (table: Element, row: Node, context: Context): Made[] => {
    if (row.kind === 'block')
      return blockOf(row, context, (nodes, inner) =>
        nodes.filter((one) => !isBlank(one)).flatMap((one) => rowOf(table, one, inner)),
      );
    if (row.kind !== 'element') return build([row], context);
    if (row.tag !== 'tr') return elementOf(row, context);
    const cells = cellsOf(row);
    const look = lookIn(row, context.look);
    const inner = { ...context, look: { ...look, background: context.look.background } };
    const rowBackground = backgroundOf(row.styles) ?? colorIn(row.attributes.get('bgcolor'));
    const [cell] = cells;
    const made =
      cells.length === 1 && cell?.kind === 'element'
        ? cellOf(table, cell, inner)
        : cells.every((one) => one.kind === 'element') && cells.length > 1 && cells.length <= COLUMNS_MAX
          ? columnsOf(
              cells.map((one) => ({ cell: one as Element, table })),
              inner,
              false,
            )
          : cells.flatMap((one) =>
              one.kind === 'element'
                ? cellOf(table, one, inner)
                : one.kind === 'block'
                  ? blockOf(one, inner, (nodes, deep) =>
                      nodes.flatMap((child) => (child.kind === 'element' ? cellOf(table, child, deep) : [])),
                    )
                  : [],
            );
    return rowBackground === undefined
      ? made
      : boxed({ ...NO_BOX, background: rowBackground, at: row.at }, made, context);
  };

  const cellOf = (table: Element, cell: Element, outer: Context): Made[] => {
    const look = lookIn(cell, outer.look);
    const box = boxOf(cell, outer);
    const cellPadding = lengthOf(table.attributes.get('cellpadding'), false);
    const own =
      hasPadding(cell.styles) || typeof cellPadding !== 'number'
        ? box.padding
        : ([cellPadding, cellPadding, cellPadding, cellPadding] as const);
    const inner = { ...outer, look: { ...look, background: box.background ?? outer.look.background } };
    if (isFragment(cell)) return fragment([asTable(cell)], outer);
    if (isSpace(cell)) {
      const rule = ruleOf(cell, outer);
      return rule ?? boxed({ ...NO_BOX, background: box.background, at: cell.at }, spacerOf(cell, outer), outer);
    }
    const link = buttonIn(cell.children);
    if (
      link !== undefined &&
      box.background !== undefined &&
      box.background !== outer.look.background &&
      backgroundOf(link.styles) === undefined
    )
      return buttonOf(link, { ...box, padding: own }, { ...inner, look: { ...inner.look, align: outer.look.align } });
    const children = build(cell.children, inner);
    return linedBox(cell, { ...box, padding: own, width: undefined }, children, outer);
  };

  const lineAt = (node: Element, side: 'border-top' | 'border-bottom'): Made[] => {
    const written = node.styles.get(side);
    const border = cssBorder(written ?? '');
    const [, width = '', style = '', color = ''] = /^(\S+) (\S+) (.+)$/.exec(border ?? '') ?? [];
    if (written === undefined || border === undefined || style === '' || style === 'none' || parseFloat(width) === 0)
      return [];
    return [
      made('divider', { props: { color, thickness: width, ...(style === 'solid' ? {} : { style }), margin: '0' } }),
    ];
  };

  /** An empty cell with a border is a line. */
  const ruleOf = (cell: Element, context: Context): Made[] | undefined => {
    const lines = [...lineAt(cell, 'border-top'), ...lineAt(cell, 'border-bottom')].slice(0, 1);
    return lines.length === 0
      ? undefined
      : boxed({ ...boxOf(cell, context), background: undefined, border: undefined }, lines, context);
  };

  const columnsOf = (
    cells: readonly Readonly<{ cell: Element; table?: Element }>[],
    context: Context,
    stacks: boolean,
  ): Made[] => {
    const widths = widthsOf(cells.map(({ cell }) => cell));
    const children = cells.map(({ cell, table }) => {
      const inner = { ...context, depth: { ...context.depth, boxes: context.depth.boxes + 1 } };
      const all = table === undefined ? elementOf(withoutWidth(cell), inner) : cellOf(table, cell, inner);
      const [only] = all;
      return all.length === 1 && only !== undefined && only.room === undefined
        ? only
        : made('container', { props: { padding: '0' }, children: all });
    });
    if (isCoarse && table(cells) !== undefined && loopOrBlock(cells.flatMap(({ cell }) => cell.children)) === undefined)
      return fragment(
        [
          rowTable(
            table(cells)!,
            cells.map(({ cell }) => cell),
            widths,
          ),
        ],
        context,
      );
    const valign = mostOf(
      cells.map(
        ({ cell }) =>
          cell.attributes.get('valign') ?? cell.styles.get('vertical-align') ?? (stacks ? 'top' : 'middle'),
      ),
    );
    return [
      made('columns', {
        props: {
          widths: [...widths],
          gap: 0,
          verticalAlign: /^(?:top|middle|bottom)$/.test(valign) ? valign : 'top',
          ...(stacks ? {} : { stackOnMobile: false }),
        },
        children,
      }),
    ];
  };
  const table = (cells: readonly Readonly<{ table?: Element }>[]): Element | undefined => cells[0]?.table;

  /** Rows of a table with data: those without blocks as one fragment, each with the widths of the whole. */
  const dataRows = (table: Element, rows: readonly Node[], context: Context): Made[] => {
    const flat = rowsIn(rows);
    const most = Math.max(...flat.map((row) => columnCount(row)), 1);
    const model =
      flat.find(
        (row) =>
          columnCount(row) === most &&
          cellsOf(row).length === most &&
          cellsOf(row).every((cell) => cell.kind === 'element' && statedWidth(cell) !== undefined),
      ) ?? flat.find((row) => cellsOf(row).length === most);
    const widths =
      model === undefined
        ? []
        : widthsOf(
            cellsOf(model).filter((cell) => cell.kind === 'element'),
            most === 2 ? ['70%', '30%'] : undefined,
          );
    const out: Made[] = [];
    const make = (all: readonly Node[], inner: Context): Made[] => {
      const parts: Made[] = [];
      let pending: Element[] = [];
      const flush = (): void => {
        if (pending.length > 0) parts.push(...fragment([rowsTable(table, pending, widths)], inner));
        pending = [];
      };
      for (const row of all) {
        if (row.kind === 'element' && row.tag === 'tr') {
          const lifted = toLift(row.children, inner.scope);
          if (lifted === undefined) {
            pending.push(row);
            continue;
          }
          flush();
          parts.push(...variants([row], lifted, inner, make));
        } else if (row.kind === 'block') {
          flush();
          parts.push(
            ...blockOf(row, inner, (nodes, deep) =>
              make(
                nodes.filter((node) => !isBlank(node)),
                deep,
              ),
            ),
          );
        } else if (row.kind === 'element') {
          flush();
          parts.push(...elementOf(row, inner));
        }
      }
      flush();
      return parts;
    };
    out.push(...make(rows, context));
    return out;
  };

  const buttonTable = (table: Element, context: Context, place: Look['align']): Made[] | undefined => {
    const cell = onlyCell(table);
    if (cell === undefined) return undefined;
    const link = buttonIn(cell.children) ?? onlyLink(cell.children);
    if (link === undefined) {
      const deeper = onlyTable(cell.children);
      return deeper !== undefined && !hasFrame(cell)
        ? buttonTable(
            deeper,
            { ...context, look: lookIn(cell, context.look) },
            alignOf(deeper.attributes.get('align')) ??
              placeOf(deeper.styles) ??
              (isWholeWidth(table) ? lookIn(cell, context.look).boxes : place),
          )
        : undefined;
    }
    const box = boxOf(cell, context);
    const outer = boxOf(table, context);
    const ownBackground = backgroundOf(link.styles);
    const background = box.background ?? outer.background;
    if (ownBackground === undefined && (background === undefined || background === context.look.background))
      return undefined;
    const isPageWide = ownBackground !== undefined && background !== undefined && background !== ownBackground;
    if (isPageWide) return undefined;
    const inCell = lookIn(cell, context.look);
    const look = { ...inCell, align: isWholeWidth(table) ? inCell.align : place };
    const isFilled = ownBackground === undefined || background !== undefined;
    return buttonOf(
      link,
      {
        ...box,
        background,
        border: box.border ?? outer.border,
        radius: Math.max(box.radius, outer.radius),
        padding: isFilled ? box.padding : NO_SIDES,
      },
      { ...context, look },
    );
  };

  const withMargin = (all: Made[], margin: Sides): Made[] =>
    margin.every((side) => side === 0) ? all : [...(withRoom(all, margin) ?? all)];

  return {
    made,
    filled,
    line,
    lineOfNodes,
    html,
    build,
    boxed,
    richText,
    fragment,
    imageOf,
    buttonOf,
    columnsOf,
    blockOf,
    lookProps,
  };
};

const BLOCK_HTML = new RegExp(`<(?:${[...TEXT_BLOCKS, 'div', 'table', 'hr'].join('|')})[ >]`);
const LETTERS = ['font-weight', 'font-style', 'letter-spacing', 'text-transform'] as const;
const PLAIN_LETTERS: ReadonlySet<string> = new Set(['normal', 'none', '400', 'inherit', 'initial', 'unset', '0', '0px']);
const lettersText = (letters: Styles): string => [...letters].map(([name, value]) => `${name}:${value}`).join(';');

/** The styles of letters that the children of an element inherit. */
const lettersIn = ({ styles, tag }: Pick<Element, 'styles' | 'tag'>, outer: Styles): Styles => {
  if (tag !== 'th' && !LETTERS.some((name) => styles.has(name))) return outer;
  const inner = new Map(outer);
  if (tag === 'th') inner.set('font-weight', 'bold');
  for (const name of LETTERS) {
    const value = styles.get(name);
    if (value === undefined || holdsMark(value) || !/^[\w. -]{1,30}$/.test(value)) continue;
    if (PLAIN_LETTERS.has(value)) inner.delete(name);
    else inner.set(name, value);
  }
  return inner;
};

/** The side to which automatic margins move a box. */
const placeOf = (styles: Styles): Look['align'] | undefined => {
  const [, right = '', , left = right] = (styles.get('margin') ?? '').split(/\s+/).slice(0, 4);
  const isAuto = (side: string, short: string): boolean => (styles.get(`margin-${side}`) ?? short) === 'auto';
  if (isAuto('left', left)) return isAuto('right', right) ? 'center' : 'right';
  return undefined;
};
const isWholeWidth = ({ styles, attributes }: Element): boolean =>
  (styles.get('width') ?? attributes.get('width')) === '100%';

const mostOf = (values: readonly string[]): string =>
  values.reduce(
    (most, one) =>
      values.filter((value) => value === one).length > values.filter((value) => value === most).length ? one : most,
    values[0] ?? 'top',
  );

/** A component whose texts stand at the left within a component that aligns them otherwise. */
export const toTheLeft = (one: Made): Made => {
  switch (one.type) {
    case 'rich-text':
    case 'list':
      return one.props?.['align'] === undefined ? { ...one, props: { ...one.props, align: 'left' } } : one;
    case 'html-fragment':
      return { ...one, content: `<div style="text-align:left">${one.content ?? ''}</div>` };
    default:
      return one.props?.['align'] !== undefined
        ? one
        : {
            ...one,
            ...(one.children === undefined ? {} : { children: one.children.map(toTheLeft) }),
            ...(one.elseChildren === undefined ? {} : { elseChildren: one.elseChildren.map(toTheLeft) }),
          };
  }
};

/** A conditional or a loop of sections of one colour is a section of that colour, so that no gap parts them. */
const bandOfBlock = (all: Made[]): Made[] => {
  const bands = all.flatMap(({ children = [], elseChildren = [] }) => [...children, ...elseChildren]);
  const [color] = bands.map(({ props }) => props?.['backgroundColor']);
  if (color === undefined || !bands.every(({ isBand, props }) => isBand === true && props?.['backgroundColor'] === color))
    return all;
  const bare = ({ props: { backgroundColor: _, ...props } = {}, ...one }: Made): Made => ({ ...one, props });
  return all.map((one) => ({
    id: `band-of-${one.id}`,
    type: 'container',
    isBand: true,
    props: { padding: '0', backgroundColor: color },
    children: [
      {
        ...one,
        children: (one.children ?? []).map(bare),
        ...(one.elseChildren === undefined ? {} : { elseChildren: one.elseChildren.map(bare) }),
      },
    ],
  }));
};

/** Elements without a look of their own. */
const HARMLESS = new Set(
  'html body head o:p thead tbody tfoot center label nav aside details summary picture bdo font'.split(' '),
);
const UNSUBSCRIBE = '{{__UNSUBSCRIBE_URL__}}';
export const NO_SIDES: Sides = [0, 0, 0, 0];
export const NO_BOX: Box = {
  padding: NO_SIDES,
  background: undefined,
  border: undefined,
  radius: 0,
  width: undefined,
  at: { line: 1, column: 1 },
};

type Picture = Readonly<{ image: Element; link: Element | undefined }>;

const isTextPart = (part: Statement): part is TextPart => part.kind !== 'unknown';

/** Braces of a text that are no placeholder. */
const plainBraces = (text: string): string => (text.includes(UNSUBSCRIBE) ? text : text.replaceAll('{{', '{ {'));
const escapedText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\u00a0', '&nbsp;');
const escapedAttribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const BLANK = /^(?:[ \t\r\n\f\u200b\u200c\ufeff]|\u200d)*$/;
export const isBlank = (node: Node): boolean => node.kind === 'text' && BLANK.test(node.text);
const isBreak = (node: Node): boolean => node.kind === 'element' && node.tag === 'br';

const trimmedRun = (run: readonly Node[]): readonly Node[] => {
  const first = run.findIndex((node) => !isBlank(node));
  const last = run.findLastIndex((node) => !isBlank(node));
  return first < 0 ? [] : run.slice(first, last + 1);
};

/** Nodes that stand in a line. */
export const isInline = (node: Node): boolean => {
  switch (node.kind) {
    case 'text':
    case 'value':
      return true;
    case 'block':
      return [...node.body, ...node.other].every(isInline);
    case 'element':
      return (
        INLINE.has(node.tag) &&
        (node.styles.get('display') !== 'block' || node.tag === 'a' || node.tag === 'img') &&
        node.children.every(isInline)
      );
  }
};

/** Lines, lists and paragraphs, without boxes and tables. */
const isTextContent = (nodes: readonly Node[]): boolean =>
  nodes.every((node) =>
    node.kind === 'block'
      ? isTextContent(node.body) && isTextContent(node.other)
      : node.kind !== 'element' ||
        ((INLINE.has(node.tag) || TEXT_BLOCKS.has(node.tag) || /^(?:li|dt|dd)$/.test(node.tag)) &&
          isTextContent(node.children)),
  );

export const isHidden = ({ styles, attributes }: Element): boolean =>
  styles.get('display') === 'none' ||
  styles.get('mso-hide') === 'all' ||
  styles.get('visibility') === 'hidden' ||
  attributes.has('hidden') ||
  /^0(?:px)?$/.test(styles.get('max-height') ?? '');

/** Nodes in a node, itself included. They are counted once. */
const sizeOf = (node: Node): number => {
  if (node.kind === 'text' || node.kind === 'value') return 1;
  const known = sizes.get(node);
  if (known !== undefined) return known;
  const inner = node.kind === 'block' ? [...node.body, ...node.other] : node.children;
  const size = inner.reduce((sum, one) => sum + sizeOf(one), 1);
  sizes.set(node, size);
  return size;
};
const sizes = new WeakMap<Node, number>();

const textPartOf = (node: Node): TextPart | undefined => {
  switch (node.kind) {
    case 'text':
      return { ...node, text: node.text.replace(/[ \t\r\n\f]+/g, ' ') };
    case 'value':
      return node;
    case 'element':
      return undefined;
    case 'block': {
      const [body, other] = [node.body.map(textPartOf), node.other.map(textPartOf)];
      const isWhole = (parts: readonly (TextPart | undefined)[]): parts is readonly TextPart[] =>
        !parts.includes(undefined);
      return isWhole(body) && isWhole(other) ? { ...node, body, other } : undefined;
    }
  }
};

const withBlock = (nodes: readonly Node[], block: Block<Node>, instead: readonly Node[]): readonly Node[] =>
  nodes.flatMap((node) =>
    node === block
      ? instead
      : node.kind === 'element'
        ? [{ ...node, children: withBlock(node.children, block, instead) }]
        : [node],
  );

const loopOrBlock = (nodes: readonly Node[]): Block<Node> | undefined => {
  for (const node of nodes) {
    if (node.kind === 'block') return node;
    const found = node.kind === 'element' ? loopOrBlock(node.children) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};

const seenOf = (nodes: readonly Node[]): readonly Node[] => nodes.filter((node) => !isBlank(node) && !isBreak(node));

/** The picture that is all of a line, and the link around it. */
const pictureIn = (nodes: readonly Node[]): Picture | undefined => {
  const seen = seenOf(nodes);
  const [only] = seen;
  if (seen.length !== 1 || only?.kind !== 'element') return undefined;
  if (only.tag === 'img') return { image: only, link: undefined };
  if (!INLINE.has(only.tag) && !TEXT_BLOCKS.has(only.tag)) return undefined;
  const inner = pictureIn(only.children);
  return inner === undefined || only.tag !== 'a' ? inner : { ...inner, link: inner.link ?? only };
};

/** The link that is all of a line and looks like a button. */
const buttonIn = (nodes: readonly Node[]): Element | undefined => {
  const link = onlyLink(nodes);
  if (link === undefined || !link.attributes.has('href')) return undefined;
  const background = backgroundOf(link.styles);
  const hasRoom = hasPadding(link.styles) || link.styles.has('border-top') || link.styles.has('line-height');
  const isFramed =
    cssBorder(link.styles.get('border') ?? '') !== undefined &&
    link.styles.get('border') !== 'none' &&
    link.styles.has('border') &&
    !/^0/.test(link.styles.get('border') ?? '');
  return (background !== undefined && background !== 'transparent' && hasRoom) ||
    (isFramed && hasPadding(link.styles)) ||
    (/block/.test(link.styles.get('display') ?? '') && /[1-9]\d*px [1-9]/.test(link.styles.get('padding') ?? ''))
    ? link
    : undefined;
};
const onlyLink = (nodes: readonly Node[]): Element | undefined => {
  const seen = seenOf(nodes);
  const [only] = seen;
  if (seen.length !== 1 || only?.kind !== 'element') return undefined;
  if (only.tag === 'a') return isInline(only) && pictureIn([only]) === undefined ? only : undefined;
  return /^(?:p|div|center|span|strong|b)$/.test(only.tag) && !isSimpleWidth(only.styles.get('width'))
    ? onlyLink(only.children)
    : undefined;
};
const onlyTable = (nodes: readonly Node[]): Element | undefined => {
  const seen = seenOf(nodes);
  const [only] = seen;
  return seen.length === 1 && only?.kind === 'element' && only.tag === 'table' ? only : undefined;
};
const onlyCell = (table: Element): Element | undefined => {
  let one: readonly Node[] = table.children.filter((node) => !isBlank(node));
  for (let step = 0; step < 3; step += 1) {
    const [only] = one;
    if (one.length !== 1 || only?.kind !== 'element') return undefined;
    if (only.tag === 'td' || only.tag === 'th') return only;
    if (!/^(?:tbody|tr)$/.test(only.tag)) return undefined;
    one = only.children.filter((node) => !isBlank(node));
  }
  const [only] = one;
  return one.length === 1 && only?.kind === 'element' && /^t[dh]$/.test(only.tag) ? only : undefined;
};

const isSpace = (node: Element): boolean =>
  node.children.every(
    (child) => child.kind === 'text' && /^(?:[\s\u00a0\u200c\u200b\u200a\u2007\ufeff]|\u034f)*$/.test(child.text),
  );

const rowsIn = (rows: readonly Node[]): readonly Element[] =>
  rows.flatMap((row) =>
    row.kind === 'element' && row.tag === 'tr'
      ? [row]
      : row.kind === 'block'
        ? rowsIn([...row.body, ...row.other])
        : [],
  );
const elementsIn = (nodes: readonly Node[]): readonly Element[] => nodes.filter((node) => node.kind === 'element');
const columnCount = (row: Element): number =>
  elementsIn(row.children).reduce(
    (sum, cell) => sum + Math.min(Math.max(Number(cell.attributes.get('colspan') ?? 1) || 1, 1), 20),
    0,
  );
const isOdd = (row: Node): boolean =>
  row.kind === 'element' && row.tag === 'tr' && elementsIn(row.children).length > COLUMNS_MAX;

/** True where cells stand in columns across several rows. */
const isDataTable = (rows: readonly Node[]): boolean => {
  const flat = rowsIn(rows);
  if (flat.some((row) => elementsIn(row.children).some(({ tag }) => tag === 'th'))) return true;
  const isLooped = rows.some(
    (row) => row.kind === 'block' && rowsIn([row]).some((one) => elementsIn(one.children).length > 1),
  );
  const wide = flat.filter((row) => elementsIn(row.children).length > 1);
  const isFull = wide.every((row) => elementsIn(row.children).every(({ children }) => isTextContent(children)));
  return isFull && (isLooped || wide.length > 1);
};

const bare = (table: Element, children: readonly Node[]): Element => ({
  ...table,
  children,
  attributes: new Map(
    [...table.attributes].filter(([name]) => name !== 'align' && name !== 'height').concat([['width', '100%']]),
  ),
  styles: new Map(
    [...table.styles].filter(([name]) => !/^(?:margin|padding|height|width|max-width|border$|border-radius)/.test(name)),
  ),
});
const rowsTable = (table: Element, rows: readonly Element[], widths: readonly string[]): Element =>
  bare(
    table,
    rows.map((row, at) => (at === 0 ? { ...row, children: withWidths(elementsIn(row.children), widths) } : row)),
  );
const rowTable = (table: Element, cells: readonly Element[], widths: readonly (string | number)[]): Element =>
  bare(table, [
    {
      kind: 'element',
      tag: 'tr',
      attributes: new Map(),
      styles: new Map(),
      at: table.at,
      children: withWidths(cells, widths.map(String)),
    },
  ]);
const asTable = (cell: Element): Element => ({
  kind: 'element',
  tag: 'table',
  attributes: new Map([
    ['width', '100%'],
    ['cellpadding', '0'],
    ['cellspacing', '0'],
    ['role', 'presentation'],
  ]),
  styles: new Map(),
  at: cell.at,
  children: [{ kind: 'element', tag: 'tr', attributes: new Map(), styles: new Map(), at: cell.at, children: [cell] }],
});

const withWidths = (cells: readonly Element[], widths: readonly string[]): readonly Element[] => {
  let column = 0;
  return cells.map((cell) => {
    const span = Math.min(Math.max(Number(cell.attributes.get('colspan') ?? 1) || 1, 1), 20);
    const width = span === 1 ? widths[column] : undefined;
    column += span;
    return width === undefined || statedWidth(cell) !== undefined
      ? cell
      : { ...cell, attributes: new Map([...cell.attributes, ['width', width]]) };
  });
};
const withoutWidth = (node: Element): Element => ({
  ...node,
  attributes: new Map([...node.attributes].filter(([name]) => name !== 'width' && name !== 'align')),
  styles: new Map([...node.styles].filter(([name]) => !/^(?:width|max-width|min-width|display|float)$/.test(name))),
});

const statedWidth = (cell: Node): string | undefined => {
  if (cell.kind !== 'element') return undefined;
  const { styles, attributes } = cell;
  const per = /(?:^|\s)mj-column-per-(\d+)(?:-(\d+))?(?:\s|$)/.exec(attributes.get('class') ?? '');
  if (per !== null) return `${per[1]}${per[2] === undefined ? '' : `.${per[2]}`}%`;
  const inline = styles.get('display') === 'inline-block';
  const written =
    (inline ? styles.get('max-width') : undefined) ??
    styles.get('width') ??
    attributes.get('width') ??
    styles.get('max-width');
  const css = written === undefined || holdsMark(written) ? undefined : cssLength(written);
  return css !== undefined && /(?:px|%)$/.test(css) ? css : undefined;
};

/** Widths in per cent that fill the line. */
const widthsOf = (cells: readonly Element[], otherwise?: readonly string[]): readonly string[] => {
  const stated = cells.map(statedWidth);
  if (stated.every((width) => width === undefined))
    return otherwise !== undefined && otherwise.length === cells.length
      ? otherwise
      : cells.map(() => `${Math.floor(10_000 / cells.length) / 100}%`);
  const isShare = stated.some((width) => width?.endsWith('%') === true);
  const numbers = stated.map((width) =>
    width === undefined || width.endsWith('%') !== isShare ? undefined : parseFloat(width),
  );
  const known = numbers.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  const open = numbers.filter((one) => one === undefined).length;
  const whole = isShare ? 100 : open === 0 ? known : Math.max(560, known + open * 80);
  const share = open === 0 ? 0 : Math.max(whole - known, 0) / open;
  const total = known + share * open || 1;
  return numbers.map((one) => `${Math.floor(((one ?? share) / total) * 10_000) / 100}%`);
};

/** Elements that stand beside each other though they are blocks: inline blocks, and floating tables. */
const besideOf = (
  nodes: readonly Node[],
  from: number,
): Readonly<{ cells: readonly Readonly<{ cell: Element }>[]; last: number }> | undefined => {
  const cells: { cell: Element }[] = [];
  let last = from;
  for (let at = from; at < nodes.length; at += 1) {
    const node = nodes[at]!;
    if (isBlank(node)) continue;
    if (node.kind !== 'element' || !isBeside(node)) break;
    cells.push({ cell: node });
    last = at;
  }
  return cells.length > 1 && cells.length <= COLUMNS_MAX ? { cells, last } : undefined;
};
const isBeside = ({ tag, styles, attributes }: Element): boolean =>
  (tag === 'div' &&
    (styles.get('display') === 'inline-block' ||
      styles.get('float') !== undefined ||
      styles.get('display') === 'table-cell')) ||
  (tag === 'table' &&
    (/^(?:left|right)$/.test(attributes.get('align') ?? '') ||
      styles.get('display') === 'inline-block' ||
      styles.get('display') === 'inline-table'));

const hasPicture = ({ styles, attributes }: Element): boolean =>
  /url\(/i.test(styles.get('background') ?? styles.get('background-image') ?? '') ||
  (attributes.get('background') ?? '') !== '';
const hasFrame = ({ styles, attributes }: Element): boolean =>
  backgroundOf(styles) !== undefined || attributes.has('bgcolor') || styles.has('border');

const colorIn = (value: string | undefined): string | undefined => {
  const color = value === undefined ? undefined : cssColor(value);
  return color === undefined || color === 'transparent' ? undefined : color;
};
const WORDS = /[\w-]+\([^)]*\)|[^\s]+/g;
/** The colour of a background; undefined where there is none. */
export const backgroundOf = (styles: Styles): string | undefined =>
  colorIn(styles.get('background-color')) ??
  (styles.get('background')?.slice(0, 300).match(WORDS) ?? []).flatMap((word) => colorIn(word) ?? [])[0];
const hasPadding = (styles: Styles): boolean => [...styles.keys()].some((name) => name.startsWith('padding'));

const px = (value: string | undefined, fontSize = 16): number => {
  if (value === undefined) return 0;
  const css = cssLength(value.trim());
  if (css === undefined) return 0;
  const found = pixels(css);
  if (found !== undefined) return found;
  const number = parseFloat(css);
  return css.endsWith('em') ? number * (css.endsWith('rem') ? 16 : fontSize) : 0;
};

/** The four sides of `padding` or `margin`, in pixels. */
const sidesIn = (styles: Styles, name: 'padding' | 'margin', fontSize: number, otherwise: Sides = NO_SIDES): Sides => {
  let sides: Sides = otherwise;
  for (const [property, value] of styles) {
    if (property === name) {
      const words = value
        .split(/\s+/)
        .slice(0, 4)
        .map((word) => px(word, fontSize));
      const [top = 0, right = top, bottom = top, left = right] = words;
      sides = [top, right, bottom, left];
    }
    const side = ['-top', '-right', '-bottom', '-left'].findIndex((end) => property === name + end);
    if (side >= 0) sides = sides.map((one, at) => (at === side ? px(value, fontSize) : one)) as unknown as Sides;
  }
  return sides;
};
const marginOf = (node: Element, usual: number): Sides => sidesIn(node.styles, 'margin', 16, [usual, 0, usual, 0]);
export const addedSides = (one: Sides, other: Sides): Sides => [
  one[0] + other[0],
  one[1] + other[1],
  one[2] + other[2],
  one[3] + other[3],
];
export const sidesOf = (box: Json | undefined): Sides => {
  const css = cssBox(box);
  if (css === undefined) return NO_SIDES;
  const [top = 0, right = top, bottom = top, left = right] = css.split(' ').map((side) => px(side));
  return [top, right, bottom, left];
};
export const boxText = (sides: Sides): string => {
  const [top, right, bottom, left] = sides.map((side) => (rounded(side) === 0 ? '0' : `${rounded(side)}px`));
  if (top === right && right === bottom && bottom === left) return top!;
  if (top === bottom && left === right) return `${top} ${right}`;
  return `${top} ${right} ${bottom} ${left}`;
};
const rounded = (value: number): number => Math.round(Math.min(Math.max(value, 0), 2_000) * 100) / 100;

/** A length of a picture: pixels as a number, a share as text. */
export const lengthOf = (value: string | undefined, mayBeShare: boolean): number | string | undefined => {
  if (value === undefined || holdsMark(value)) return undefined;
  const css = cssLength(value);
  if (css === undefined || css === '0') return undefined;
  return pixels(css) ?? (mayBeShare && css.endsWith('%') ? css : undefined);
};
const heightOf = (node: Element): number | undefined => {
  const { styles, attributes } = node;
  const height = px(styles.get('height') ?? attributes.get('height'));
  const sides = sidesIn(styles, 'padding', 16);
  const line = /[^\s]/.test(textIn(node)) ? px(styles.get('line-height')) : 0;
  return Math.max(height, line) + sides[0] + sides[2] || undefined;
};
const textIn = (node: Element): string =>
  node.children.map((child) => (child.kind === 'text' ? child.text : '')).join('');

const isSimpleWidth = (width: string | undefined): width is string =>
  width !== undefined && width.endsWith('px') && parseFloat(width) >= 40;

const withMargins = (box: Box, node: Element, { look }: Readonly<{ look: Look }>): Box => {
  const usual = (Object.hasOwn(USUAL, node.tag) ? (USUAL[node.tag]?.margin ?? 0) : 0) * look.fontSize;
  return {
    ...box,
    padding: addedSides(box.padding, sidesIn(node.styles, 'margin', look.fontSize, [usual, 0, usual, 0])),
  };
};

const boxOf = ({ styles, attributes, at, tag }: Element, { look }: Readonly<{ look: Look }>): Box => {
  const border = cssBorder(styles.get('border') ?? '');
  const written = styles.get('max-width') ?? styles.get('width') ?? attributes.get('width');
  const width = written === undefined || holdsMark(written) || tag === 'a' ? undefined : cssLength(written);
  return {
    padding: sidesIn(styles, 'padding', look.fontSize),
    background: backgroundOf(styles) ?? colorIn(attributes.get('bgcolor')),
    border:
      styles.has('border') && border !== undefined && border !== 'none' && !/^0/.test(border) && !/ none /.test(border)
        ? border
        : undefined,
    radius: px(styles.get('border-radius')),
    width: tag === 'td' || width === undefined || width === '0' ? undefined : width,
    place: placeOf(styles) ?? look.boxes,
    at,
  };
};

/** Postmark writes the padding of buttons as borders of their own colour. */
const buttonSides = (
  link: Element,
  padding: Sides,
  border: string | undefined,
  background: string | undefined,
): readonly [Sides, string | undefined] => {
  const drawn = ['top', 'right', 'bottom', 'left'].map((side) => cssBorder(link.styles.get(`border-${side}`) ?? ''));
  if (background !== undefined && drawn.every((one) => one !== undefined && one.endsWith(background)))
    return [addedSides(padding, drawn.map((one) => px(one?.split(' ')[0])) as unknown as Sides), undefined];
  const line = link.styles.get('line-height');
  const height = line === undefined ? 0 : px(line);
  if (padding[0] === 0 && padding[2] === 0 && height > 24)
    return [[(height - 20) / 2, Math.max(padding[1], 20), (height - 20) / 2, Math.max(padding[3], 20)], border];
  return [padding, border];
};

/** Components with these sides around all of them together; undefined where one of them cannot have them. */
export const withRoom = (children: readonly Made[], [top, right, bottom, left]: Sides): readonly Made[] | undefined => {
  const all: Made[] = [];
  for (const [at, child] of children.entries()) {
    const sides: Sides = [at === 0 ? top : 0, right, at === children.length - 1 ? bottom : 0, left];
    const padded = paddedChild(child, sides);
    if (padded === undefined) return undefined;
    all.push(padded);
  }
  return all;
};
const paddedChild = (child: Made, sides: Sides): Made | undefined => {
  const [top, right, bottom, left] = sides;
  const { props = {} } = child;
  switch (child.type) {
    case 'rich-text':
    case 'html-fragment':
    case 'image':
      if (props['backgroundColor'] !== undefined && (left > 0 || right > 0 || top > 0 || bottom > 0)) return undefined;
      return { ...child, props: { ...props, padding: boxText(addedSides(sidesOf(props['padding']), sides)) } };
    case 'divider':
      return { ...child, props: { ...props, margin: boxText(addedSides(sidesOf(props['margin']), sides)) } };
    case 'spacer':
      return {
        ...child,
        props: { height: (typeof props['height'] === 'number' ? props['height'] : 0) + top + bottom },
      };
    case 'button':
      if ((left > 0 || right > 0) && props['align'] !== 'center') return undefined;
      return { ...child, room: { above: (child.room?.above ?? 0) + top, below: (child.room?.below ?? 0) + bottom } };
    case 'columns':
    case 'list':
      if (left > 0 || right > 0) return undefined;
      return { ...child, room: { above: (child.room?.above ?? 0) + top, below: (child.room?.below ?? 0) + bottom } };
    case 'container': {
      if (left > 0 || right > 0) return undefined;
      return { ...child, room: { above: (child.room?.above ?? 0) + top, below: (child.room?.below ?? 0) + bottom } };
    }
    default:
      return undefined;
  }
};

const pathText = (path: readonly (string | number)[]): string =>
  path
    .map((step, at) =>
      typeof step === 'number'
        ? `[${step}]`
        : /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(step)
          ? `${at === 0 ? '' : '.'}${step}`
          : `[${JSON.stringify(step)}]`,
    )
    .join('');

const usesName = (children: readonly Made[], name: string): boolean => JSON.stringify(children).includes(name);

const alignOf = (written: string | undefined): Look['align'] | undefined => {
  const text = written?.toLowerCase();
  return text === 'center' || text === 'right' || text === 'left'
    ? text
    : text === 'start'
      ? 'left'
      : text === 'end'
        ? 'right'
        : undefined;
};

const FONT = /(\d+(?:\.\d+)?(?:px|pt|em|rem))(?:\/(\d+(?:\.\d+)?(?:px|pt|em|rem|%)?))?\s+(.+)$/;

/** The look that the children of an element inherit. */
export const lookIn = ({ styles, attributes, tag }: Element, outer: Look): Look => {
  const [, shortSize, shortLines, shortFamily] = FONT.exec(styles.get('font') ?? '') ?? [];
  const size = styles.get('font-size') ?? shortSize;
  const css = size === undefined || holdsMark(size) ? undefined : cssLength(size);
  const fontSize =
    css === undefined
      ? outer.fontSize
      : css.endsWith('%')
        ? (outer.fontSize * parseFloat(css)) / 100
        : px(css, outer.fontSize);
  const lines = styles.get('line-height') ?? shortLines;
  const color = styles.get('color') ?? (tag === 'font' ? attributes.get('color') : undefined);
  const alignText = alignOf(styles.get('text-align'));
  const alignAll =
    tag === 'center'
      ? 'center'
      : tag === 'table' || tag === 'img'
        ? undefined
        : alignOf(attributes.get('align'));
  // A table takes a centred text over, but starts anew where boxes were centred.
  const isReset = tag === 'table' && outer.boxes !== 'left' && outer.boxes === outer.align;
  return {
    fontFamily:
      usable(styles.get('font-family') ?? shortFamily ?? (tag === 'font' ? attributes.get('face') : undefined)) ??
      outer.fontFamily,
    fontSize: fontSize || outer.fontSize,
    lineHeight: linesOf(lines, fontSize) ?? outer.lineHeight,
    color: (color === undefined ? undefined : cssColor(color)) ?? outer.color,
    align: alignText ?? alignAll ?? (tag === 'th' ? 'center' : isReset ? 'left' : outer.align),
    boxes: alignText !== undefined || tag === 'table' ? 'left' : (alignAll ?? outer.boxes),
    letters: lettersIn({ styles, tag }, outer.letters),
    background: backgroundOf(styles) ?? colorIn(attributes.get('bgcolor')) ?? outer.background,
  };
};
const usable = (family: string | undefined): string | undefined =>
  family === undefined || /^(?:inherit|initial)$/.test(family) ? undefined : cssFontFamily(family);
const linesOf = (lines: string | undefined, fontSize: number): string | undefined => {
  if (lines === undefined || holdsMark(lines) || /^(?:inherit|initial)$/.test(lines)) return undefined;
  if (lines === 'normal') return 'normal';
  const share = /^(\d+(?:\.\d+)?)%$/.exec(lines);
  if (share !== null) return `${Math.round((Number(share[1]) / 100) * 1_000) / 1_000}`;
  if (/^\d*\.?\d+$/.test(lines)) return String(Math.round(Number(lines) * 1_000) / 1_000);
  const size = px(lines, fontSize);
  return size > 0 ? `${rounded(size)}px` : undefined;
};

/** The look of most of the text. */
export const commonLook = (nodes: readonly Node[], start: Look): Look => {
  const weights = new Map<string, { look: Look; weight: number }>();
  const walk = (all: readonly Node[], look: Look): void =>
    all.forEach((node) => {
      if (node.kind === 'element') {
        if (!isHidden(node)) walk(node.children, lookIn(node, look));
      } else if (node.kind === 'block') {
        walk(node.body, look);
        walk(node.other, look);
      } else {
        const weight = node.kind === 'text' ? node.text.trim().length : 10;
        const key = [look.fontFamily, look.fontSize, look.lineHeight, look.color].join('|');
        const known = weights.get(key) ?? { look, weight: 0 };
        weights.set(key, { look: known.look, weight: known.weight + weight });
      }
    });
  walk(nodes, start);
  const [most] = [...weights.values()].sort((a, b) => b.weight - a.weight);
  return most === undefined ? start : { ...most.look, align: 'left', boxes: 'left', letters: new Map(), background: undefined };
};

export const propsOfLook = (look: Look): JsonObject => {
  const family = cssFontFamily(look.fontFamily);
  const lines = cssLineHeight(look.lineHeight === 'normal' ? NORMAL_LINES : look.lineHeight) ?? NORMAL_LINES;
  return {
    color: cssColor(look.color) ?? '#000000',
    ...(family === undefined ? {} : { fontFamily: family }),
    fontSize: rounded(look.fontSize),
    lineHeight: /^\d(\.\d+)?$/.test(lines) ? Number(lines) : lines,
  };
};
