import { dirname, isAbsolute, resolve } from 'node:path';
import { type FieldFacts, supported } from '#kube/fields/field-facts.js';
import { type FieldPath } from '#kube/fields/field-path.js';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { type ProblemList } from '#kube/validation/problem-list.js';
import { readDuration } from './read-duration.js';

/** Adds what is wrong with a value, by the kubelet's own rules. */
export type ValueCheck<Value> = (value: Value, path: FieldPath, list: ProblemList) => void;

/** What a field becomes: a value, undefined for the default, or the problem with what is written. */
export type ReadResult<Value> = { readonly value: Value | undefined } | { readonly problem: string };

/** A field of the file that podloop honours: what it becomes in a configuration, and what its value must be. */
export interface HonouredField<Value, Key extends string = ''> extends FieldFacts {
  /** The name of the value in the configuration; empty for the field's own. */
  readonly key: Key;
  /** Converts what is written. `file` is where it is written: paths are relative to its folder. */
  readonly read: (written: unknown, file: string) => ReadResult<Value>;
  readonly check?: ValueCheck<Value>;
  /** What is written is a duration, which messages say. */
  readonly isDuration?: boolean;
}

interface Honouring<Value, Key extends string> {
  readonly key?: Key;
  /** Converts what is written (default: it stays as it is). */
  readonly read?: (written: never, file: string) => Value;
  readonly check?: ValueCheck<Value>;
}

/** A field of this type of the tables, whose value is taken as it is written unless `read` converts it. */
export function honoured<Value, Key extends string = ''>(
  type: string,
  { key, read, check }: Honouring<Value, Key> = {},
): HonouredField<Value, Key> {
  return {
    ...supported(type),
    key: key ?? ('' as Key),
    read: (written, file) => ({
      value: read === undefined ? (written as Value) : read(written as never, file),
    }),
    ...(check === undefined ? {} : { check }),
  };
}

/** A whole number. With `zeroIsDefault` zero means the default, as in a kubelet. */
export function number(
  options: {
    readonly type?: 'int32' | 'int64';
    readonly check?: ValueCheck<number>;
    readonly zeroIsDefault?: boolean;
  } = {},
): HonouredField<number> {
  const { type = 'int32', zeroIsDefault = false, ...rest } = options;
  return {
    ...honoured<number>(type, rest),
    read: (written) => ({ value: zeroIsDefault && written === 0 ? undefined : (written as number) }),
  };
}

/** The path of a file; paths are relative to the folder of the configuration file. */
export function path(extras: { readonly default?: string } = {}): HonouredField<string> {
  return {
    ...honoured<string>('string', { read: besides }),
    ...extras,
  };
}

/** A Go duration such as `1m30s`, in milliseconds under `key`. Zero means the default, as in a kubelet. */
export function duration<Key extends string>(
  key: Key,
  check?: ValueCheck<number>,
): HonouredField<number, Key> {
  return {
    ...honoured<number, Key>('string', { key, ...(check === undefined ? {} : { check }) }),
    isDuration: true,
    read: (written) => {
      const read = readDuration(written as string);
      return 'problem' in read ? read : { value: read.ms === 0 ? undefined : read.ms };
    },
  };
}

/** A number above 0 that is at most 1; null means the default. */
export function factor(): HonouredField<number> {
  const problem = 'must be a number that is more than 0 and at most 1, such as 0.9';
  return {
    ...honoured<number>('any'),
    read: (written) => {
      if (written === null) return { value: undefined };
      return typeof written === 'number' && written > 0 && written <= 1 ? { value: written } : { problem };
    },
  };
}

/** A quantity of bytes such as `10Mi`, under `key`. */
export function size<Key extends string>(key: Key, check: ValueCheck<number>): HonouredField<number, Key> {
  const read = (written: string): number => Number(toWholeUnits(findQuantity(written)!));
  return honoured<number, Key>('quantity', { key, read, check });
}

function besides(written: string, file: string): string {
  return written === '' || isAbsolute(written) ? written : resolve(dirname(file), written);
}
