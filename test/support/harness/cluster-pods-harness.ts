import { type AgentPods, ClusterPods } from '#cluster';
import { type NodePressure } from '../../../src/cluster/node/compute-node-conditions.js';
import { OwnNode } from '../../../src/cluster/node/own-node.js';
import { type AgentPodStatus, type AgentStatusChange } from '../../../src/cluster/pods/agent-pods.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi, type ObjectToMake } from '#testing/in-memory-api/in-memory-api.js';
import { type StoredObject } from '#testing/in-memory-api/stored-object.js';
import { PushedItems } from '../clients/pushed-items.js';

/** The name of the scene's node. */
export const SCENE_NODE = 'here';
/** Where the API server keeps the pod of that name. */
export const podPath = (name: string): string => `/api/v1/namespaces/default/pods/${name}`;

/** An agent that does nothing by itself: the test says how its pods are. */
class ScriptedAgentPods implements AgentPods {
  /** All that was delivered last, by uid; undefined before. */
  delivered: Map<string, NodePod> | undefined;
  deliveries = 0;
  readonly ended: string[] = [];
  readonly running = new Set<string>();
  readonly finished = new Set<string>();
  /** By uid, what is in the way of a pod that is delivered. */
  readonly refusals = new Map<string, string>();
  statics: NodePod[] | undefined = [];
  /** How often what was rejected was to be judged again. */
  judgements = 0;
  readonly #statuses = new Map<string, AgentPodStatus & { readonly nodePod: NodePod | undefined }>();
  readonly #readers = new Set<PushedItems<AgentStatusChange>>();

  deliver(pods: readonly NodePod[]): void {
    this.deliveries++;
    this.delivered = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
  }

  markEnded({ metadata }: NodePod, { phase }: V1PodStatus): void {
    this.ended.push(`${metadata.name} ${phase}`);
  }

  findStatus(uid: string): AgentPodStatus | undefined {
    return this.#statuses.get(uid);
  }

  findStatusPod(uid: string): NodePod | undefined {
    return this.#statuses.get(uid)?.nodePod;
  }

  statuses(): Iterable<AgentPodStatus> {
    return this.#statuses.values();
  }

  watchStatuses(): AsyncIterable<AgentStatusChange> & { close(): void } {
    const items = new PushedItems<AgentStatusChange>();
    this.#readers.add(items);
    return {
      [Symbol.asyncIterator]: () => items[Symbol.asyncIterator](),
      close: () => {
        items.break(new Error('closed'));
        this.#readers.delete(items);
      },
    };
  }

  mayHaveRunning(uid: string): boolean {
    return this.running.has(uid);
  }

  isFinished(uid: string): boolean {
    // One that was never begun: it could not be read, or another has its name.
    const isBegun = this.#statuses.has(uid) || this.running.has(uid);
    const isTaken = this.delivered === undefined || (this.delivered.has(uid) && !this.refusals.has(uid));
    return this.finished.has(uid) || (!isBegun && !isTaken);
  }

  findRefusal(uid: string): string | undefined {
    return this.delivered?.has(uid) === true ? this.refusals.get(uid) : undefined;
  }

  staticPods(): readonly NodePod[] | undefined {
    return this.statics;
  }

  judgeRejected(): void {
    this.judgements++;
  }

  /** The agent computes a status of a pod that it was given, or of a static one. */
  compute(uid: string, status: Partial<V1PodStatus>): void {
    const nodePod = this.delivered?.get(uid) ?? this.statics?.find(({ metadata }) => metadata.uid === uid);
    const { name = '', namespace = 'default' } = nodePod?.metadata ?? {};
    const whole: V1PodStatus = {
      phase: 'Pending',
      qosClass: 'BestEffort',
      ...{ conditions: [], containerStatuses: [], ...status },
    };
    const record = { pod: { uid, name, namespace }, status: whole, nodePod };
    this.#statuses.set(uid, record);
    for (const reader of this.#readers) reader.push({ type: 'status', record });
  }
}

/** {@link ClusterPods} with an API server in memory and an agent that the test drives. */
export class ClusterPodsHarness implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly api = new InMemoryApi({ clock: this.clock });
  readonly agent = new ScriptedAgentPods();
  readonly events: string[] = [];
  pressure: NodePressure = { memory: false, disk: false, pid: false };
  pods!: ClusterPods;
  #abort = new AbortController();
  #running: Promise<unknown> | undefined;

  constructor() {
    this.api.put(`/api/v1/nodes/${SCENE_NODE}`, { metadata: { uid: 'node-uid', labels: { disk: 'ssd' } } });
  }

  /** Makes new ones, as a new agent does, and runs them. */
  async start(): Promise<void> {
    this.#abort = new AbortController();
    const { clock, api: client, agent } = this;
    const record = ({ name }: { readonly name: string }, { reason, message }: PodEvent): void =>
      void this.events.push(`${name} ${reason} ${message}`);
    this.pods = new ClusterPods({
      initialLabels: { zone: 'a' },
      pressure: () => this.pressure,
      ...{ client, clock, agent, nodeName: SCENE_NODE, logger: SILENT_LOGGER, random: () => 0.5 },
      events: { record },
      takeNode: (seen) => node.take(seen),
    });
    const { signal } = this.#abort;
    const node = new OwnNode({
      ...{ name: SCENE_NODE, client, clock, logger: SILENT_LOGGER },
      onChange: (seen) => this.pods.seeNode(seen),
    });
    this.#running = Promise.all([this.pods.run(signal), node.run(signal)]);
    await clock.settle();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
    this.#running = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Puts a pod of one container on the node, as the scheduler leaves it. */
  bind(name: string, more: Partial<ObjectToMake> & { readonly spec?: object } = {}): StoredObject {
    const { metadata, spec, ...rest } = more;
    return this.api.put(podPath(name), {
      metadata: { uid: `uid-${name}`, generation: 1, ...metadata },
      spec: { nodeName: SCENE_NODE, containers: [{ name: 'main', image: 'app' }], ...spec },
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }] },
      ...rest,
    });
  }

  /** What is sent of pods, in order: method and name, and of a patch its status. */
  changesOf(name: string): unknown[] {
    return this.api.changes
      .filter(({ path }) => path.includes(`/pods/${name}`))
      .map(({ method, body }) => (method === 'PATCH' ? (body as { status: unknown }).status : method));
  }

  statusOf(name: string): Readonly<Record<string, unknown>> {
    return this.api.find(podPath(name))?.status ?? {};
  }
}
