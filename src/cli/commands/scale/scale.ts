import { Command, Option } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { readSelection } from '../../shared/api/object-selection.js';
import { pathOf, qualifiedName } from '../../shared/api/resource-type.js';
import { DRY_RUN_WORDS, type DryRun, dryRunOption } from '../../shared/dry-run.js';
import { parseWholeFlag } from '../../shared/flag-values.js';

interface ScaleFlags extends SessionFlags {
  readonly replicas?: number;
  readonly currentReplicas: number;
  readonly dryRun: DryRun;
}

const HELP = `
The manifest stays as it is: the number holds, over restarts of the agent as well, until the manifest of the workload says something else.

Examples:
  # Three pods of a Deployment
  podloop scale deploy/web --replicas=3

  # None, for now
  podloop scale statefulset db --replicas=0

  # Only if there are two
  podloop scale deploy/web --current-replicas=2 --replicas=3`;

/** Kinds that have a number of pods. */
const SCALED_KINDS = ['Deployment', 'ReplicaSet', 'StatefulSet', 'ReplicationController'];

/** `podloop scale`: how many pods a workload has. */
export function scaleCommand(host: CliHost): Command {
  const command = new Command('scale')
    .description('Set how many pods a Deployment, ReplicaSet or StatefulSet has, until its manifest changes.')
    .argument('[what...]', 'Kind and names, as in "deploy/web" or "deployment web"');
  return addSessionFlags(command)
    .addOption(new Option('--replicas <number>', 'How many pods there are to be').argParser(parseWholeFlag))
    .addOption(
      new Option('--current-replicas <number>', 'Change it only if it is this number now')
        .argParser(parseWholeFlag)
        .default(-1, 'any'),
    )
    .addOption(dryRunOption('Only say what would happen'))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: ScaleFlags) =>
      withAgent(host, flags, (session) => scale(words, flags, session, host)),
    );
}

async function scale(
  words: readonly string[],
  { replicas, currentReplicas, dryRun }: ScaleFlags,
  { client, namespace }: AgentSession,
  { stdout }: CliHost,
): Promise<void> {
  if (replicas === undefined || replicas < 0)
    throw failure('The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0');
  const { names, types } = readSelection(words, { hasSelector: false, allNamespaces: false }, 'scale');
  if (names.length === 0) throw failure('name a workload, as in "podloop scale deploy/web --replicas=3"');
  const wrong = types.find(({ kind }) => !SCALED_KINDS.includes(kind));
  if (wrong !== undefined)
    throw failure(
      `${wrong.plural} have no number of replicas; Deployments, ReplicaSets and StatefulSets have`,
    );
  const failures: string[] = [];
  for (const { type, name } of names) {
    const path = `${pathOf(type, namespace, name)}/scale`;
    try {
      const now = ((await client.get(path)) as ScaleObject).spec?.replicas ?? 0;
      if (currentReplicas >= 0 && now !== currentReplicas)
        throw failure(`Expected replicas to be ${currentReplicas}, was ${now}`);
      const query = dryRun === 'none' ? {} : { dryRun: 'All' };
      const headers = { 'content-type': 'application/merge-patch+json' };
      await client.send('PATCH', path, { query, headers, body: { spec: { replicas } } });
      await stdout.writeLine(`${qualifiedName(type)}/${name} scaled${DRY_RUN_WORDS[dryRun]}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failures.push(...error.lines);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures);
}

interface ScaleObject extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}
