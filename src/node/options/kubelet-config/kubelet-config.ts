import { type HonouredField } from './honoured-field.js';
import { type KUBELET_CONFIG_TABLES } from './kubelet-config-fields.js';

/**
 * A KubeletConfiguration as far as podloop honours it: a value for each honoured row of {@link KUBELET_CONFIG_TABLES}, under the row's
 * key. Durations are in milliseconds; what is absent was not written, or means the default.
 *
 * Source: https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
 */
export type KubeletConfig = Flat<AllOf<{ [Name in keyof Tables]: ValuesOf<Tables[Name]> }[keyof Tables]>>;

type Tables = typeof KUBELET_CONFIG_TABLES;

/** The values of the honoured rows of a table. */
type ValuesOf<Table> = {
  readonly [Field in keyof Table as KeyOf<Field, Table[Field]>]?: ValueOf<Table[Field]>;
};

/** The name of a row's value; no name for rows that are ignored, or that have a table of their own. */
type KeyOf<Field, Facts> =
  Facts extends Pick<HonouredField<unknown, infer Key>, 'key'> ? (Key extends '' ? Field : Key) : never;

type ValueOf<Facts> = Facts extends Pick<HonouredField<infer Value, string>, 'read'> ? Value : never;

/** The intersection of all members of a union. */
type AllOf<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The same, as editors show it best. */
type Flat<Value> = { readonly [Name in keyof Value]: Value[Name] };
