import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  AGENT_OPTIONS,
  type AgentOptionFacts,
  type AgentOptions,
  type AgentOptionType,
  type GivenAgentOptions,
} from '#node';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { parseDurationFlag, parseWholeFlag } from './flag-values.js';

/** Which flags {@link addAgentFlags} adds, and what it says of them. */
export interface AgentFlagChoices {
  /** All unless told. */
  readonly only?: readonly (keyof AgentOptions)[];
  /** What holds here unless told, where that is not the table's. */
  readonly machine?: GivenAgentOptions;
}

/** Adds a flag for every option of the agent's table that has one, and its other names without showing them. */
export function addAgentFlags(command: Command, { only, machine = {} }: AgentFlagChoices = {}): void {
  for (const [name, facts] of rows()) {
    if (facts.flag === '' || only?.includes(name) === false) continue;
    // Commander shows only defaults that it sets itself, which would outdo the configuration file.
    const unlessTold = describeDefaults(facts, machine[name]);
    const doc = unlessTold === undefined ? facts.doc : `${facts.doc} (default: ${unlessTold})`;
    command.addOption(toOption(facts.flag, { ...facts, doc }));
    for (const alias of facts.aliases ?? []) {
      command.addOption(
        toOption(alias, { ...facts, doc: `The same as ${facts.flag}, under the kubelet’s name` }),
      );
    }
  }
}

/** What the flags of a parsed command say, by the names of the options; `flags` is what commander gives. */
export function readAgentFlags(flags: Readonly<Record<string, unknown>>): GivenAgentOptions {
  const entries = rows().flatMap(([name, { flag, aliases = [] }]) => {
    const value = [flag, ...aliases].map((each) => flags[camelCase(each)]).find((each) => each !== undefined);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(entries) as GivenAgentOptions;
}

function rows(): [keyof AgentOptions, AgentOptionFacts<unknown>][] {
  return Object.entries(AGENT_OPTIONS) as [keyof AgentOptions, AgentOptionFacts<unknown>][];
}

function camelCase(flag: string): string {
  return flag.slice(2).replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function toOption(flag: string, { type, doc }: AgentOptionFacts<unknown>): Option {
  switch (type) {
    case 'switch':
      // As with a kubelet: --flag and --flag=false.
      return new Option(`${flag} [bool]`, doc).argParser(parseSwitch);
    case 'text':
      return new Option(`${flag} <text>`, doc);
    case 'path':
      return new Option(`${flag} <path>`, doc);
    case 'duration':
      return new Option(`${flag} <duration>`, doc).argParser(parseDurationFlag);
    case 'size':
      return new Option(`${flag} <size>`, doc).argParser(parseSize);
    case 'map':
      return new Option(`${flag} <name:value>`, doc).argParser(addHeader);
    case 'list':
      return new Option(`${flag} <words>`, doc).argParser(addWords);
    case 'count':
    case 'limit':
    case 'percent':
    case 'port':
      return new Option(`${flag} <number>`, doc).argParser(parseWholeFlag);
    default:
      return new Option(`${flag} <word>`, doc).choices(type.filter((word) => word !== ''));
  }
}

function describeDefaults(
  { type, default: usual, defaultInCluster }: AgentOptionFacts<unknown>,
  here: unknown,
): string | undefined {
  const value = here ?? usual;
  if (defaultInCluster !== undefined) {
    return `${formatValue(type, value)}; in a cluster ${formatValue(type, defaultInCluster)}`;
  }
  if (isUntold(value) || type === 'map' || type === 'list' || value === false) return undefined;
  return formatValue(type, value);
}

function formatValue(type: AgentOptionType, value: unknown): string {
  if (type === 'duration') return formatGoDuration(value as number);
  if (type === 'size') return `${(value as number) / 2 ** 20}Mi`;
  return String(value);
}

function parseSwitch(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw new InvalidArgumentError('use true or false');
}

function parseSize(text: string): number {
  const quantity = findQuantity(text);
  if (quantity === undefined) throw new InvalidArgumentError('use a size such as 10Mi');
  return Number(toWholeUnits(quantity));
}

function addWords(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').filter((word) => word !== '')];
}

type Headers = Readonly<Record<string, readonly string[]>>;

function addHeader(text: string, before: Headers | undefined): Headers {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('use Name:value');
  return { ...before, [name]: [...(before?.[name] ?? []), value] };
}

function isUntold(value: unknown): boolean {
  return value === undefined || value === '';
}
