/** Holds bodies of webhook events against their schemas, which the API description shows. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { webhookBodies } from '../../src/api/webhooks.js';
import { formats } from './described-answers.js';

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { ...formats } });

const checks: ReadonlyMap<string, ValidateFunction> = new Map(
  webhookBodies.map(({ kind, schema }) => [kind, ajv.compile(schema)]),
);

/** Out: undefined where the body is as described; else what differs. */
export const bodyDifference = (body: string): string | undefined => {
  const value: unknown = JSON.parse(body);
  const { event } = value as Readonly<{ event: string }>;
  const check = checks.get(event);
  if (check === undefined) return `${event} is not described`;
  if (check(value)) return undefined;
  return `${event}: ${ajv.errorsText(check.errors)} ${JSON.stringify(check.errors?.map(({ params }) => params as unknown))}`;
};
