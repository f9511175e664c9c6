/** Makes single components: texts, fragments, pictures, buttons, lines, and boxes around others. */
import type { Json } from '../../core/json.js';
import { cssBorder, cssColor, cssFontFamily, cssLength, cssLineHeight } from '../css.js';
import {
  addedSides,
  type Box,
  boxOf,
  boxText,
  buttonSides,
  heightOf,
  lengthOf,
  type Made,
  marginOf,
  type Sides,
  sidesIn,
  sidesOf,
  withRoom,
} from './boxes.js';
import { lettersText, type Look, lookIn, NORMAL_LINES, rounded } from './look.js';
import { escapedAttribute, type Markup } from './markup.js';
import { FRAGMENT } from './mjml.js';
import type { AddNote, Names, Scope } from './names.js';
import { hasPicture, loopOrBlock, type Picture, TEXT_BLOCKS } from './shapes.js';
import { holdsMark, type Element, type Node } from './tree.js';

const BOXES_MAX = 4;
/** Addresses that a mail can load, whole or behind a placeholder. */
const PICTURE_ADDRESS = /^(?:https?:\/\/|cid:|asset:|data:image\/|\{\{)/i;

type Depth = Readonly<{ conditions: number; loops: number; boxes: number }>;

export const NO_DEPTH: Depth = { conditions: 0, loops: 0, boxes: 0 };

export type Context = Readonly<{ scope: Scope; look: Look; depth: Depth }>;

const BLOCK_HTML = new RegExp(`<(?:${[...TEXT_BLOCKS, 'div', 'table', 'hr'].join('|')})[ >]`);

export type Parts = ReturnType<typeof openParts>;

/** In: the writer of contents, and the look of most of the mail, which props need not say. Out: what makes components. */
export const openParts = (
  { filled, addressOf, html }: Markup,
  { base, note }: Readonly<{ base: Look; note: AddNote }>,
) => {
  const counts = new Map<string, number>();

  const made = (type: string, rest: Omit<Made, 'id' | 'type'>): Made => {
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    return { id: `${type}-${count}`, type, ...rest };
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
    const src = filled(
      (image.attributes.get('src') ?? '').trim().replace(/^\/\//, 'https://'),
      scope,
      image.at,
      'picture',
    );
    if (src === '') return [];
    if (!PICTURE_ADDRESS.test(src)) {
      note(
        'dropped',
        image.at,
        `The picture "${src.slice(0, 60)}" is left out: its address names no server`,
        'Upload it to the gallery, and put an image in its place.',
      );
      return [];
    }
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
    const own = boxOf(link, { look });
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

  /** A box with the lines that stand at its top or bottom alone, which a container has not. */
  const linedBox = (node: Element, box: Box, children: readonly Made[], context: Context): Made[] => {
    const made = boxed(box, children, context);
    return made.length === 0 ? made : [...lineAt(node, 'border-top'), ...made, ...lineAt(node, 'border-bottom')];
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

  const withMargin = (all: Made[], margin: Sides): Made[] =>
    margin.every((side) => side === 0) ? all : [...(withRoom(all, margin) ?? all)];

  return {
    made,
    lookProps,
    richText,
    lettered,
    isFragment,
    fragment,
    conditional,
    dividerOf,
    spacerOf,
    imageOf,
    buttonOf,
    boxed,
    framed,
    linedBox,
    ruleOf,
    withMargin,
  };
};
