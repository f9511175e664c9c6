/** Going over an array: what loop, table and list share. */
import type { JsonObject } from '../../../../domain/json.js';
import { writePath } from '../../../../domain/rendering/scope/path.js';
import { quote } from '../code.js';
import { withLocals, type Context, type Local } from '../context.js';
import { itemShapeAt, pathOf, rawOf } from '../values.js';

const numberShape: Local['shape'] = { type: 'number', required: true, format: undefined, members: new Map(), item: undefined };

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
  if (props['indexVariable'] !== undefined) locals.push([nameOf(props['indexVariable'], 'index'), { js: index, shape: numberShape }]);
  code.block(`for(let ${index}=0;${index}<${items}.length;${index}++)`, () => {
    code.statement(`const ${item}=${items}[${index}];`);
    body(withLocals(context, locals), index, `${items}.length`);
    code.statement(`if(h.length>${limits.htmlSizeBytesMax})TOO_LARGE(h.length);`);
  });
  if (empty !== undefined) code.block(`if(${items}.length===0)`, empty);
};

const nameOf = (value: JsonObject[string] | undefined, fallback: string): string => (typeof value === 'string' ? value : fallback);
