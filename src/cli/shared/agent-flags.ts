import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  AGENT_OPTIONS,
  type AgentOptionFacts,
  type AgentOptions,
  type AgentOptionType,
  FLAG_GROUPS,
  type FlagGroup,
  type GivenAgentOptions,
} from '#node';
import { findQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { parseDurationFlag, parsePathFlag, parseWholeFlag } from './flag-values.js';

/** Which flags {@link addAgentFlags} adds, and which defaults it shows. */
export interface AgentFlagChoices {
  /** The options whose flags are added, without headings (default: all, below their headings). */
  readonly only?: readonly (keyof AgentOptions)[];
  /** Defaults of this machine that replace those of the table. */
  readonly machine?: GivenAgentOptions;
}

/** Adds the flags of the agent's options table, and their kubelet names, in the order of {@link FLAG_GROUPS}. */
export function addAgentFlags(command: Command, { only, machine = {} }: AgentFlagChoices = {}): void {
  const options: { readonly option: Option; readonly group: FlagGroup }[] = [];
  for (const [name, facts] of rows()) {
    const { flag, group = FLAG_GROUPS[0], aliases = [] } = facts;
    if (flag === '' || only?.includes(name) === false) continue;
    // Commander shows only defaults that it sets itself, and those would override the configuration file.
    const usual = describeDefaults(facts, machine[name]);
    const doc = usual === undefined ? facts.doc : `${facts.doc} (default: ${usual})`;
    options.push({ option: toOption(flag, { ...facts, doc }), group });
    for (const alias of aliases) {
      options.push({
        option: toOption(alias, { ...facts, doc: `The same as ${flag}` }),
        group: 'Kubelet names',
      });
    }
  }
  // Commander orders headings by the first option below them. The sort is stable.
  options.sort((a, b) => FLAG_GROUPS.indexOf(a.group) - FLAG_GROUPS.indexOf(b.group));
  for (const { option, group } of options) {
    command.addOption(only === undefined ? option.helpGroup(toHeading(group)) : option);
  }
}

/** The heading of a group of flags, for flags that are not in the agent's table. */
export function toHeading(group: FlagGroup): string {
  return `${group}:`;
}

/** Converts the parsed flags of commander to agent options. */
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
    case 'choice':
      // As with a kubelet: --flag and --flag=false.
      return new Option(`${flag} [bool]`, doc).argParser(parseSwitch);
    case 'text':
      return new Option(`${flag} <text>`, doc);
    case 'path':
      return new Option(`${flag} <path>`, doc).argParser(parsePathFlag);
    case 'duration':
    case 'period':
      return new Option(`${flag} <duration>`, doc).argParser(parseDurationFlag);
    case 'size':
      return new Option(`${flag} <size>`, doc).argParser(parseSize);
    case 'map':
      return new Option(`${flag} <name:value>`, doc).argParser(addHeader);
    case 'amounts':
      return new Option(`${flag} <name=amount,...>`, doc).argParser(addAmounts);
    case 'list':
      return new Option(`${flag} <words>`, doc).argParser(addWords);
    case 'factor':
      return new Option(`${flag} <number>`, doc).argParser(Number);
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
  { type, default: usual, defaultInCluster, defaultText }: AgentOptionFacts<unknown>,
  here: unknown,
): string | undefined {
  const value = here ?? usual;
  if (here === undefined && defaultText !== undefined) return defaultText;
  if (defaultInCluster !== undefined) {
    return `${formatValue(type, value)}; in a cluster ${formatValue(type, defaultInCluster)}`;
  }
  if (isMissing(value) || type === 'map' || type === 'amounts' || type === 'list' || value === false)
    return undefined;
  return formatValue(type, value);
}

function formatValue(type: AgentOptionType, value: unknown): string {
  if (type === 'duration' || type === 'period') return formatGoDuration(value as number);
  if (type === 'size') return `${(value as number) / 2 ** 20}Mi`;
  return String(value);
}

function parseSwitch(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw new InvalidArgumentError('use true or false');
}

/** As a kubelet: separated by commas, or given one by one. */
function addAmounts(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const amounts = text.split(',').map((part): [string, string] => {
    const [, name, amount] = /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(part) ?? [];
    if (name === undefined || amount === undefined)
      throw new InvalidArgumentError('use amounts such as cpu=200m,memory=500Mi');
    return [name, amount];
  });
  return { ...before, ...Object.fromEntries(amounts) };
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

function isMissing(value: unknown): boolean {
  return value === undefined || value === '';
}
