import { Command, Option } from 'commander';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { readSelection } from '../../shared/api/object-selection.js';
import { pathOf, PODS, qualifiedName, type ResourceType } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { DRY_RUN_WORDS, type DryRun, dryRunOption } from '../../shared/dry-run.js';
import { type FileFlags, fileOptions } from '../../shared/file-flags.js';
import { parseDurationFlag, parseWholeFlag } from '../../shared/flag-values.js';
import { selectorQuery, withKinds } from '../../shared/api/get-request.js';
import { readManifestObjects } from '../../shared/manifest-objects.js';
import { selectorOption } from '../../shared/selector-option.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { howToStart } from '../../shared/pods/ask-for-pods.js';
import { waitUntilGone } from '../../shared/api/wait-until-gone.js';
import { groupFlags, wrapNotes } from '../../help-layout.js';

interface DeleteFlags extends SessionFlags, FileFlags {
  readonly all: boolean;
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly gracePeriod: number;
  readonly now: boolean;
  readonly force: boolean;
  readonly wait: boolean;
  readonly timeout: number;
  readonly ignoreNotFound: boolean;
  readonly dryRun: DryRun;
  readonly output?: string;
}

/** An object that is to go. */
interface Doomed {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
}

/** An object that goes, under the name that it has on its node. */
interface Removed extends Doomed {
  readonly uid: string | undefined;
  /** What the agent wants to be known, in words. */
  readonly warnings: readonly string[];
  /** What makes another pod in its place. */
  readonly ownerReferences?: NonNullable<KubeObject['metadata']>['ownerReferences'];
  /** Of a pod. */
  readonly phase: string | undefined;
}

/** Below these headings in the help; the rest is below Options. */
const FLAG_GROUPS = {
  'Which objects': [
    '--filename',
    '--recursive',
    '--namespace',
    '--all-namespaces',
    '--all',
    '--selector',
    '--field-selector',
    '--ignore-not-found',
  ],
  'How pods end': ['--grace-period', '--now', '--force', '--wait', '--no-wait', '--timeout'],
};

const HELP = `
A pod is stopped, and stays so until "podloop start", until its manifest changes, or is applied again; its manifest stays. A pod of a Deployment or another workload is
replaced. All other objects lose their manifest: its file is removed, or it is cut out of a file with others. A warning names the file, unless "podloop apply" wrote it.
A PersistentVolumeClaim goes with its volume and all that is in it, unless a pod has it.

Examples:
  # Stop a pod, and wait until it has ended
  podloop delete pod web

  # All pods with a label, with a second to end
  podloop delete pods -l app=web --now

  # A ConfigMap
  podloop delete configmap settings

  # What a file says
  podloop delete -f web.yaml --wait=false`;

/** `podloop delete`: stops pods of a running agent, and removes other objects with their manifests. */
export function deleteCommand(host: CliHost): Command {
  const command = new Command('delete')
    .description('Stop pods of a running agent until their manifests change, and remove all other objects.')
    .argument('[what...]', 'Kind and names, as in "pod web db" or "pod/web"');
  for (const option of fileOptions()) command.addOption(option);
  addSessionFlags(command)
    .option('-A, --all-namespaces', 'Objects of all namespaces', false)
    .option('--all', 'All objects of the kind', false)
    .addOption(selectorOption())
    .option('--field-selector <selector>', 'Only objects with these fields, as in status.phase=Failed')
    .addOption(
      new Option('--grace-period <seconds>', 'Seconds that pods get to stop')
        .argParser(parseWholeFlag)
        .default(-1, 'the grace period of the pod'),
    )
    .option('--now', 'The same as --grace-period=1', false)
    .option('--force', 'Stop pods at once, without a grace period', false)
    .option('--wait', 'Wait until all are gone', true)
    .option('--no-wait', 'Do not wait')
    .addOption(
      new Option('--timeout <duration>', 'Maximum time to wait')
        .argParser(parseDurationFlag)
        .default(0, 'no limit'),
    )
    .option('--ignore-not-found', 'Do not fail if an object does not exist', false)
    .addOption(dryRunOption('Only say what would happen'))
    .addOption(new Option('-o, --output <format>', 'name: print only the names').argParser(stripEquals))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: DeleteFlags) => {
      checkFlags(flags);
      await withAgent(host, flags, (session) => remove(words, flags, session, host));
    });
  return groupFlags(command, FLAG_GROUPS);
}

function checkFlags({ output, all, selector, fieldSelector, now, gracePeriod, force }: DeleteFlags): void {
  if (output !== undefined && output !== 'name') {
    throw failure(`unexpected -o output mode: ${output}. We only support '-o name'`);
  }
  if (all && selector !== undefined) throw failure('cannot set --all and --selector at the same time');
  if (all && fieldSelector !== undefined)
    throw failure('cannot set --all and --field-selector at the same time');
  if (now && gracePeriod !== -1) throw failure('--now and --grace-period cannot be specified together');
  if (force && gracePeriod > 0) {
    throw failure('--force and --grace-period greater than 0 cannot be specified together');
  }
}

async function remove(
  words: readonly string[],
  flags: DeleteFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const seconds = graceSeconds(flags);
  if (flags.force && seconds === 0) {
    await host.stderr.writeLine(
      'Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.',
    );
  }
  const doomed = await findDoomed(words, flags, session, host);
  const isBroad = flags.all || flags.selector !== undefined || flags.fieldSelector !== undefined;
  const going: Removed[] = [];
  const failures: ApiError[] = [];
  for (const one of doomed) {
    try {
      const removed = await removeOne(one, flags.dryRun, seconds, session);
      going.push(removed);
      await host.stdout.writeLine(describeRemoval(removed, flags, seconds));
      for (const warning of removed.warnings)
        await host.stderr.writeLine(`Warning: ${escapeTerminal(warning)}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.reason !== 'NotFound' || !(flags.ignoreNotFound || isBroad)) failures.push(error);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures.flatMap(({ lines }) => lines));
  if (going.length === 0) await host.stdout.writeLine('No resources found');
  if (flags.dryRun !== 'none') return;
  // Of all else the answer comes when it is gone.
  const pods = going.filter(({ type }) => type === PODS);
  const lines = howToStart(pods.map(({ phase, ...metadata }) => ({ metadata, status: { phase } })));
  if (flags.output === undefined) for (const line of lines) await host.stderr.writeLine(line);
  if (!flags.wait) return;
  for (const one of pods) await waitUntilGone(one, session, { clock: host.clock, timeoutMs: flags.timeout });
}

/** The time to end that is sent along; undefined for the pod's own. */
function graceSeconds({ now, force, gracePeriod }: DeleteFlags): number | undefined {
  if (now) return 1;
  if (gracePeriod < 0) return force ? 0 : undefined;
  // As with kubectl: nothing is killed at once by a zero alone.
  return gracePeriod === 0 && !force ? 1 : gracePeriod;
}

async function findDoomed(
  words: readonly string[],
  flags: DeleteFlags,
  session: AgentSession,
  host: CliHost,
): Promise<Doomed[]> {
  const { filename: paths, recursive, allNamespaces, all } = flags;
  const { signal, namespace, namespaceGiven, client } = session;
  if (paths.length > 0) {
    if (words.length > 0)
      throw failure(
        'when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well',
      );
    const items = await readManifestObjects({ paths, recursive, host, signal, namespace, namespaceGiven });
    return items;
  }
  if (words.length === 0) {
    throw failure(
      "You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'",
    );
  }
  const hasSelector = flags.selector !== undefined || flags.fieldSelector !== undefined;
  const selection = readSelection(words, { hasSelector, allNamespaces, all }, 'delete');
  if (selection.names.length > 0) return selection.names.map((one) => ({ ...one, namespace }));
  if (!all && !hasSelector) throw failure('resource(s) were provided, but no name was specified');
  const found: Doomed[] = [];
  for (const type of selection.types) {
    const list = await client.get(pathOf(type, allNamespaces ? undefined : namespace), selectorQuery(flags));
    for (const { metadata = {} } of withKinds(list)) {
      // It goes with what has made it.
      if (selection.isGroup === true && (metadata.ownerReferences ?? []).length > 0) continue;
      found.push({ type, name: metadata.name ?? '', namespace: metadata.namespace ?? namespace });
    }
  }
  return found;
}

async function removeOne(
  one: Doomed,
  dryRun: DryRun,
  seconds: number | undefined,
  { client }: AgentSession,
): Promise<Removed> {
  const path = pathOf(one.type, one.namespace, one.name);
  // Secrets cannot be read: only the agent knows whether one is there.
  const isAsked = dryRun === 'server' || (dryRun === 'client' && one.type.plural === 'secrets');
  if (dryRun === 'client' && !isAsked) return toRemoved(one, await client.get(path), []);
  const query = { gracePeriodSeconds: seconds, ...(isAsked ? { dryRun: 'All' } : {}) };
  const { object, warnings } = await client.send('DELETE', path, { query });
  return toRemoved(one, object, warnings);
}

/** Out of the answer: the object as it goes, or a Status that has no more than its uid. */
function toRemoved(one: Doomed, answer: KubeObject, warnings: readonly string[]): Removed {
  if (answer.kind !== 'Status') {
    const { uid, name = one.name, ownerReferences = [] } = answer.metadata ?? {};
    const { phase } = (answer as PodObject).status ?? {};
    return {
      ...one,
      name,
      uid,
      warnings,
      phase,
      ...(ownerReferences.length === 0 ? {} : { ownerReferences }),
    };
  }
  const { details } = answer as { readonly details?: { readonly uid?: string } };
  return { ...one, uid: details?.uid, warnings, phase: undefined };
}

function describeRemoval(
  { type, name, namespace }: Doomed,
  flags: DeleteFlags,
  seconds: number | undefined,
): string {
  if (flags.output === 'name') return `${qualifiedName(type)}/${name}`;
  const done = seconds === 0 ? 'force deleted' : 'deleted';
  const where = type.namespaced ? ` from ${namespace} namespace` : '';
  return `${qualifiedName(type)} "${name}" ${done}${where}${DRY_RUN_WORDS[flags.dryRun]}`;
}
