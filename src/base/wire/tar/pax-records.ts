import { type DecodeName, TarError } from './tar-entry.js';
import { decodeText } from './tar-header.js';

/** What extended headers say: the value of a key, or a list where a key may stand many times. */
export interface PaxRecords {
  readonly values: ReadonlyMap<string, string>;
  /** GNU.sparse.offset and .numbytes of format 0.0, as they stand there, one after the other. */
  readonly sparsePairs: readonly string[];
}

/** Before any extended header. */
export const NO_RECORDS: PaxRecords = { values: new Map(), sparsePairs: [] };

/** Reads records of the form `LENGTH KEY=VALUE\n`, LENGTH being that of the whole record, and puts them over `base`. */
export function parsePaxRecords(
  data: Buffer,
  base: PaxRecords,
  decodeName: DecodeName = decodeText,
): PaxRecords {
  const values = new Map(base.values);
  const sparsePairs: string[] = [];
  for (let at = 0; at < data.length;) {
    const space = data.indexOf(0x20, at);
    const digits = space < 0 || space - at > 9 ? '' : data.toString('latin1', at, space);
    const end = /^[0-9]+$/.test(digits) ? at + Number(digits) : -1;
    if (end <= space || end > data.length || data[end - 1] !== 0x0a)
      throw new TarError('an extended header is malformed');
    const record = data.subarray(space + 1, end - 1);
    const equals = record.indexOf(0x3d);
    if (equals <= 0) throw new TarError('an extended header has a record without a key');
    const key = decodeText(record.subarray(0, equals));
    const value = record.subarray(equals + 1);
    if (key === 'GNU.sparse.offset' || key === 'GNU.sparse.numbytes')
      sparsePairs.push(value.toString('latin1'));
    else if (key.startsWith('SCHILY.xattr.')) values.set(key, value.toString('latin1'));
    else if (value.length === 0) values.delete(key);
    else values.set(key, decodeName(value));
    at = end;
  }
  return { values, sparsePairs };
}

/** A whole number that a record says, or undefined where none does. */
export function paxNumber({ values }: PaxRecords, key: string): number | undefined {
  const text = values.get(key);
  if (text === undefined) return undefined;
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw new TarError(`an extended header says ${key}=${text.slice(0, 40)}`);
  return value;
}

/** A time that a record says, in seconds with fraction, or undefined where none does. */
export function paxTime({ values }: PaxRecords, key: string): number | undefined {
  const text = values.get(key);
  if (text === undefined) return undefined;
  if (!/^-?[0-9]{1,14}(\.[0-9]*)?$/.test(text))
    throw new TarError(`an extended header says ${key}=${text.slice(0, 40)}`);
  return Number(text);
}
