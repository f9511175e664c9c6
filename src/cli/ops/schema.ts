/** `sealpost schema KIND`: the JSON schema of the files that make templates, for editors. */
import { templateJsonSchema, templateKinds } from '../../api/templates/json-schema.js';
import { print } from '../core/output.js';

export const schema = (kind: string): void => {
  const known = templateKinds.find((name) => name === kind);
  if (known === undefined) throw new Error(`"${kind}" is no kind of template: it must be one of ${templateKinds.join(', ')}`);
  print(JSON.stringify(templateJsonSchema(known), undefined, 2));
};
