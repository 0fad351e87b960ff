import { Command } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { followObject } from '../../shared/api/follow-object.js';
import { selectorQuery, withKinds } from '../../shared/api/get-request.js';
import { type NamedObject, readSelection } from '../../shared/api/object-selection.js';
import { pathOf, PODS, qualifiedName } from '../../shared/api/resource-type.js';
import { addEndFlags } from '../../shared/pods/end-flags.js';
import { addPodsFlags } from '../../shared/pods/find-pods.js';
import { type RestartFlags, restartPods } from './restart.js';

const HELP = `
restart: the pods of a Deployment, StatefulSet or DaemonSet are replaced as after an edit of its template, without one of its manifest. Pods
restart as by "podloop restart".
status: waits until the pods of a workload are those of its newest template, and available.

There is no history of what ran before, and so no undo: put the earlier manifest back.

Examples:
  # Replace the pods of a Deployment one by one, and wait for the end
  podloop rollout restart deploy/web
  podloop rollout status deploy/web

  # All Deployments with a label
  podloop rollout restart deployments -l app=web

  # Restart a pod
  podloop rollout restart pod/web`;

const INSTEAD: Readonly<Record<string, string>> = {
  history: 'no versions are stored; a version control system of the manifests has them',
  undo: 'no versions are stored; put the earlier manifest back',
  pause: 'set spec.paused in the manifest',
  resume: 'remove spec.paused from the manifest',
};

/** Kinds whose pods are replaced by a change of the template. */
const ROLLED_KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** `podloop rollout`: replaces the pods of workloads, and waits for that. */
export function rolloutCommand(host: CliHost): Command {
  const command = new Command('rollout')
    .description('Replace the pods of workloads, or wait until they are replaced.')
    .argument('<action>', 'restart or status');
  return addEndFlags(
    addPodsFlags(command, 'what', 'Kind and names, as in "deploy/web" or "deployments"'),
    'have ended and run again',
  )
    .addHelpText('after', wrapNotes(HELP))
    .action(async (action: string, words: string[], flags: RestartFlags) => {
      if (action !== 'restart' && action !== 'status')
        throw failure(
          `there is no "rollout ${action}"; ${INSTEAD[action] ?? 'there are restart and status'}`,
        );
      await withAgent(host, flags, async (session) => {
        const objects = await findObjects(words, flags, session);
        await (action === 'restart' ? restartAll : followAll)(objects, flags, session, host);
      });
    });
}

async function findObjects(
  words: readonly string[],
  { selector, all, allNamespaces }: RestartFlags,
  { client, namespace }: AgentSession,
): Promise<RolledObject[]> {
  if (words.length === 0)
    throw failure('name a workload or a pod, as in "podloop rollout restart deploy/web"');
  const hasSelector = selector !== undefined;
  const selection = readSelection(words, { hasSelector, allNamespaces, all }, 'rollout restart');
  const wrong = selection.types.find((type) => type !== PODS && !ROLLED_KINDS.includes(type.kind));
  if (wrong !== undefined)
    throw failure(`${wrong.plural} are not rolled out; Deployments, StatefulSets, DaemonSets and pods are`);
  if (selection.names.length > 0) return selection.names.map((one) => ({ ...one, namespace }));
  if (!hasSelector && !all && selection.types.includes(PODS))
    throw failure('name the pods, or use --all or --selector');
  const found: RolledObject[] = [];
  for (const type of selection.types) {
    const query = selectorQuery(hasSelector ? { selector } : {});
    const list = await client.get(pathOf(type, allNamespaces ? undefined : namespace), query);
    for (const { metadata = {} } of withKinds(list))
      found.push({ type, name: metadata.name ?? '', namespace: metadata.namespace ?? namespace });
  }
  if (found.length === 0) throw failure('no matching resources found');
  return found;
}

/** What is restarted or followed. */
interface RolledObject extends NamedObject {
  readonly namespace: string;
}

type Act = (
  objects: readonly RolledObject[],
  flags: RestartFlags,
  session: AgentSession,
  host: CliHost,
) => Promise<void>;

const restartAll: Act = async (objects, flags, session, host) => {
  const restartedAt = `${new Date(host.clock.now()).toISOString().slice(0, -5)}Z`;
  const annotations = { 'kubectl.kubernetes.io/restartedAt': restartedAt };
  const headers = { 'content-type': 'application/strategic-merge-patch+json' };
  for (const { type, name, namespace } of objects) {
    if (type === PODS) continue;
    const body = { spec: { template: { metadata: { annotations } } } };
    await session.client.send('PATCH', pathOf(type, namespace, name), { body, headers });
    await host.stdout.writeLine(`${qualifiedName(type)}/${name} restarted`);
  }
  const { selector: _, ...flagsOfNamed } = flags;
  const pods = objects.filter(({ type }) => type === PODS);
  for (const place of new Set(pods.map(({ namespace }) => namespace))) {
    const names = pods.filter(({ namespace }) => namespace === place).map(({ name }) => name);
    const there = { ...session, namespace: place };
    await restartPods(names, { ...flagsOfNamed, all: false, allNamespaces: false }, there, host);
  }
};

const followAll: Act = async (objects, { timeout, wait }, session, host) => {
  for (const { type, name, namespace } of objects) {
    if (type === PODS)
      throw failure(
        `a pod has no rollout status; to wait for it: podloop wait pod/${name} --for=condition=Ready`,
      );
    const said = { last: '' };
    const object = { type, namespace, name };
    const isDone = await followObject(object, session, {
      clock: host.clock,
      timeoutMs: !wait ? 0 : timeout === 0 ? undefined : timeout,
      isDone: ([found]) => {
        if (found === undefined) {
          const message = `${qualifiedName({ ...type, singular: type.plural })} "${name}" not found`;
          throw new ApiError(404, { kind: 'Status', reason: 'NotFound', message });
        }
        const waiting = describeRollout(found, `${type.singular} "${name}"`);
        if (waiting === undefined) return true;
        if (waiting !== said.last) void host.stdout.writeLine((said.last = waiting));
        return false;
      },
    });
    if (isDone) await host.stdout.writeLine(`${type.singular} "${name}" successfully rolled out`);
    else if (wait) throw failure('timed out waiting for the condition');
  }
};

interface RolloutObject extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly updateStrategy?: { readonly type?: string } };
  readonly status?: Readonly<Record<string, number | undefined>>;
}

/** What is left to be done, in kubectl's words; undefined when all is. */
export function describeRollout(workload: RolloutObject, what: string): string | undefined {
  const { spec = {}, status = {}, kind } = workload;
  const count = (field: string): number => status[field] ?? 0;
  const isDaemonSet = kind === 'DaemonSet';
  const wanted = isDaemonSet ? count('desiredNumberScheduled') : (spec.replicas ?? 1);
  const updated = count(isDaemonSet ? 'updatedNumberScheduled' : 'updatedReplicas');
  const available = count(isDaemonSet ? 'numberAvailable' : 'availableReplicas');
  const present = isDaemonSet ? updated : count('replicas');
  const waits = `Waiting for ${what} rollout to finish:`;
  if (spec.updateStrategy?.type === 'OnDelete') return undefined;
  if (updated < wanted) return `${waits} ${updated} out of ${wanted} new replicas have been updated...`;
  if (present > updated) return `${waits} ${present - updated} old replicas are pending termination...`;
  if (available < wanted) return `${waits} ${available} of ${wanted} updated replicas are available...`;
  return undefined;
}
