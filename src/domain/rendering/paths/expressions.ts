/** Checks the members that expressions read against what the variables declare, as paths of texts are. */
import type { FieldError } from '../../core/errors.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { isCalculated } from '../expression/calculated.js';
import { readMembers, type Known } from '../expression/member-reads.js';
import { shorten } from '../scope/path.js';
import { shapeOf } from '../scope/shapes.js';
import type { Nearest, PathFindings } from './known.js';

/** Enough to work with. */
const FINDINGS_MAX = 100;

/** In: what was found in the texts of a template, its checked definitions, and what several checks share. Out: the same with what expressions read. */
export const withExpressions = (found: PathFindings, variables: readonly VariableDefinition[], nearest: Nearest): PathFindings => {
  const { faults, warnings } = checkExpressions(variables, nearest);
  return { faults: [...found.faults, ...faults], warnings: [...found.warnings, ...warnings] };
};

/** Members that no schema declares; one that is nearly a declared one is a fault. */
const checkExpressions = (variables: readonly VariableDefinition[], nearest: Nearest): PathFindings => {
  const shapes = new Map(variables.map((definition) => [definition.name, shapeOf(definition)]));
  const faults: FieldError[] = [];
  const warnings: FieldError[] = [];
  for (const [at, definition] of variables.entries()) {
    if (!isCalculated(definition) || definition.expression === undefined) continue;
    const told = new Set<string>();
    readMembers(definition.expression, shapes, (owner, member) => {
      const key = `${owner.name}.${member}`;
      if (told.has(key) || faults.length + warnings.length >= FINDINGS_MAX) return;
      told.add(key);
      const finding = findingOf(owner, member, nearest);
      if (finding === undefined) return;
      (finding.isFault ? faults : warnings).push({ field: `variables[${at}].expression`, message: finding.message });
    });
  }
  return { faults, warnings };
};

type Finding = Readonly<{ isFault: boolean; message: string }>;

const findingOf = ({ name, shape: { type, members } }: Known, member: string, nearest: Nearest): Finding | undefined => {
  const reads = `reads "${shorten(member)}" of ${shorten(name)}`;
  if (type === 'array') {
    if (member === 'length') return undefined;
    if (nearest(member, ['length']) !== undefined) return { isFault: true, message: `${reads}, which is an array; did you mean "length"?` };
    return { isFault: false, message: `${reads}, which is an array: an item of it has an index, or comes by in map, filter and reduce` };
  }
  // Where the definitions are silent anything may stand.
  if (members.size === 0 || members.has(member)) return undefined;
  const near = nearest(member, members.keys());
  return near === undefined
    ? { isFault: false, message: `${reads}, whose schema declares no such member, so its values are not checked; declare it there` }
    : {
        isFault: true,
        message: `${reads}, whose schema declares no such member; did you mean "${near}"? Write that, or declare "${shorten(member)}" there if it is another one`,
      };
};
