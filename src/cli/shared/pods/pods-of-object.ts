import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { failure } from '../../command-failure.js';
import { type AgentSession } from '../agent-session.js';
import { type AgentClient } from '../api/agent-client.js';
import { withKinds } from '../api/get-request.js';
import { type NamedObject, readName } from '../api/object-selection.js';
import { findResourceType, hasPodTemplate, pathOf, PODS } from '../api/resource-type.js';

/** Pods that a word names. */
export interface PodsOfWord {
  /** Those of a workload begin with the one that kubectl would choose. */
  readonly pods: readonly [PodObject, ...PodObject[]];
  /** What has made them, as it was named; undefined for a pod. */
  readonly workload: NamedObject | undefined;
}

const REPLICA_SETS = findResourceType('replicasets');

/** The pod that `web` or `pod/web` names, or those of `deploy/web`, `job/sum` and other workloads. Throws a CommandFailure. */
export async function findPodsOf(word: string, { client, namespace }: AgentSession): Promise<PodsOfWord> {
  const named = readName(word);
  const { type, name } = named;
  if (type === PODS) {
    const pod: PodObject = await client.get(pathOf(PODS, namespace, name));
    return { pods: [pod], workload: undefined };
  }
  if (!hasPodTemplate(type))
    throw failure(`${word} has no pods; name a pod, or a workload such as deploy/web`);
  if (type.kind === 'CronJob')
    throw failure(
      `a CronJob has Jobs and no pods; name one of them, as "podloop get jobs" lists them: job/NAME`,
    );
  const { metadata = {} } = await client.get(pathOf(type, namespace, name));
  const owners = [metadata.uid ?? '', ...(await listReplicaSets(type.kind, metadata.uid, client, namespace))];
  const all: readonly PodObject[] = withKinds(await client.get(pathOf(PODS, namespace)));
  const [first, ...others] = all
    .filter((pod) => ownersOf(pod).some((uid) => owners.includes(uid)))
    .sort((one, other) => rankOf(one).localeCompare(rankOf(other)));
  if (first === undefined) throw failure(`${type.plural} "${name}" has no pods at this moment`);
  return { pods: [first, ...others], workload: named };
}

/** The pod of a word: of a workload with several the first, with a line about that. */
export async function findPodOf(
  word: string,
  session: AgentSession,
  say: (line: string) => Promise<void>,
): Promise<PodObject> {
  const { pods } = await findPodsOf(word, session);
  const [first] = pods;
  if (pods.length > 1) await say(`Found ${pods.length} pods, using pod/${first.metadata?.name ?? ''}`);
  return first;
}

async function listReplicaSets(
  kind: string,
  uid: string | undefined,
  client: AgentClient,
  namespace: string,
): Promise<string[]> {
  if (kind !== 'Deployment' || uid === undefined) return [];
  const { items = [] } = await client.get(pathOf(REPLICA_SETS, namespace));
  return items.filter((each) => ownersOf(each).includes(uid)).map(({ metadata }) => metadata?.uid ?? '');
}

function ownersOf({ metadata = {} }: KubeObject): string[] {
  return (metadata.ownerReferences ?? []).flatMap(({ uid }) => uid ?? []);
}

/** What runs and is ready comes first, what ends last; of pods that have ended the newest. */
function rankOf({ metadata = {}, status = {} }: PodObject): string {
  const phases = ['Running', 'Pending', 'Succeeded', 'Failed'];
  const phase = phases.indexOf(status.phase ?? '');
  const isReady = (status.conditions ?? []).some((each) => each.type === 'Ready' && each.status === 'True');
  const created = Date.parse(metadata.creationTimestamp ?? '') || 0;
  const age = phase > 1 ? Number.MAX_SAFE_INTEGER - created : created;
  return [
    metadata.deletionTimestamp === undefined ? 0 : 1,
    phase < 0 ? phases.length : phase,
    ...[isReady ? 0 : 1, String(age).padStart(16, '0'), metadata.name ?? ''],
  ].join(' ');
}
