/** The elements of a document for those who hear it, made as what belongs to them is drawn. */
import type { Tag } from './nodes.js';
import type { PrintedDocument } from './faces.js';
import type { StructureElement } from './pdfmake-internals.js';

export type Structure = Readonly<{
  elementOf: (tag: Tag) => StructureElement;
  /** The element of a link below that of its text: the same one as long as the text goes on with the same target. */
  linkBelow: (tag: Tag, link: string | undefined) => Tag;
  end: () => void;
}>;

export const openStructure = (document: PrintedDocument): Structure => {
  const root = document.struct('Document');
  document.addStructure(root);
  const elements = new Map<Tag, StructureElement>();
  /** By the text around: the link with which it ended so far. */
  const lastLinks = new Map<Tag, Readonly<{ link: string; tag: Tag }>>();

  const elementOf = (tag: Tag): StructureElement => {
    const known = elements.get(tag);
    if (known !== undefined) return known;
    const parent = tag.parent === undefined ? root : elementOf(tag.parent);
    // The element of a table makes those of its rows, and they those of their cells.
    const madeByParent = elements.get(tag);
    if (madeByParent !== undefined) return madeByParent;
    const element = document.struct(tag.type, tag.alt === undefined ? {} : { alt: tag.alt });
    const attributes = attributesOf(tag);
    if (attributes !== undefined) element.dictionary.data['A'] = attributes;
    parent.add(element);
    elements.set(tag, element);
    for (const child of tag.children ?? []) elementOf(child);
    return element;
  };

  return {
    elementOf,
    linkBelow: (tag, link) => {
      const last = lastLinks.get(tag);
      if (link === undefined) {
        lastLinks.delete(tag);
        return tag;
      }
      if (last?.link === link) return last.tag;
      const made: Tag = { type: 'Link', parent: tag };
      lastLinks.set(tag, { link, tag: made });
      return made;
    },
    end: () => root.end(),
  };
};

/** Of the cells of a table (PDF 1.7, 14.8.5.7). */
const attributesOf = ({ type, colSpan, rowSpan, scope }: Tag): Readonly<Record<string, string | number>> | undefined => {
  if (type !== 'TH' && colSpan === undefined && rowSpan === undefined) return undefined;
  return {
    O: 'Table',
    ...(type === 'TH' ? { Scope: scope ?? 'Column' } : {}),
    ...(colSpan === undefined ? {} : { ColSpan: colSpan }),
    ...(rowSpan === undefined ? {} : { RowSpan: rowSpan }),
  };
};
