/** `sealpost show`: what a stream adds up to, now or at a moment of the past. */
import { streamState } from '../commands/ops/stream-states.js';
import { parseAsOf, type AsOf } from '../domain/audit/as-of.js';
import { parseEmailId, type StreamName } from '../domain/core/ids.js';
import { isSecret, NOT_SHOWN } from './not-shown.js';
import { print } from './core/output.js';
import { withEngine } from './core/engine.js';

export type ShowOptions = Readonly<{ asOf?: string }>;

export const show = (given: string, options: ShowOptions): Promise<void> =>
  withEngine(async (engine) => {
    const stream = streamNameOf(given);
    const shown = await streamState(engine.eventLog, stream, asOfOf(options.asOf));
    switch (shown) {
      case 'unknown':
        throw new Error(
          `there is no stream ${stream}; streams are named email-<id>, batch-<id>, template-<id>, apiKey-<id>, team-<id>, ledger`,
        );
      case 'not yet':
        throw new Error(`${stream} has no event up to ${options.asOf}; it began later`);
      case 'no such event':
        throw new Error(`${options.asOf} is the id of no event of ${stream}; \`sealpost replay ${stream} --json\` lists them`);
      default:
        print(JSON.stringify(shown, forScreen, 2));
    }
  });

/** In: a stream, or the id of an email. */
export const streamNameOf = (text: string): StreamName => {
  const id = parseEmailId(text);
  return (id === undefined ? text : `email-${id}`) as StreamName;
};

const asOfOf = (text: string | undefined): AsOf | undefined => {
  if (text === undefined) return undefined;
  const asOf = parseAsOf(text);
  if (asOf === undefined) throw new Error(`--as-of ${text} is neither an ISO 8601 date, nor a time with a zone, nor the id of an event`);
  return asOf;
};

/** JSON has no maps. */
const forScreen = (name: string, value: unknown): unknown => {
  if (value instanceof Map) return Object.fromEntries(value as ReadonlyMap<string, unknown>);
  const isHidden = (name === 'hash' && typeof value === 'string') || (isSecret(name) && value !== undefined && value !== null);
  return isHidden ? NOT_SHOWN : value;
};
