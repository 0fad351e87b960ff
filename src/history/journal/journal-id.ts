/** The position of a record: its time, and the number of records before it since the history began. */
interface Place {
  readonly ms: number;
  readonly number: number;
}

const MS_DIGITS = 15;
const NUMBER_DIGITS = 10;
const PREFIX = 'r';

/** A key before those of all records. */
export const FIRST_KEY = PREFIX;
/** A key after those of all records. */
export const END_KEY = `${PREFIX}~`;

/** The key of a record in the store: keys sort like ids. Throws RangeError for an invalid id. */
export function toKey(id: string): string {
  const place = parseId(id);
  if (place === undefined) throw new RangeError(`${JSON.stringify(id)} is no id of a record`);
  return keyOf(place);
}

/** The key where records of this time or later begin. */
export function keyAtTime(ms: number): string {
  return keyOf({ ms: Math.max(0, Math.ceil(ms)), number: 0 });
}

/** A key between that of a record and those of all later ones. */
export function keyBehind(key: string): string {
  return `${key}~`;
}

/** The id of the record under a key; undefined for a key of something else. */
export function findId(key: string): string | undefined {
  const [, ms, number] = /^r(\d{15})-(\d{10})$/.exec(key) ?? [];
  return ms === undefined ? undefined : `${Number(ms)}-${Number(number)}`;
}

/** Whether a text is a valid id. */
export function isId(text: string): boolean {
  return parseId(text) !== undefined;
}

/** The milliseconds of an id. */
export function timeOfId(id: string): number {
  return parseId(id)?.ms ?? 0;
}

/** How many records came between two, given their keys; 0 if unknown. */
export function countBetween(earlier: string, later: string): number {
  const [before, after] = [placeOf(earlier), placeOf(later)];
  return before === undefined || after === undefined ? 0 : Math.max(0, after.number - before.number - 1);
}

/** The id of the record before the one with this key. */
export function idBefore(key: string): string | undefined {
  const place = placeOf(key);
  return place === undefined || place.number === 0 ? undefined : `${place.ms}-${place.number - 1}`;
}

/** Generates increasing ids: when the clock is set back, they continue with the newest time. */
export class JournalIds {
  #last: Place;

  /** `last`: the id of the newest existing record. */
  constructor(last: string | undefined) {
    this.#last = parseId(last ?? '') ?? { ms: 0, number: -1 };
  }

  next(nowMs: number): string {
    const { ms, number } = this.#last;
    // Numbers are consecutive, so a gap shows that a record is missing.
    this.#last = { ms: Math.max(ms, Math.floor(nowMs)), number: number + 1 };
    return `${this.#last.ms}-${this.#last.number}`;
  }
}

function placeOf(key: string): Place | undefined {
  return parseId(findId(key) ?? '');
}

function parseId(id: string): Place | undefined {
  const [, ms, number] = /^(\d{1,15})-(\d{1,10})$/.exec(id) ?? [];
  return ms === undefined || number === undefined ? undefined : { ms: Number(ms), number: Number(number) };
}

function keyOf({ ms, number }: Place): string {
  return `${PREFIX}${String(ms).padStart(MS_DIGITS, '0')}-${String(number).padStart(NUMBER_DIGITS, '0')}`;
}
