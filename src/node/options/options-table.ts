import { type KubeletConfig } from './kubelet-config/kubelet-config.js';

/** The headings of `podloop run --help`, in their order. */
export const FLAG_GROUPS = [
  'Common flags',
  'Pods and manifests',
  'Container runtime',
  'Images and logs',
  'Node and resources',
  'Cluster',
  'Server and security',
  'Logging and telemetry',
  'Kubelet names',
] as const;
/** One of {@link FLAG_GROUPS}. */
export type FlagGroup = (typeof FLAG_GROUPS)[number];

/** The type of an option's value. */
export type AgentOptionType =
  | 'text'
  | 'path'
  | 'duration'
  /** A duration between two times; zero and negative ones stand for never. */
  | 'period'
  /** A number above 0 that is at most 1; undefined for none. */
  | 'factor'
  /** A whole number that is not negative. */
  | 'count'
  /** A whole number; the option defines what a negative one and undefined mean. */
  | 'limit'
  | 'percent'
  /** From 0 to 65535; the option defines what undefined means. */
  | 'port'
  | 'switch'
  /** A switch that may be left open: undefined. */
  | 'choice'
  | 'size'
  | 'map'
  /** Amounts by resource, as `cpu=200m,memory=500Mi`. */
  | 'amounts'
  /** Words, separated by commas or given one by one. */
  | 'list'
  | readonly string[];

/** One row of the table. */
export interface AgentOptionFacts<Value> {
  readonly type: AgentOptionType;
  readonly default: Value;
  /** The default in a cluster (default: the value of `default`). */
  readonly defaultInCluster?: Value;
  /** What help says of the default when the value does not show it, as when it depends on the machine. */
  readonly defaultText?: string;
  /** The flag; empty if only a configuration file can set the option. */
  readonly flag: string;
  /** The heading of the flag in help; only options without a flag have none. */
  readonly group?: FlagGroup;
  /** Other names of the flag: the kubelet's, where podloop uses another one. */
  readonly aliases?: readonly string[];
  /** The field of a KubeletConfiguration, for the reference page. */
  readonly field?: string;
  /** Converts the field's value to the option's value. */
  readonly fromConfig?: (config: KubeletConfig) => Value | undefined;
  /** One sentence for the reference page and for `--help`. */
  readonly doc: string;
}

/** The rows of a group of options. */
export type OptionsTable<Options> = {
  readonly [Name in keyof Options]: AgentOptionFacts<Options[Name]>;
};
