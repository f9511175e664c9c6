/** The component renderers of email, one for each that the support matrix gives to it: a component without one does not compile. */
import type { ComponentsOf } from '../../../domain/rendering/components.js';
import type { Component } from '../../../domain/rendering/content.js';
import type { ComponentRenderer, Context } from './context.js';
import { divider, htmlFragment, list, richText, spacer } from './components/blocks.js';
import { conditional, loop } from './components/flow.js';
import { columns, container } from './components/layout.js';
import { button, image } from './components/media.js';
import { qrCode } from './components/codes.js';
import { table } from './components/table.js';
import { timeline } from './components/timeline.js';
import { shownConditionOf } from './hiding.js';

const renderers: Readonly<Record<ComponentsOf<'email'>, ComponentRenderer>> = {
  'rich-text': richText,
  button,
  image,
  table,
  container,
  columns,
  divider,
  spacer,
  conditional,
  loop,
  list,
  'qr-code': qrCode,
  'html-fragment': htmlFragment,
  timeline,
};

const GAP_PX = 16;

/** Writes components one below the other; the last one leaves below itself what its surroundings say. */
export const renderRows = (components: readonly Component[], context: Context): void =>
  components.forEach((component, at) => {
    const last = at === components.length - 1;
    const render = (): void => renderers[component.type](component, last ? context : { ...context, gapPx: GAP_PX });
    const shown = shownConditionOf(component, context);
    if (shown === undefined) render();
    else context.code.block(`if(${shown})`, render);
  });
