/** The mails under measurement, each as we render it and as it is written by hand. */
import { readFileSync } from 'node:fs';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { emptyCompany } from '../../src/domain/teams/state.js';
import { parcelByHand } from '../limits/components.js';
import { renderByHand, type OrderVariables } from '../limits/render.js';
import { renderOrder, type OrderVariables as PeerOrder } from '../peers/render.js';
import { company } from './company.js';
import { everyComponentTemplate, parcel } from './every-component.js';
import { orderRequest } from './orders.js';
import { projectRoot } from './scratch.js';

const at = '2026-11-21T10:00:00Z';

const compiled = (template: unknown) =>
  openRenderer({ limits: defaultLimits }).compileEmail(checkEmailTemplate(template, defaultLimits).content);

/**
 * The order confirmation that the figures are about: it stays as it is, so that figures of different days are of the
 * same mail.
 */
const fileOf = (name: string): JsonObject =>
  JSON.parse(readFileSync(`${projectRoot}bench/support/${name}.json`, 'utf8')) as JsonObject;

const orderOf = (rows: number): OrderVariables => {
  const variables = fileOf('order-confirmation-call')['variables'] as OrderVariables;
  const names = ['Ceramic mug', 'Pour-over kettle', 'Fish & chips <large>', 'Ethiopia Guji', 'Filter papers'];
  variables.order.items = Array.from({ length: rows }, (_, row) => ({
    name: names[row % names.length] ?? '',
    variant: `Lot ${row + 1}`,
    quantity: row + 1,
    total: (row + 1) * 12.35,
  }));
  return variables;
};

/** An order confirmation of that many rows. */
export const orderMails = (rows: number) => {
  const { subject, variables: definitions, schema } = fileOf('order-confirmation');
  const render = compiled({ subject, variables: definitions, schema });
  const variables = orderOf(rows);
  return {
    ours: () => render({ variables, environment: { at, company } }),
    byHand: () => renderByHand(variables, company, at),
  };
};

/** The order confirmation of the samples for the n-th order: by the service, and by the peer. */
export const sampleOrderMails = (n: number) => {
  const sample = JSON.parse(readFileSync(`${projectRoot}samples/emails/order-confirmation.json`, 'utf8')) as JsonObject;
  const { subject, variables: definitions, schema, locale, timeZone } = sample;
  const render = compiled({ subject, variables: definitions, schema, locale, timeZone });
  const { variables } = orderRequest(n);
  const name = 'Bench';
  return {
    ours: () => render({ variables, environment: { at, company: { ...emptyCompany, name, legalName: name } } }),
    peer: () => renderOrder(variables as unknown as PeerOrder, name, at.slice(0, 4)),
  };
};

/**
 * A parcel with every component, or one with a type left out; `draws` says whether the program by hand draws a code.
 */
export const parcelMails = (draws: boolean, template: unknown = everyComponentTemplate) => {
  const render = compiled(template);
  return {
    ours: () => render({ variables: parcel, environment: { at, company: emptyCompany } }),
    byHand: () => parcelByHand(parcel, draws),
  };
};
