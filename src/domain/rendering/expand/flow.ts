/** Page breaks and what is kept on one sheet: the same for every component, said beside what it becomes. */
import type { JsonObject } from '../../core/json.js';
import { pageBreaks } from '../props.js';
import type { Scope } from '../scope/scope.js';
import type { Flow } from './expanded.js';
import type { Expander } from './expander.js';
import { compileWord, defined } from './style.js';

/** In: the props of a component and what expands it. Out: the same, with the flow of its props on what it becomes. */
export const withFlow = (props: JsonObject | undefined, expand: Expander, scope: Scope): Expander => {
  if (props === undefined || (props['pageBreak'] ?? props['keepTogether'] ?? props['keepWithNext']) === undefined) return expand;
  const pageBreak = compileWord(props['pageBreak'], pageBreaks, scope);
  const kept: Flow = {
    ...(props['keepTogether'] === true ? { keepTogether: true } : {}),
    ...(props['keepWithNext'] === true ? { keepWithNext: true } : {}),
  };
  return (state, out) => {
    const first = out.length;
    expand(state, out);
    const flow: Flow = { ...kept, ...defined({ pageBreak: pageBreak(state) }) };
    for (let at = first; at < out.length; at++) {
      const made = out[at];
      if (made !== undefined) out[at] = { ...made, flow };
    }
  };
};
