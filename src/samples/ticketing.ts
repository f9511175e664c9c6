/** The event and the tickets that a mail and its document are about. */
import type { JsonObject } from '../domain/core/json.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';

const event = {
  name: 'Open cupping',
  subtitle: 'Six coffees from three farms, one long table',
  startsAt: '2026-12-04T18:30:00Z',
  doorsAt: '2026-12-04T18:00:00Z',
  venue: 'Northwind Roastery',
  street: 'Rua do Sol 3',
  city: '1200-001 Lisboa',
  url: 'https://example.com/events/cupping',
};

const tickets = [
  { code: 'OC-8F3A-27QX', holder: 'Ada Example', kind: 'Standard', seat: 'Table 2, seat 5' },
  { code: 'OC-8F3A-28RW', holder: 'Grace Example', kind: 'Standard', seat: 'Table 2, seat 6' },
];

export const exampleTickets: JsonObject = { event, tickets };

/** What the mail with tickets and the tickets themselves take. */
export const ticketVariables: readonly VariableDefinition[] = [
  {
    name: 'event',
    type: 'object',
    required: true,
    description: 'What, when and where',
    defaultValue: event,
    schema: {
      type: 'object',
      properties: {
        name: { type: 'string', required: true },
        subtitle: { type: 'string' },
        startsAt: { type: 'date', required: true, format: { style: 'datetime', dateStyle: 'full', timeStyle: 'short' } },
        doorsAt: { type: 'date', format: { style: 'time', timeStyle: 'short' } },
        venue: { type: 'string', required: true },
        street: { type: 'string' },
        city: { type: 'string' },
        url: { type: 'string' },
      },
    },
  },
  {
    name: 'tickets',
    type: 'array',
    itemType: 'object',
    required: true,
    description: 'One for each who comes',
    defaultValue: tickets,
    schema: {
      type: 'array',
      itemType: 'object',
      itemSchema: {
        properties: {
          code: { type: 'string', required: true, description: 'What the QR code holds' },
          holder: { type: 'string', required: true },
          kind: { type: 'string' },
          seat: { type: 'string' },
        },
      },
    },
  },
];
