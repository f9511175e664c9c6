/** What the server is asked to read. */
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams, { type ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { commitOf } from './records.js';
import type { Position } from '../../../domain/ports/event-store.js';

export type ReadRange = Readonly<{
  /** Of all streams, those whose names begin with one of these; the server filters by one thing only. */
  prefixes?: readonly string[];
  /** Instead, events whose stored names begin with one of these. Without either everything is read. */
  types?: readonly string[];
  /** The place to begin: where backwards, the end. */
  from: Position | 'end';
  countMax?: number;
  /** Whether what comes later is sent as it comes. */
  live?: boolean;
}>;

/** So many events the server looks at before it tells a filtered subscription how far it is. */
const SEARCH_WINDOW = 64;

export const readAllRequest = ({ prefixes, types, from, countMax, live = false }: ReadRange): ReadReq => {
  const all = new streams.ReadReq.Options.AllOptions();
  if (from === 'end') all.setEnd(new shared.Empty());
  else if (from < 1) all.setStart(new shared.Empty());
  else {
    const position = new streams.ReadReq.Options.Position();
    const commit = String(commitOf(from));
    position.setCommitPosition(commit);
    position.setPreparePosition(commit);
    all.setPosition(position);
  }
  const options = optionsOf(from === 'end' && !live, countMax, live);
  options.setAll(all);
  const filter = filterMessage(prefixes, types);
  if (filter === undefined) options.setNoFilter(new shared.Empty());
  else options.setFilter(filter);
  return requestOf(options);
};

const filterMessage = (
  prefixes: readonly string[] | undefined,
  types: readonly string[] | undefined,
): ReadReq.Options.FilterOptions | undefined => {
  const wanted = types ?? prefixes;
  if (wanted === undefined) return undefined;
  const names = new streams.ReadReq.Options.FilterOptions.Expression();
  names.setPrefixList([...wanted]);
  const filter = new streams.ReadReq.Options.FilterOptions();
  if (types === undefined) filter.setStreamIdentifier(names);
  else filter.setEventType(names);
  filter.setMax(SEARCH_WINDOW);
  filter.setCheckpointintervalmultiplier(1);
  return filter;
};

export const readStreamRequest = (stream: string, from: number | 'end', countMax?: number): ReadReq => {
  const of = new streams.ReadReq.Options.StreamOptions();
  of.setStreamIdentifier(identifierOf(stream));
  if (from === 'end') of.setEnd(new shared.Empty());
  else of.setRevision(String(from));
  const options = optionsOf(from === 'end', countMax, false);
  options.setStream(of);
  options.setNoFilter(new shared.Empty());
  return requestOf(options);
};

const optionsOf = (isBackwards: boolean, countMax: number | undefined, live: boolean): ReadReq.Options => {
  const options = new streams.ReadReq.Options();
  const ids = new streams.ReadReq.Options.UUIDOption();
  ids.setString(new shared.Empty());
  options.setUuidOption(ids);
  options.setResolveLinks(false);
  options.setReadDirection(isBackwards ? 1 : 0);
  if (live) options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
  else options.setCount(String(countMax ?? Number.MAX_SAFE_INTEGER));
  return options;
};

const requestOf = (options: ReadReq.Options): ReadReq => {
  const request = new streams.ReadReq();
  request.setOptions(options);
  return request;
};

const identifierOf = (stream: string) => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream));
  return identifier;
};
