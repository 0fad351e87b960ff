import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { type AgentSession } from '../agent-session.js';
import { type Query } from '../api/agent-client.js';
import { ApiError } from '../api/api-status.js';
import { pathOf, PODS } from '../api/resource-type.js';
import { type EndFlags, endQuery } from './end-flags.js';
import { type NamedPod } from './find-pods.js';

/** What is asked for each pod. */
export interface PodRequest {
  readonly method: 'DELETE' | 'POST';
  /** Behind the path of the pod, as in `/restart`. */
  readonly action: string;
  /** More than what the flags say (default: nothing). */
  readonly query?: Query;
  /** Called with each pod that the agent has answered with, one after the other. */
  readonly then: (pod: KubeObject) => Promise<void>;
}

/**
 * Asks the agent to end each of the pods, and only then waits for one after the other, so that they end together.
 *
 * Resolves with the pods that it answered with. Rejects with a CommandFailure that has a line for each refusal, when all
 * else is done.
 */
export async function askForPods(
  pods: readonly NamedPod[],
  flags: EndFlags,
  { method, action, query, then }: PodRequest,
  { session, host }: { readonly session: AgentSession; readonly host: CliHost },
): Promise<readonly KubeObject[]> {
  const refusals: ApiError[] = [];
  const answers: KubeObject[] = [];
  for (const { namespace, name } of pods) {
    try {
      const path = `${pathOf(PODS, namespace, name)}${action}`;
      const asked = { query: { ...endQuery(flags), ...query } };
      answers.push((await session.client.send(method, path, asked)).object);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusals.push(error);
    }
  }
  for (const answer of answers) await then(answer);
  if (pods.length === 0) await host.stderr.writeLine('No pods found');
  if (refusals.length > 0) throw new CommandFailure(refusals.flatMap(({ lines }) => lines));
  return answers;
}

/** How stopped pods are started, or who replaces them, in lines for people. */
export function howToStart(pods: readonly PodObject[]): string[] {
  const owned = pods.filter((pod) => ownersOf(pod).length > 0);
  const owners = owned
    .filter((pod) => !hasEndedForJob(pod))
    .flatMap(ownersOf)
    .map(({ kind, name }) => `The ${kind} ${name} makes another pod in its place`);
  const [first, other] = pods.filter((pod) => !owned.includes(pod));
  if (first === undefined) return [...new Set(owners)];
  const { namespace = 'default', name = '' } = first.metadata ?? {};
  const place = namespace === 'default' ? '' : ` -n ${namespace}`;
  const how =
    other === undefined
      ? `To run it again: podloop start ${name}${place}`
      : 'To run them again: podloop start NAME, or podloop start --all';
  return [...new Set(owners), how];
}

const ownersOf = ({ metadata = {} }: PodObject): NonNullable<typeof metadata.ownerReferences> =>
  metadata.ownerReferences ?? [];

/** A Job makes no more pods for those that have ended than it has made already. */
function hasEndedForJob({ status = {}, ...pod }: PodObject): boolean {
  const hasEnded = status.phase === 'Succeeded' || status.phase === 'Failed';
  return hasEnded && ownersOf(pod).some(({ kind }) => kind === 'Job');
}
