/**
 * Walks through the hits of a search whose filters the search index does not know, newest first, zone by zone.
 * What passes is found in the cheapest way: hit by hit in the documents where many pass, from the set of documents that
 * an index of the collection gives for the zone where few do, or the other way round, from that set to the texts,
 * where the phrase stands nearly everywhere. That last way may also find documents that still wait for the search index.
 */
import type { CollectionSpec } from '../../domain/ports/read-models.js';
import type { Statement } from '../sqlite/database.js';
import { columnOf, tableOf } from './names.js';
import { allOf, whereClause, type Fragment } from './query.js';
import type { Contains, Texts } from './search-texts.js';
import type { Zone } from './zones.js';

/** `isWhole` is false where the walk was given up before it had found all that was wanted. */
export type Found = Readonly<{ seqs: readonly number[]; isWhole: boolean }>;

export type WalkRequest = Readonly<{
  before: number;
  /** All filters, of which the range seeks no place in an index, for the bounds of the zone do. */
  zoneFilters: Fragment;
  /** All but the scope, which the hits have passed. */
  otherFilters: Fragment;
  /** All but scope and range. */
  insideFilters: Fragment;
  /** The index of the collection that serves the filters, as SQL. */
  index: string;
  contains: Contains;
  hits: Readonly<{ lazy: (first: number, end: number) => Iterator<number> }>;
  zones: readonly Zone[];
}>;

/** At most `most` are found; once there are `least`, the walk is given up where it has taken more than `effortMax` in all. */
export type Wanted = Readonly<{ least: number; most: number; effortMax: number }>;

export type Walk = (request: WalkRequest, wanted: Wanted) => Found;

/** What a step takes, in units of the half microsecond that it takes to go on by one hit. */
const efforts = { hit: 1, ofSet: 1, lookUp: 6, text: 8 } as const;

/** After so many hits it is known how many pass. */
const triedMin = 128;
/** Where at least this share of the hits pass, they are looked up one by one. */
const passingMin = 0.25;
/** Hits for each position of the log; where there are fewer, they are looked up too. */
const densityMin = 1 / 512;

export const openWalk = (spec: CollectionSpec, prepare: (sql: string) => Statement, textOf: Texts['textOf']): Walk => {
  const table = tableOf(spec.name);

  /** The documents of a zone that pass all filters, along an index that holds their fields. */
  const membersOf = ({ zoneFilters, index }: WalkRequest, { first, end, bounds }: KnownZone): number[] => {
    const column = `d.${columnOf(spec.searchRange!)}`;
    // The plus keeps SQLite from walking through the documents themselves.
    const inZone = {
      sql: `${column} >= ? AND ${column} <= ? AND +d.seq >= ? AND +d.seq < ?`,
      values: [bounds.low, bounds.high, first, end],
    };
    const where = allOf(zoneFilters, inZone);
    return prepare(`SELECT d.seq FROM ${table} AS d${index}${whereClause(where)}`)
      .pluck()
      .all(...where.values) as number[];
  };

  const lookUpBy = (filters: Fragment): Test => {
    if (filters.sql === '') return { passes: () => true, effort: 0 };
    const statement = prepare(`SELECT 1 FROM ${table} AS d WHERE d.seq = ? AND ${filters.sql}`).pluck();
    return { passes: (seq) => statement.get(seq, ...filters.values) !== undefined, effort: efforts.lookUp };
  };

  return (request, { least, most, effortMax }) => {
    const seqs: number[] = [];
    const cursor = openCursor(request);
    const tests = { inside: openTally(lookUpBy(request.insideFilters)), cut: openTally(lookUpBy(request.otherFilters)) };
    let effort = 0;
    const isOver = (): boolean => seqs.length === most || (effort > effortMax && seqs.length >= least);

    const byTexts = (members: readonly number[]): void => {
      cursor.leave();
      for (const seq of [...members].sort((a, b) => b - a)) {
        effort += efforts.text;
        const text = textOf(seq);
        if (text !== undefined && request.contains(text)) seqs.push(seq);
        if (isOver()) return;
      }
    };

    const byHits = (zone: Zone, tally: Tally): void => {
      if (!cursor.mayHave(zone)) return;
      let test = tally.lookUp;
      let isSet = false;
      for (;;) {
        if (!isSet && isKnown(zone) && tally.prefersSet() && cursor.density() >= densityMin) {
          const members = membersOf(request, zone);
          effort += members.length * efforts.ofSet;
          const hitsExpected = cursor.density() * (cursor.place(zone) - zone.first);
          if (members.length * efforts.text < hitsExpected * efforts.hit) return byTexts(members.filter((seq) => seq < cursor.place(zone)));
          const set = new Set(members);
          [test, isSet] = [{ passes: (seq) => set.has(seq), effort: 0 }, true];
        }
        const hit = cursor.next(zone);
        if (hit === undefined) return;
        effort += efforts.hit + test.effort;
        const passes = test.passes(hit);
        tally.add(passes);
        if (passes) seqs.push(hit);
        if (isOver()) return;
      }
    };

    try {
      for (const zone of request.zones) {
        byHits({ ...zone, end: Math.min(zone.end, request.before) }, zone.isInside ? tests.inside : tests.cut);
        if (isOver()) return { seqs, isWhole: seqs.length === most };
      }
      return { seqs, isWhole: true };
    } finally {
      cursor.leave();
    }
  };
};

type KnownZone = Zone & Readonly<{ bounds: NonNullable<Zone['bounds']> }>;
const isKnown = (zone: Zone): zone is KnownZone => zone.bounds !== undefined;

type Test = Readonly<{ passes: (seq: number) => boolean; effort: number }>;
type Tally = Readonly<{ lookUp: Test; add: (passed: boolean) => void; prefersSet: () => boolean }>;

/** How many hits pass of those that were tried. */
const openTally = (lookUp: Test): Tally => {
  let [tried, passed] = [0, 0];
  return {
    lookUp,
    add: (passes) => {
      tried += 1;
      if (passes) passed += 1;
    },
    prefersSet: () => lookUp.effort > 0 && tried >= triedMin && passed < tried * passingMin,
  };
};

/** One walk down the hits, zone after zone. While it is under way it keeps a statement open: `leave` ends that, and `next` begins anew. */
const openCursor = ({ hits, zones }: WalkRequest) => {
  const lowest = zones.at(-1)?.first ?? 0;
  let iterator: Iterator<number> | undefined;
  let pending: number | undefined;
  let place = Number.MAX_SAFE_INTEGER;
  let [visited, span] = [0, 0];

  const advance = (): void => {
    const step = iterator!.next();
    pending = step.done === true ? undefined : step.value;
  };

  return {
    /** The next hit in the zone, undefined where there is none. */
    next: (zone: Zone): number | undefined => {
      if (iterator === undefined) {
        place = Math.min(place, zone.end);
        iterator = hits.lazy(lowest, place);
        advance();
      }
      // Zones that no document of the range is in are not walked, yet their hits are passed.
      while (pending !== undefined && pending >= zone.end) advance();
      const hit = pending;
      if (hit === undefined || hit < zone.first) {
        span += Math.min(place, zone.end) - zone.first;
        place = zone.first;
        return undefined;
      }
      visited += 1;
      span += Math.min(place, zone.end) - hit;
      place = hit;
      advance();
      return hit;
    },
    /** False where it is known that there is no further hit in the zone. */
    mayHave: (zone: Zone): boolean => iterator === undefined || (pending !== undefined && pending >= zone.first),
    /** What lies in the zone from here on is below this. */
    place: (zone: Zone): number => Math.min(place, zone.end),
    /** Hits for each position so far. */
    density: (): number => (span === 0 ? 0 : visited / span),
    leave: (): void => {
      iterator?.return?.();
      iterator = pending = undefined;
    },
  };
};
