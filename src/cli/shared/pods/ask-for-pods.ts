import { type KubeObject } from '#kube/columns/kube-object.js';
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

/** Where a stopped pod is started, or who replaces it, for people. */
export function howToStart(pods: readonly KubeObject[]): string {
  const [owner] = pods.flatMap(({ metadata }) => metadata?.ownerReferences ?? []);
  if (owner !== undefined) return `The ${owner.kind} ${owner.name} makes another pod in its place`;
  const [first, other] = pods;
  if (first === undefined || other !== undefined)
    return 'To run them again: podloop start NAME, or podloop start --all';
  const { namespace = 'default', name = '' } = first.metadata ?? {};
  return `To run it again: podloop start ${name}${namespace === 'default' ? '' : ` -n ${namespace}`}`;
}
