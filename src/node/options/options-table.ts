import { type KubeletConfig } from './kubelet-config/kubelet-config.js';

/** What a value has to be. */
export type AgentOptionType =
  | 'text'
  | 'path'
  | 'duration'
  /** A whole number that is not negative. */
  | 'count'
  /** A whole number; a negative one stands for no limit. */
  | 'limit'
  | 'percent'
  /** From 0 to 65535; undefined for whatever the option says of that. */
  | 'port'
  | 'switch'
  | 'size'
  | 'map'
  /** Words, given one by one or with commas between them. */
  | 'list'
  | readonly string[];

/** One row of the table. */
export interface AgentOptionFacts<Value> {
  readonly type: AgentOptionType;
  readonly default: Value;
  /** What it is unless told where there is a cluster; `default` when absent. */
  readonly defaultInCluster?: Value;
  /** Its flag; empty when only a configuration file can say it. */
  readonly flag: string;
  /** Other names of the flag: the kubelet's, where ours is another. */
  readonly aliases?: readonly string[];
  /** The field of a KubeletConfiguration, for the reference page. */
  readonly field?: string;
  /** The field's value in the form that the option has. */
  readonly fromConfig?: (config: KubeletConfig) => Value | undefined;
  /** One sentence for the reference page and for `--help`. */
  readonly doc: string;
}

/** The rows of a group of options. */
export type OptionsTable<Options> = {
  readonly [Name in keyof Options]: AgentOptionFacts<Options[Name]>;
};
