import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  formatManifestProblem,
  isAbsentFile,
  type ManifestProblem,
  readNodePolicy,
  resolveAgentOptions,
  validateManifests,
  type Validation,
} from '#node';
import { checkSubdomain } from '#kube/validation/name-rules.js';
import { PodloopError } from '#base/errors/errors.js';
import { addAgentFlags, readAgentFlags } from '../../shared/agent-flags.js';
import { type CliHost } from '../../cli-host.js';
import { wrapNotes } from '../../help-layout.js';

interface ValidateFlags {
  readonly nodeName?: string;
  readonly output: 'text' | 'json';
  readonly [policyFlag: string]: unknown;
}

/** What of the agent's options decides whether a pod may run. */
const POLICY_OPTIONS = ['forbid', 'allowedHostPaths'] as const;

const HELP = `
Nothing is run and no runtime is needed. The exit code is 0 when every manifest is valid, else 1.

Examples:
  # A folder of manifests, as an agent would read it
  podloop validate /etc/kubernetes/manifests

  # What kubectl would send
  kubectl run web --image nginx --dry-run=client -o yaml | podloop validate -

  # As on a node whose pods get nothing of it but what they log
  podloop validate --forbid privileged,hostNetwork,hostPID --allowed-host-paths /var/log:ro pods/

  # For a program to read
  podloop validate -o json pods/ | jq .problems`;

/** `podloop validate`: reads manifests as the agent will, and says what is wrong. */
export function validateCommand(host: CliHost): Command {
  const command = new Command('validate')
    .description(
      'Say of manifests of Pods, workloads and other objects whether they could be run here, and all that is wrong.',
    )
    .argument('<path...>', 'Files, folders of .yaml, .yml, .json and .manifest files, or -, standard input')
    .option(
      '--node-name <name>',
      'Name of the node that would run the pods (default: this machine)',
      parseNodeName,
    )
    .addOption(
      new Option(
        '-o, --output <format>',
        'text: a line for each pod, object or problem; json: one object for all',
      )
        .choices(['text', 'json'])
        .default('text'),
    );
  addAgentFlags(command, { only: POLICY_OPTIONS });
  return command
    .addHelpText('after', wrapNotes(HELP))
    .action(async (paths: string[], flags: ValidateFlags) => runValidate(paths, flags, host));
}

async function runValidate(paths: readonly string[], flags: ValidateFlags, host: CliHost): Promise<void> {
  const nodeName = flags.nodeName ?? hostname().toLowerCase();
  const policy = readNodePolicy(resolveAgentOptions(readAgentFlags(flags)));
  const validation = await validateManifests({ paths, nodeName, policy, stdin: host.stdin });
  if (flags.output === 'json') await host.stdout.writeLine(JSON.stringify(validation));
  else await printText(validation, host);
  if (host.stdout.failure !== undefined) throw host.stdout.failure;
  const { pods, objects, problems } = validation;
  if (problems.length === 0) return;
  const of = `${problems.length} ${plural(problems.length, 'problem')}`;
  const also = objects.length === 0 ? '' : `, ${objects.length} valid ${plural(objects.length, 'object')}`;
  throw new PodloopError(
    'MANIFEST_INVALID',
    `${of}; ${pods.length} valid ${plural(pods.length, 'pod')}${also}`,
  );
}

function plural(count: number, word: string): string {
  return count === 1 ? word : `${word}s`;
}

async function printText(validation: Validation, { stdout, stderr }: CliHost): Promise<void> {
  const { pods, objects, problems, warnings, passedOver } = validation;
  for (const { file, line, name, namespace } of pods) {
    await stdout.writeLine(toOneLine(`${file}:${line}: pod/${name} in namespace ${namespace} is valid`));
  }
  for (const { file, line, kind, name, namespace } of objects) {
    const place = kind === 'Namespace' ? '' : ` in namespace ${namespace}`;
    await stdout.writeLine(toOneLine(`${file}:${line}: ${kind.toLowerCase()}/${name}${place} is valid`));
  }
  for (const { file, reason } of passedOver)
    await stderr.writeLine(`warning: ${toOneLine(file)}: passed over, as it ${reason}`);
  for (const warning of warnings)
    await stderr.writeLine(`warning: ${toOneLine(formatManifestProblem(warning))}`);
  for (const problem of problems) await stderr.writeLine(`error: ${toOneLine(describeProblem(problem))}`);
}

function describeProblem(problem: ManifestProblem): string {
  return isAbsentFile(problem) ? `${problem.file}: ${problem.message}` : formatManifestProblem(problem);
}

/** A name or key from a file must write no lines of its own, and command no terminal. */
function toOneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD')
    .trim();
}

function parseNodeName(text: string): string {
  const broken = checkSubdomain(text.toLowerCase());
  if (broken !== undefined) throw new InvalidArgumentError(broken);
  return text;
}
