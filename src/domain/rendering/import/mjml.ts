/**
 * Writes the tree of an MJML source as a tree of HTML with styles, which the rest of the import reads like any mail.
 * Nothing is compiled: a section stays one box, a column one box, so that each becomes a part of the template. Elements
 * keep their places in the source.
 */
import type { Place } from './language.js';
import {
  BODY_PX,
  DEFAULTS,
  included,
  isElement,
  openAttributes,
  readHead,
  type Attributes,
  type AttributesOf,
} from './mjml-head.js';
import type { AddNote } from './names.js';
import { holdsMark, type RawElement, type RawNode } from './tree.js';

/** The attribute of a box that becomes a section of the template. */
export const BAND = 'data-band';
/** The attribute of an element that stays a fragment of HTML. */
export const FRAGMENT = 'data-fragment';

export type Rewritten = Readonly<{ nodes: readonly RawNode[]; sheets: readonly string[]; title: string }>;

const TEXT_STYLES = [
  ...['color', 'font-family', 'font-size', 'font-style', 'font-weight', 'letter-spacing', 'line-height'],
  ...['text-decoration', 'text-transform'],
];
const SIDES = ['top', 'right', 'bottom', 'left'] as const;

const ICONS = 'https://www.mailjet.com/images/theme/v1/icons/ico-social/';
/** Networks that MJML knows: the colour behind the icon, and the address that shares a page. */
const NETWORKS: Readonly<Record<string, Readonly<{ color: string; icon?: string; share?: string }>>> = {
  facebook: { color: '#3b5998', share: 'https://www.facebook.com/sharer/sharer.php?u=' },
  twitter: { color: '#55acee', share: 'https://twitter.com/intent/tweet?url=' },
  x: { color: '#000000', icon: 'twitter-x', share: 'https://twitter.com/intent/tweet?url=' },
  google: { color: '#dc4e41', icon: 'google-plus', share: 'https://plus.google.com/share?url=' },
  pinterest: { color: '#bd081c', share: 'https://pinterest.com/pin/create/button/?url=' },
  linkedin: { color: '#0077b5', share: 'https://www.linkedin.com/shareArticle?mini=true&url=' },
  instagram: { color: '#3f729b' },
  web: { color: '#4BADE9' },
  snapchat: { color: '#FFFA54' },
  youtube: { color: '#EB3323' },
  tumblr: { color: '#344356', share: 'https://www.tumblr.com/widgets/share/tool?canonicalUrl=' },
  github: { color: '#000000' },
  xing: { color: '#296366', share: 'https://www.xing.com/app/user?op=share&url=' },
  vimeo: { color: '#53B4E7' },
  medium: { color: '#000000' },
  soundcloud: { color: '#EF7F31' },
  dribbble: { color: '#D95988' },
};

const isSeen = (node: RawNode): boolean => isElement(node) || holdsMark(node.text);

/** A style as text. A value cannot end its declaration. */
const styleOf = (rules: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(rules)
    .flatMap(([name, value]) => (value === undefined || value === '' ? [] : [`${name}:${value.replace(/[;{}]/g, '')}`]))
    .join(';');

type Styles = Readonly<Record<string, string | undefined>>;
type Made = Readonly<{ attributes?: Readonly<Record<string, string | undefined>>; styles?: Styles }>;

const element = (tag: string, at: Place, { attributes = {}, styles = {} }: Made, children: RawNode[]): RawElement => {
  const all = Object.entries({ ...attributes, style: styleOf(styles) }).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  return { kind: 'element', tag, at, attributes: new Map(all), children };
};
const words = (written: string, at: Place): RawNode => ({ kind: 'text', text: written, at });

const pick = (attributes: Attributes, names: readonly string[]): Styles =>
  Object.fromEntries(names.map((name) => [name, attributes.get(name)]));
const boxStyles = (attributes: Attributes, name = 'padding'): Styles =>
  pick(attributes, [name, ...SIDES.map((side) => `${name}-${side}`)]);
const borderStyles = (attributes: Attributes): Styles =>
  pick(attributes, ['border', ...SIDES.map((side) => `border-${side}`), 'border-radius']);

const pixelsOf = (value: string | undefined): number | undefined => {
  const [, number] = /^\s*(\d{1,5}(?:\.\d{1,3})?)(?:px)?\s*$/.exec(value ?? '') ?? [];
  return number === undefined ? undefined : Number(number);
};
/** Pixels that the padding and the border take at the left and the right. */
const sideways = (attributes: Attributes): number => {
  const sides = (attributes.get('padding') ?? '').trim().split(/\s+/).slice(0, 4);
  const [top = '0', right = top, , left = right] = sides;
  const one = (side: 'left' | 'right', usual: string): number =>
    pixelsOf(attributes.get(`padding-${side}`) ?? usual) ?? 0;
  const border = pixelsOf(/^\s*(\S{1,10})/.exec(attributes.get('border') ?? '')?.[1]) ?? 0;
  return one('left', left) + one('right', right) + 2 * border;
};
/** Pixels that the padding takes above and below. */
const upright = (attributes: Attributes): number => {
  const [top = '0', , bottom = top] = (attributes.get('padding') ?? '').trim().split(/\s+/).slice(0, 4);
  return (
    (pixelsOf(attributes.get('padding-top') ?? top) ?? 0) + (pixelsOf(attributes.get('padding-bottom') ?? bottom) ?? 0)
  );
};
/** A width in pixels, within what there is. */
const widthIn = (width: string | undefined, room: number): number | undefined => {
  const [, share] = /^\s*(\d{1,3}(?:\.\d{1,8})?)%\s*$/.exec(width ?? '') ?? [];
  const wanted = share === undefined ? pixelsOf(width) : (Number(share) * room) / 100;
  return wanted === undefined ? undefined : Math.min(wanted, room);
};
const inPx = (value: number): string => `${Math.round(value * 100) / 100}px`;
/** The margin that puts a box with a width of its own where `align` says. */
const marginOf = (align: string | undefined): string =>
  align === 'left' ? '0' : align === 'right' ? '0 0 0 auto' : '0 auto';

/** In: the tree of an MJML source. Out: it as HTML, its style sheets and its title. Notes name what is lost. */
export const rewriteMjml = (top: readonly RawNode[], note: AddNote): Rewritten => {
  const root = top.filter(isElement).find(({ tag }) => tag === 'mjml');
  const all = root?.children ?? top;
  const head = readHead(
    all.filter((node) => isElement(node) && node.tag === 'mj-head'),
    note,
  );
  const body = all.filter(isElement).find(({ tag }) => tag === 'mj-body');
  const inside = body?.children ?? all.filter((node) => !isElement(node) || node.tag !== 'mj-head');
  const attributesOf = openAttributes(head, note);
  const own = body === undefined ? new Map(Object.entries(DEFAULTS['mj-body']!)) : attributesOf(body);
  const width = Math.min(Math.max(pixelsOf(own.get('width')) ?? BODY_PX, 320), 1_000);
  const at = body?.at ?? root?.at ?? { line: 1, column: 1 };
  const { preview } = head;
  const language = { lang: root?.attributes.get('lang'), dir: root?.attributes.get('dir') };
  return {
    nodes: [
      element('html', at, { attributes: language }, [
        element('body', at, { styles: { 'background-color': own.get('background-color') } }, [
          ...(preview === undefined
            ? []
            : [element('div', preview.at, { styles: { display: 'none' } }, preview.children)]),
          element(
            'div',
            at,
            { attributes: { class: own.get('css-class') }, styles: { width: inPx(width), margin: '0 auto' } },
            openWriter(attributesOf, note).bands(inside, width),
          ),
        ]),
      ]),
    ],
    sheets: head.sheets,
    title: head.title,
  };
};

type Writer = Readonly<{ bands: (nodes: readonly RawNode[], room: number) => RawNode[] }>;

const openWriter = (attributesOf: AttributesOf, note: AddNote): Writer => {
  /** The nodes between elements: raw HTML in its place, placeholders, no blanks. */
  const flattened = (nodes: readonly RawNode[]): readonly RawNode[] =>
    nodes.flatMap((node) =>
      isElement(node) && node.tag === 'mj-raw' ? node.children.filter(isKept) : isSeen(node) ? [node] : [],
    );
  const isKept = (node: RawNode): boolean => isElement(node) || node.text.trim() !== '';

  /** Parts of the body, each as wide as the mail. */
  const bands = (nodes: readonly RawNode[], room: number): RawNode[] =>
    flattened(nodes).flatMap((node) => {
      if (!isElement(node)) return [node];
      switch (node.tag) {
        case 'mj-section':
        case 'mj-wrapper':
          return [section(node, room)];
        case 'mj-hero':
          return [hero(node, room)];
        default:
          return components([node], room);
      }
    });

  const section = (node: RawElement, room: number): RawNode => {
    const own = attributesOf(node);
    const inner = Math.max(room - sideways(own), 50);
    const children = node.tag === 'mj-wrapper' ? bands(node.children, inner) : columns(node, own, inner);
    const background = own.get('background-color');
    if (own.has('full-width') && background !== undefined)
      note(
        'approximated',
        node.at,
        `The background of this full-width <${node.tag}> is as wide as the mail`,
        'The colour beside the mail is one for all of it: backgroundColor of the template.',
      );
    const styles = {
      ...{ 'background-color': background },
      ...boxStyles(own),
      ...borderStyles(own),
    };
    const picture = own.get('background-url');
    if (picture !== undefined && picture !== '') return pictured(node, own, { picture, styles, width: room }, children);
    return element('div', node.at, { attributes: { [BAND]: '1', class: own.get('css-class') }, styles }, children);
  };

  /** A box over a picture, which is a table with one cell. */
  const pictured = (
    { at, tag }: RawElement,
    own: Attributes,
    { picture, styles, width, height }: Readonly<{ picture: string; styles: Styles; width: number; height?: string }>,
    children: RawNode[],
  ): RawNode => {
    note(
      'approximated',
      at,
      `<${tag}> stands before a picture, so it is a fragment of HTML`,
      'Change its text in the code of the fragment.',
    );
    const size = own.get('background-size') ?? (tag === 'mj-hero' ? 'cover' : undefined);
    const cell = element(
      'td',
      at,
      {
        attributes: { background: picture, valign: own.get('vertical-align'), height: height && String(height) },
        styles: {
          ...styles,
          'background-image': `url(${picture.replace(/[()'"\s]/g, (sign) => encodeURIComponent(sign))})`,
          'background-position': own.get('background-position') ?? 'top center',
          'background-repeat': own.get('background-repeat') ?? (tag === 'mj-hero' ? 'no-repeat' : undefined),
          'background-size': size,
          ...(height === undefined ? {} : { height: `${height}px` }),
        },
      },
      children,
    );
    const shape = { width: '100%', cellpadding: '0', cellspacing: '0', border: '0', role: 'presentation' };
    return element('table', at, { attributes: shape, styles: { 'max-width': inPx(width) } }, [
      element('tr', at, {}, [cell]),
    ]);
  };

  const columns = (node: RawElement, own: Attributes, room: number): RawNode[] => {
    const parts = flattened(node.children);
    const isColumn = (part: RawNode): part is RawElement =>
      isElement(part) && (part.tag === 'mj-column' || part.tag === 'mj-group');
    if (!parts.some(isColumn)) return components(parts, room);
    const found = parts.filter(isColumn);
    if (found.length < parts.length) {
      if (parts.some((part) => !isElement(part)))
        note(
          'approximated',
          node.at,
          'Columns within a conditional or a loop stand below each other',
          'Make columns in the editor, with a conditional within each.',
        );
      return parts.flatMap((part) =>
        isColumn(part) ? [column(part, room, room, {})] : isElement(part) ? components([part], room) : [part],
      );
    }
    const widths = shares(found, room);
    const [only] = found;
    if (found.length === 1 && only !== undefined)
      return [column(only, widths[0]!, room, widths[0]! < room - 1 ? { margin: '0 auto' } : {})];
    const all = found.map((part, at) => column(part, widths[at]!, room, { display: 'inline-block' }));
    const left = room - widths.reduce((sum, width) => sum + width, 0);
    const blank = (): RawNode =>
      element('div', node.at, { styles: { display: 'inline-block', 'max-width': inPx(left / 2) } }, [
        words('\u00a0', node.at),
      ]);
    const spread = left > room / 20 ? [blank(), ...all, blank()] : all;
    return own.get('direction') === 'rtl' ? spread.reverse() : spread;
  };

  /** Widths in pixels; those that state none share the line equally. */
  const shares = (all: readonly RawElement[], room: number): readonly number[] =>
    all.map((part) => widthIn(attributesOf(part).get('width'), room) ?? room / all.length);

  const column = (node: RawElement, width: number, room: number, placed: Styles): RawNode => {
    const own = attributesOf(node);
    const isWhole = width >= room - 1;
    const sized = isWhole ? {} : { width: placed['display'] === undefined ? inPx(width) : '100%' };
    const styles: Styles = {
      ...placed,
      ...sized,
      ...(isWhole || placed['display'] === undefined ? {} : { 'max-width': inPx(width) }),
      'vertical-align': own.get('vertical-align'),
    };
    if (node.tag === 'mj-group') {
      const parts = flattened(node.children).filter(isElement);
      const widths = shares(parts, width);
      const cells = parts.map((part, at) => {
        const inner = column(part, width, width, {});
        const cell = {
          styles: { width: inPx(widths[at]!), 'vertical-align': attributesOf(part).get('vertical-align') },
        };
        return element('td', part.at, cell, [inner]);
      });
      const shape = { width: '100%', cellpadding: '0', cellspacing: '0', role: 'presentation' };
      return element('div', node.at, { styles: { ...styles, 'background-color': own.get('background-color') } }, [
        element('table', node.at, { attributes: shape }, [element('tr', node.at, {}, cells)]),
      ]);
    }
    const inner = Math.max(width - sideways(own), 20);
    const children = components(node.children, inner);
    const innerBackground = own.get('inner-background-color');
    const inside =
      innerBackground === undefined && !own.has('inner-border')
        ? children
        : [
            element(
              'div',
              node.at,
              {
                styles: {
                  'background-color': innerBackground,
                  border: own.get('inner-border'),
                  'border-radius': own.get('inner-border-radius'),
                },
              },
              children,
            ),
          ];
    return element(
      'div',
      node.at,
      {
        attributes: { class: own.get('css-class') },
        styles: {
          ...styles,
          'background-color': own.get('background-color'),
          ...boxStyles(own),
          ...borderStyles(own),
        },
      },
      inside,
    );
  };

  const components = (nodes: readonly RawNode[], room: number): RawNode[] =>
    flattened(nodes).flatMap((node) => (isElement(node) ? component(node, room) : [node]));

  /** The box of a component with its padding, and the colour behind it. */
  const boxed = (node: RawElement, own: Attributes, styles: Styles, children: RawNode[]): RawNode[] => [
    element(
      'div',
      node.at,
      {
        attributes: { class: own.get('css-class') },
        styles: { ...boxStyles(own), 'background-color': own.get('container-background-color'), ...styles },
      },
      children,
    ),
  ];

  const component = (node: RawElement, room: number): RawNode[] => {
    const { tag, at, children } = node;
    if (!tag.startsWith('mj-')) return [node];
    const own = attributesOf(node);
    const inner = Math.max(room - sideways(own), 20);
    switch (tag) {
      case 'mj-text':
        return boxed(node, own, { 'text-align': own.get('align'), ...pick(own, TEXT_STYLES) }, children);
      case 'mj-button':
        return button(node, own, inner);
      case 'mj-image':
        return boxed(node, own, { 'text-align': own.get('align') }, [picture(node, own, inner)]);
      case 'mj-divider': {
        const line = `${own.get('border-width')} ${own.get('border-style')} ${own.get('border-color')}`;
        const width = own.get('width') === '100%' ? undefined : widthIn(own.get('width'), inner);
        return boxed(node, own, {}, [
          element(
            'hr',
            at,
            {
              styles: {
                'border-top': line,
                margin: width === undefined ? '0' : marginOf(own.get('align')),
                ...(width === undefined ? {} : { width: inPx(width) }),
              },
            },
            [],
          ),
        ]);
      }
      case 'mj-spacer':
        return [
          element(
            'div',
            at,
            { styles: { height: own.get('height'), 'background-color': own.get('container-background-color') } },
            [],
          ),
        ];
      case 'mj-table': {
        const shape = {
          ...{ width: own.get('width'), cellpadding: own.get('cellpadding'), cellspacing: own.get('cellspacing') },
          role: own.get('role'),
        };
        const look = {
          ...{ ...pick(own, TEXT_STYLES), border: own.get('border'), 'text-align': own.get('align') },
          'border-collapse': 'collapse',
        };
        return boxed(node, own, {}, [element('table', at, { attributes: shape, styles: look }, children)]);
      }
      case 'mj-social':
        return social(node, own);
      case 'mj-navbar':
        return navbar(node, own);
      case 'mj-accordion':
        return accordion(node, own);
      case 'mj-carousel':
        return carousel(node, own, inner);
      case 'mj-section':
      case 'mj-wrapper':
        return [section(node, room)];
      case 'mj-column':
      case 'mj-group':
        return [column(node, room, room, {})];
      case 'mj-hero':
        return [hero(node, room)];
      case 'mj-include':
        included(node, note);
        return [];
      default:
        note(
          'dropped',
          at,
          `<${tag.slice(0, 40)}> is left out; what stands in it stays`,
          'It is no component of MJML. Make it of other components in the editor.',
        );
        return components(children, room);
    }
  };

  const button = (node: RawElement, own: Attributes, room: number): RawNode[] => {
    const width = widthIn(own.get('width'), room);
    const link = element(
      'a',
      node.at,
      {
        attributes: { href: own.get('href') ?? '#' },
        styles: {
          display: width === undefined ? 'inline-block' : 'block',
          'background-color': own.get('background-color'),
          ...pick(own, TEXT_STYLES),
          ...(/^\d+%$|^1$/.test(own.get('line-height') ?? '') ? { 'line-height': undefined } : {}),
          padding: own.get('inner-padding'),
          ...borderStyles(own),
        },
      },
      node.children,
    );
    const align = own.get('align');
    const placed =
      width === undefined || width >= room - 1
        ? [link]
        : [element('div', node.at, { styles: { width: inPx(width), margin: marginOf(align) } }, [link])];
    return boxed(node, own, { 'text-align': align }, placed);
  };

  const picture = ({ at }: RawElement, own: Attributes, room: number): RawNode => {
    const width = widthIn(own.get('width'), room) ?? room;
    const height = pixelsOf(own.get('height'));
    const image = element(
      'img',
      at,
      {
        attributes: { src: own.get('src'), alt: own.get('alt'), title: own.get('title'), width: String(width) },
        styles: {
          'border-radius': own.get('border-radius'),
          border: own.get('border'),
          ...(height === undefined ? {} : { height: inPx(height) }),
        },
      },
      [],
    );
    const href = own.get('href');
    return href === undefined ? image : element('a', at, { attributes: { href } }, [image]);
  };

  const social = (node: RawElement, own: Attributes): RawNode[] => {
    const handed = ['border-radius', 'color', 'font-family', 'font-size', 'font-weight', 'icon-size', 'line-height'];
    const inherited: Attributes = new Map(
      handed.flatMap((name): [string, string][] => (own.has(name) ? [[name, own.get(name)!]] : [])),
    );
    const isVertical = own.get('mode') === 'vertical';
    const shape = { cellpadding: '0', cellspacing: '0', border: '0', role: 'presentation' };
    const rows: RawNode[] = [];
    const cells: RawNode[] = [];
    for (const part of flattened(node.children)) {
      if (!isElement(part)) {
        (isVertical ? rows : cells).push(part);
        continue;
      }
      const made = socialElement(part, attributesOf(part, inherited));
      if (isVertical) rows.push(element('tr', part.at, {}, made));
      else cells.push(...made);
    }
    if (!isVertical) rows.push(element('tr', node.at, {}, cells));
    const align = own.get('align');
    return boxed(node, own, { 'text-align': align }, [
      element('table', node.at, { attributes: { ...shape, align, [FRAGMENT]: '1' } }, rows),
    ]);
  };

  /** The cells of one network: its icon on its colour, and its name. */
  const socialElement = ({ at, children }: RawElement, own: Attributes): RawNode[] => {
    const [, base = '', plain] = /^([a-z]{1,20})(-noshare)?$/.exec(own.get('name') ?? '') ?? [];
    const network = Object.hasOwn(NETWORKS, base) ? NETWORKS[base] : undefined;
    const src = own.get('src') ?? (network === undefined ? undefined : `${ICONS}${network.icon ?? base}.png`);
    const written = own.get('href');
    const share = plain === undefined ? network?.share : undefined;
    const href = written === undefined || share === undefined ? written : `${share}${written}`;
    const size = String(pixelsOf(own.get('icon-size')) ?? 20);
    const linked = (all: RawNode[], styles: Styles): RawNode =>
      href === undefined
        ? element('span', at, { styles }, all)
        : element('a', at, { attributes: { href }, styles: { ...styles, 'text-decoration': 'none' } }, all);
    const picture = (): RawNode =>
      element('img', at, { attributes: { src, alt: own.get('alt') ?? base, width: size, height: size } }, []);
    const look = {
      'background-color': own.get('background-color') ?? network?.color,
      'border-radius': own.get('border-radius'),
      'line-height': '0',
    };
    const icon = element('table', at, { attributes: { cellpadding: '0', cellspacing: '0', border: '0' } }, [
      element('tr', at, {}, [
        element('td', at, { attributes: { width: size }, styles: look }, [linked([picture()], {})]),
      ]),
    ]);
    return [
      ...(src === undefined ? [] : [element('td', at, { styles: { padding: '4px' } }, [icon])]),
      ...(children.some(isKept)
        ? [
            element('td', at, { styles: { padding: '4px 4px 4px 0', ...pick(own, ['font-family', 'font-size']) } }, [
              linked(children, pick(own, TEXT_STYLES)),
            ]),
          ]
        : []),
    ];
  };

  const navbar = (node: RawElement, own: Attributes): RawNode[] => {
    const base = own.get('base-url') ?? '';
    if (own.get('hamburger') === 'hamburger')
      note(
        'approximated',
        node.at,
        'The menu of <mj-navbar> is always open',
        'Most mail programs show no menu that opens.',
      );
    const links = flattened(node.children).flatMap((part): RawNode[] => {
      if (!isElement(part)) return [part];
      const one = attributesOf(part);
      const styles = { ...pick(one, TEXT_STYLES), display: 'inline-block', ...boxStyles(one) };
      const attributes = { href: `${base}${one.get('href') ?? '#'}` };
      return [element('a', part.at, { attributes, styles }, part.children), words(' ', part.at)];
    });
    return boxed(node, own, { 'text-align': own.get('align'), 'font-size': '13px', 'line-height': '22px' }, links);
  };

  const hero = (node: RawElement, room: number): RawNode => {
    const own = attributesOf(node);
    const inner = Math.max(room - sideways(own), 50);
    const children = components(node.children, inner);
    const styles = {
      'background-color': own.get('background-color'),
      ...boxStyles(own),
      'border-radius': own.get('border-radius'),
    };
    const picture = own.get('background-url');
    const whole = pixelsOf(own.get('height')) ?? pixelsOf(own.get('background-height'));
    const height = whole === undefined ? undefined : Math.max(whole - upright(own), 0);
    if (picture === undefined || picture === '')
      return element('div', node.at, { attributes: { [BAND]: '1', class: own.get('css-class') }, styles }, children);
    const shape = { picture, styles, width: room };
    return pictured(node, own, height === undefined ? shape : { ...shape, height: String(height) }, children);
  };

  const accordion = (node: RawElement, own: Attributes): RawNode[] => {
    note('approximated', node.at, '<mj-accordion> stands there open', 'Most mail programs show it open anyway.');
    const inherited: Attributes = new Map(
      own.has('font-family') ? [['font-family', own.get('font-family')!] as const] : [],
    );
    const parts = flattened(node.children).flatMap((part): RawNode[] =>
      !isElement(part)
        ? [part]
        : flattened(part.children).map((one) => {
            if (!isElement(one)) return one;
            const look = attributesOf(one, inherited);
            const styles = {
              ...pick(look, TEXT_STYLES),
              ...boxStyles(look),
              'background-color': look.get('background-color'),
            };
            return element('div', one.at, { styles }, one.children);
          }),
    );
    return boxed(node, own, {}, parts);
  };

  const carousel = (node: RawElement, own: Attributes, room: number): RawNode[] => {
    const pictures = flattened(node.children).filter(isElement);
    note(
      'approximated',
      node.at,
      `<mj-carousel> shows the first of its ${pictures.length} pictures`,
      'Mail programs that turn no pages show the same.',
    );
    return pictures
      .slice(0, 1)
      .flatMap((first) =>
        boxed(node, own, { 'text-align': own.get('align') }, [picture(first, attributesOf(first), room)]),
      );
  };

  return { bands };
};
