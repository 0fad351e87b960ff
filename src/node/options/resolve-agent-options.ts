import { isAbsolute } from 'node:path';
import { PodloopError } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { AGENT_OPTIONS, type AgentOptions } from './agent-options.js';
import { findOptionProblem } from './check-agent-options.js';
import { type KubeletConfig } from './kubelet-config/kubelet-config.js';
import { type AgentOptionFacts, type AgentOptionType } from './options-table.js';

/** Option values as the flags give them. */
export type GivenAgentOptions = { readonly [Name in keyof AgentOptions]?: AgentOptions[Name] };

/**
 * Resolves the options: each comes from its flag, else the file, else the machine's default, else the table's.
 *
 * The table may have another default for a cluster. Throws OPTION_INVALID with the flag and the values it accepts.
 */
export function resolveAgentOptions(
  given: GivenAgentOptions,
  config: KubeletConfig = {},
  machine: GivenAgentOptions = {},
): AgentOptions {
  const names = Object.keys(AGENT_OPTIONS) as (keyof AgentOptions)[];
  const isInCluster = (given.kubeconfig ?? '') !== '';
  const entries = names.map((name) => {
    const facts: AgentOptionFacts<unknown> = AGENT_OPTIONS[name];
    const unlessTold = isInCluster ? (facts.defaultInCluster ?? facts.default) : facts.default;
    const value = given[name] ?? facts.fromConfig?.(config) ?? machine[name] ?? unlessTold;
    const right = expectation(facts.type, value);
    if (right === undefined) return [name, value];
    const place = facts.flag === '' ? (facts.field ?? name) : facts.flag;
    throw new PodloopError('OPTION_INVALID', `${place}: ${formatValue(facts.type, value)} is not ${right}`);
  });
  const options = Object.fromEntries(entries) as AgentOptions;
  const problem = findOptionProblem(options);
  if (problem !== undefined) throw new PodloopError('OPTION_INVALID', problem);
  return { ...options, containerLogLinksDir: linksDirOf(options) };
}

/** The kubelet's folder, where log collectors search; none if the logs are elsewhere. */
function linksDirOf({ containerLogLinksDir: told, podLogsDir }: AgentOptions): string {
  if (told === '') return podLogsDir === AGENT_OPTIONS.podLogsDir.default ? '/var/log/containers' : '';
  if (isAbsolute(told)) return told;
  const message = `--container-log-links-dir: ${JSON.stringify(told)} is not an absolute path`;
  throw new PodloopError('OPTION_INVALID', message);
}

/** As it was written. */
function formatValue(type: AgentOptionType, value: unknown): string {
  return type === 'duration' || type === 'period' ? formatGoDuration(value as number) : JSON.stringify(value);
}

function expectation(type: AgentOptionType, value: unknown): string | undefined {
  const isWhole = Number.isSafeInteger(value);
  const number = value as number;
  switch (type) {
    case 'text':
    case 'map':
    case 'amounts':
    case 'list':
    case 'switch':
    case 'choice':
      return undefined;
    case 'path':
      return isAbsolute(value as string) ? undefined : 'an absolute path';
    case 'duration':
      return number >= 0 && Number.isFinite(number) ? undefined : 'a duration of 0s or more';
    case 'period':
      return Number.isFinite(number) ? undefined : 'a duration';
    case 'factor':
      return value === undefined || (number > 0 && number <= 1)
        ? undefined
        : 'a number above 0 that is at most 1';
    case 'count':
      return isWhole && number >= 0 ? undefined : 'a whole number';
    case 'limit':
      return value === undefined || isWhole ? undefined : 'a whole number';
    case 'percent':
      return isWhole && number >= 0 && number <= 100 ? undefined : 'from 0 to 100';
    case 'port':
      return value === undefined || (isWhole && number >= 0 && number <= 65_535)
        ? undefined
        : 'a port, from 0 to 65535';
    case 'size':
      return isWhole && number > 0 ? undefined : 'a size such as 10Mi';
    default:
      return type.includes(value as string)
        ? undefined
        : `one of ${type.filter((word) => word !== '').join(', ')}`;
  }
}
