/** Which parts of rich text are blocks of their own, and which pictures stand among the words of a line. */
import { blockTags, tableTags } from '../../../domain/rendering/html-tags.js';
import { treeText, type TreeElement, type TreeNode } from '../rich-tree.js';
import type { Context } from './context.js';
import type { LinePicture } from './nodes.js';
import { linePictureOf } from './picture-node.js';
import { lengthOf } from './rich-style.js';

export const BLOCKS: ReadonlySet<string> = new Set([...blockTags, ...tableTags, 'img']);

export const hasBlock = (node: TreeNode): boolean => node.kind === 'element' && (BLOCKS.has(node.tag) || node.children.some(hasBlock));

/** Higher pictures have a line of their own. */
const PICTURE_LINES_MAX = 3;

/** The picture of an element as it stands among words; undefined where it has no place there. */
export const wordPicture = ({ attributes, style }: TreeElement, context: Context): LinePicture | undefined => {
  const picture = context.picture(attributes['src'] ?? '', context.field);
  if (picture === undefined) return undefined;
  const width = lengthOf(style.get('width') ?? attributes['width'], context.fontSize, context.width);
  const height = lengthOf(style.get('height') ?? attributes['height'], context.fontSize, context.height);
  const wish = { width, height, alt: attributes['alt'] ?? '', link: undefined };
  return linePictureOf(picture, wish, { ...context, linesMax: PICTURE_LINES_MAX });
};

/** Of the nodes that hold pictures those whose pictures are low, and stand beside words or other pictures. */
export const picturesAmongWords = (nodes: readonly TreeNode[], context: Context): ReadonlySet<TreeNode> => {
  const found = new Set<TreeNode>();
  let line: TreeNode[] = [];
  const flush = (): void => {
    const pictures = line.filter(hasBlock);
    if (pictures.length > 1 || (pictures.length === 1 && /\S/.test(treeText(line)))) for (const node of pictures) found.add(node);
    line = [];
  };
  for (const node of nodes) {
    if (isLow(node, context)) line.push(node);
    else flush();
  }
  flush();
  return found;
};

const isLow = (node: TreeNode, context: Context): boolean => {
  if (node.kind === 'text' || !hasBlock(node)) return true;
  if (node.tag === 'img') return wordPicture(node, context) !== undefined;
  return !BLOCKS.has(node.tag) && node.children.every((child) => isLow(child, context));
};
