import { type Command } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { failure } from '../../command-failure.js';
import { addSessionFlags, type AgentSession, type SessionFlags } from '../agent-session.js';
import { selectorQuery, withKinds } from '../api/get-request.js';
import { readName, readPodName } from '../api/object-selection.js';
import { hasPodTemplate, pathOf, PODS } from '../api/resource-type.js';
import { selectorOption } from '../selector-option.js';

/** The flags that choose pods. */
export interface PodsFlags extends SessionFlags {
  readonly all: boolean;
  readonly allNamespaces: boolean;
  readonly selector?: string;
}

/** A pod that was chosen. */
export interface NamedPod {
  readonly namespace: string;
  /** As it was written, or as a list has it. */
  readonly name: string;
}

/** Adds the argument and the flags that choose pods. */
export function addPodsFlags(
  command: Command,
  argument = 'pod',
  doc = 'Names of pods, as in "web db" or "pod/web"',
): Command {
  return addSessionFlags(command.argument(`[${argument}...]`, doc))
    .option('-A, --all-namespaces', 'Pods of all namespaces', false)
    .option('--all', 'All pods', false)
    .addOption(selectorOption());
}

/** The pods that words and flags choose; those of lists in the order of the agent. Throws a CommandFailure. */
export async function findPods(
  words: readonly string[],
  flags: PodsFlags,
  { client, namespace }: AgentSession,
  command: string,
): Promise<NamedPod[]> {
  const { all, selector, allNamespaces } = flags;
  // As in "stop pod web", which is kubectl's way to write it.
  const names = words.length > 1 && /^(?:pods?|po)$/.test(words[0]!) ? words.slice(1) : words;
  if (names.length > 0) {
    if (all || selector !== undefined || allNamespaces)
      throw failure('name the pods, or choose them by --all, --all-namespaces or --selector, not both');
    return names.map((word) => ({
      namespace,
      name: readPodName(word, notPod(word, command)),
    }));
  }
  if (!all && selector === undefined)
    throw failure(`name a pod, as in "podloop ${command} web", or use --all or --selector`);
  const list = await client.get(pathOf(PODS, allNamespaces ? undefined : namespace), selectorQuery(flags));
  return withKinds(list).map(({ metadata = {} }: KubeObject) => ({
    namespace: metadata.namespace ?? namespace,
    name: metadata.name ?? '',
  }));
}

/** What is there instead for a workload, which never does anything itself. */
function notPod(word: string, command: string): string {
  const complaint = `${word} is no pod; only pods can ${command}`;
  if (!hasPodTemplate(readName(word).type)) return complaint;
  if (command === 'restart') return `${complaint}; for its pods: podloop rollout restart ${word}`;
  return command === 'stop'
    ? `${complaint}; to have no pods of it: podloop scale ${word} --replicas=0`
    : complaint;
}
