/** Going over an array: what loop, table and list share. */
import type { JsonObject } from '../../../../domain/core/json.js';
import { writePath, type Path } from '../../../../domain/rendering/scope/path.js';
import { indexShape, type Shape } from '../../../../domain/rendering/scope/shapes.js';
import { quote } from '../code.js';
import { withLocals, type Context, type Local } from '../context.js';
import { itemShapeAt, pathOf, rawOf, rootShape } from '../values.js';

/**
 * Writes a loop over `dataSource` around what `body` writes; the body gets the context in which the item (`itemVariable`,
 * default `item`) and the index (`indexVariable`, from 0) are in reach, and the expressions of the index and of the number of items.
 * More items than the limit throw ERR_LIMIT_007, a body beyond its size RENDERED_BODY_TOO_LARGE while it grows.
 * `empty` is written where there are no items.
 */
export const openItems = (
  props: JsonObject,
  context: Context,
  body: (inner: Context, index: string, count: string) => void,
  empty?: () => void,
): void => {
  const { code, limits } = context;
  const path = pathOf(props['dataSource'], context);
  const [items, index, item] = [code.name('a'), code.name('i'), code.name('e')];
  code.statement(`const ${items}=ITEMS(${rawOf(path, context)},${quote(writePath(path))});`);
  const locals: [string, Local][] = [[nameOf(props['itemVariable'], 'item'), { js: item, shape: itemShapeAt(path, context) }]];
  if (props['indexVariable'] !== undefined) locals.push([nameOf(props['indexVariable'], 'index'), { js: index, shape: indexShape }]);
  code.block(`for(let ${index}=0;${index}<${items}.length;${index}++)`, () => {
    code.statement(`const ${item}=${items}[${index}];`);
    body(withLocals(context, locals), index, `${items}.length`);
    code.statement(`if(h.length>${limits.htmlSizeBytesMax})TOO_LARGE(h.length);`);
  });
  if (empty !== undefined) code.block(`if(${items}.length===0)`, empty);
};

/** In: a path inside the loop over `dataSource`. Out: what the definitions say of the variable or the item that it begins with. */
export const rootShapeOfItems = (path: Path, props: JsonObject, context: Context): Shape | undefined => {
  const name = String(path[0]);
  if (props['indexVariable'] !== undefined && name === nameOf(props['indexVariable'], 'index')) return indexShape;
  if (props['dataSource'] === undefined || name !== nameOf(props['itemVariable'], 'item')) return rootShape(path, context);
  return itemShapeAt(pathOf(props['dataSource'], context), context);
};

const nameOf = (value: JsonObject[string] | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback);
