/** What every kind of component gives when it is compiled: a function that adds what is left of it to a document. */
import type { DocumentComponent } from '../document-content.js';
import type { Expanded } from './expanded.js';
import type { Scope, State } from '../scope/scope.js';

export type Expander = (state: State, out: Expanded[]) => void;

/** `field` is the component's place in the template. */
export type CompileComponent = (component: DocumentComponent, field: string, scope: Scope) => Expander;
