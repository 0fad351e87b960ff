import { type Pod } from '../../../src/cluster/client/kube-objects.js';

/** A sandbox as its runtime lists it. */
export interface SandboxRecord {
  readonly id: string;
  readonly podUid: string;
  /** As in `default/web`. */
  readonly pod: string;
  readonly isReady: boolean;
}

/** A container as its runtime lists it. */
export interface ContainerRecord {
  readonly id: string;
  readonly podUid: string;
  readonly pod: string;
  readonly name: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
}

/** What three sides say of one node at one moment. */
export interface NodeViews {
  readonly node: string;
  /** Those bound to the node, as the API server has them. */
  readonly api: readonly Pod[];
  /** As the agent serves them. */
  readonly agent: readonly Pod[];
  readonly sandboxes: readonly SandboxRecord[];
  readonly containers: readonly ContainerRecord[];
  /** Uids that the agent keeps folders of. */
  readonly folders: readonly string[];
}

/** What API server, agent and runtime do not agree on, one sentence each; none when a node is in step. */
export function findDisagreements(views: NodeViews): string[] {
  const { node, api, agent } = views;
  const inApi = new Map(api.map((pod) => [uidOf(pod), pod]));
  const inAgent = new Map(agent.map((pod) => [uidOf(pod), pod]));
  const found: string[] = [];
  for (const [uid, pod] of inApi) {
    const other = inAgent.get(uid);
    if (other === undefined) found.push(`${titleOf(pod)} is in the API, and the agent does not have it`);
    else found.push(...compareStatuses(pod, other));
    found.push(...compareWithRuntime(pod, views));
  }
  for (const [uid, pod] of inAgent) {
    if (!inApi.has(uid)) found.push(`${titleOf(pod)} is in the agent, and not in the API`);
  }
  for (const { podUid, pod, isReady, id } of views.sandboxes) {
    if (inApi.has(podUid)) continue;
    found.push(`sandbox ${short(id)} of ${pod} (${podUid}) is left${isReady ? ', and ready' : ''}`);
  }
  for (const { podUid, pod, name, state, id } of views.containers) {
    if (!inApi.has(podUid))
      found.push(`${state} container ${short(id)} ${name} of ${pod} (${podUid}) is left`);
  }
  for (const uid of views.folders) {
    if (!inApi.has(uid)) found.push(`a folder of pod ${uid} is left`);
  }
  return found.map((problem) => `${node}: ${problem}`);
}

function compareStatuses(api: Pod, agent: Pod): string[] {
  const title = titleOf(api);
  const found: string[] = [];
  const [there, here] = [api.status?.phase, agent.status?.phase];
  if (there !== here) found.push(`${title} is ${there} in the API and ${here} in the agent`);
  const [told, kept] = [containersOf(api), containersOf(agent)];
  for (const name of new Set([...told.keys(), ...kept.keys()])) {
    const [one, other] = [told.get(name), kept.get(name)];
    if (one !== other) found.push(`${title}: ${name} is ${one} in the API and ${other} in the agent`);
  }
  return found;
}

function compareWithRuntime(pod: Pod, { sandboxes, containers }: NodeViews): string[] {
  const title = titleOf(pod);
  const uid = uidOf(pod);
  const found: string[] = [];
  const ready = sandboxes.filter(({ podUid, isReady }) => podUid === uid && isReady);
  const isOver = isTerminal(pod);
  if (ready.length > 1) found.push(`${title} has ${ready.length} sandboxes that are ready`);
  if (isOver && ready.length > 0)
    found.push(`${title} is ${pod.status?.phase} and has a sandbox that is ready`);
  if (pod.status?.phase === 'Running' && ready.length === 0)
    found.push(`${title} is Running without a sandbox`);
  const running = containers.filter(({ podUid, state }) => podUid === uid && state === 'running');
  const claimed = new Map(
    statusesOf(pod)
      .filter(({ state }) => state?.running !== undefined)
      .map(({ name, containerID = '' }) => [bareId(containerID), name]),
  );
  for (const { id, name } of running) {
    if (!claimed.has(id))
      found.push(`${title}: container ${short(id)} ${name} runs, and the API does not say so`);
  }
  for (const [id, name] of claimed) {
    if (!running.some((each) => each.id === id)) {
      found.push(`${title}: ${name} runs as ${short(id)} in the API, and not in the runtime`);
    }
  }
  return found;
}

/** As in `running id=1a2b3c restarts=0 ready`, by the container's name. */
function containersOf(pod: Pod): ReadonlyMap<string, string> {
  return new Map(
    statusesOf(pod).map(({ name, state = {}, containerID = '', restartCount, ready }) => [
      name,
      `${Object.keys(state)[0] ?? 'waiting'} id=${short(bareId(containerID))} restarts=${restartCount}${ready ? ' ready' : ''}`,
    ]),
  );
}

/** Of all kinds of containers. */
export function statusesOf({ status }: Pod) {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses];
}

/** Whether nothing of it will run any more. */
function isTerminal({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Its uid; empty when it has none, which no server sends. */
export function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? '';
}

/** As in `default/web (1a2b…)`. */
export function titleOf({ metadata }: Pod): string {
  return `pod ${metadata?.namespace}/${metadata?.name} (${metadata?.uid})`;
}

/** Without the runtime's name in front. */
export function bareId(containerId: string): string {
  return containerId.slice(containerId.indexOf('://') < 0 ? 0 : containerId.indexOf('://') + 3);
}

function short(id: string): string {
  return id.slice(0, 12);
}
