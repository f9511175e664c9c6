/** The component renderers of PDF, one for each kind that an expanded document can hold: one that is missing does not compile. */
import type { Expanded, Flow } from '../../../domain/rendering/expand/expanded.js';
import { chart, image, qrCode } from './components/media.js';
import { columns, container } from './components/boxes.js';
import { divider, list, richText, spacer } from './components/blocks.js';
import { lastRowsStay, table } from './components/table.js';
import { timeline } from './components/timeline.js';
import { GAP_PT, spaced, type ComponentRenderer, type Context } from './context.js';
import type { Node } from './nodes.js';

type Renderers = Readonly<{ [Type in Expanded['type']]: ComponentRenderer<Extract<Expanded, { type: Type }>> }>;

const renderers: Renderers = {
  'rich-text': richText,
  image,
  table,
  container: (component, context) => container(component, context, drawAll),
  columns: (component, context) => columns(component, context, drawAll),
  divider,
  spacer,
  list,
  'qr-code': qrCode,
  timeline,
  chart,
};

const draw = <Type extends Expanded['type']>(component: Extract<Expanded, { type: Type }>, context: Context): readonly Node[] => {
  const render: ComponentRenderer<Extract<Expanded, { type: Type }>> = renderers[component.type as Type];
  const nodes = render(component, { ...context, field: component.field });
  if (component.flow === undefined) return nodes;
  // Where its last rows stay with the next component, the rows above them may end a sheet.
  if (component.type !== 'table' || !lastRowsStay(component.flow)) return flowing(nodes, component.flow);
  const { pageBreak } = component.flow;
  return pageBreak === undefined ? nodes : flowing(nodes, { pageBreak });
};

/** One block, so that it moves as one; of a component that is not there no break is left. */
const flowing = (nodes: readonly Node[], flow: Flow): readonly Node[] => {
  const [only] = nodes;
  if (only === undefined) return [];
  return [nodes.length === 1 ? { ...only, flow } : { stack: nodes, flow }];
};

/** Components one below the other, with room between them; spacers and dividers bring their own. */
export const drawAll = (components: readonly Expanded[], context: Context): readonly Node[] =>
  components.flatMap((component, at) => {
    const nodes = draw(component, context);
    const next = components[at + 1];
    const bare =
      component.type === 'spacer' ||
      component.type === 'divider' ||
      next === undefined ||
      next.type === 'spacer' ||
      next.type === 'divider';
    return bare ? nodes : nodes.map((node, index) => (index === nodes.length - 1 ? spaced(node, GAP_PT) : node));
  });
