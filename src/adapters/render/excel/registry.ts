/** The components that a workbook knows. One that the support matrix gives it and that is missing here does not compile. */
import type { ComponentDrawer, ExcelComponent, ExcelComponentType, Prepared, Surroundings } from './component.js';
import { chart } from './components/chart.js';
import { image } from './components/image.js';
import { qrCode } from './components/qr-code.js';
import { richText } from './components/rich-text.js';
import { table } from './components/table.js';

export const drawers: { readonly [Type in ExcelComponentType]: ComponentDrawer<Type> } = {
  'rich-text': richText,
  image,
  table,
  'qr-code': qrCode,
  chart,
};

/** In: a component with what surrounds it. Out: the room it takes, and how it draws itself. */
export const prepare = (component: ExcelComponent, surroundings: Surroundings): Prepared => {
  switch (component.type) {
    case 'rich-text':
      return drawers['rich-text'](component, surroundings);
    case 'image':
      return drawers.image(component, surroundings);
    case 'table':
      return drawers.table(component, surroundings);
    case 'qr-code':
      return drawers['qr-code'](component, surroundings);
    case 'chart':
      return drawers.chart(component, surroundings);
  }
};
