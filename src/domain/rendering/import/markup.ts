/** Writes nodes as HTML and as text of ours: attributes, styles and placeholders, as contents of components. */
import { USUAL } from './boxes.js';
import type { Block, Place, Statement } from './language.js';
import { isHidden } from './look.js';
import type { AddNote, Names, Scope } from './names.js';
import { HARMLESS, isTextPart, KEPT, sizeOf, textPartOf, VOID } from './shapes.js';
import { holdsMark, statementsIn, unknownNote, type Element, type Node, type Styles } from './tree.js';

export type Markup = ReturnType<typeof openMarkup>;

/** In: the names of the template, and the statements of its marks. Out: what writes nodes as contents. */
export const openMarkup = ({
  names,
  marks,
  note,
}: Readonly<{ names: Names; marks: ReadonlyMap<number, Statement>; note: AddNote }>) => {
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

  return { filled, line, lineOfNodes, addressOf, html };
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

const UNSUBSCRIBE = '{{__UNSUBSCRIBE_URL__}}';

/** Braces of a text that are no placeholder. */
const plainBraces = (text: string): string => (text.includes(UNSUBSCRIBE) ? text : text.replaceAll('{{', '{ {'));

const escapedText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\u00a0', '&nbsp;');

export const escapedAttribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
