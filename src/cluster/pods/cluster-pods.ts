/**
 * The pods that an API server gives to this node: they come from there, what becomes of them goes back there.
 *
 * ```
 * API server ─ list, watch ─► KnownPods ─► PodSource ─► the agent (deliver, markEnded)
 *      ▲                          │                         │ statuses, what is finished
 *      └──── StatusWriter, MirrorPods ◄─────────────────────┘
 * ```
 *
 * In: a {@link KubeClient}, {@link AgentPods}, what the agent does and knows, and the node's object, which somebody else watches. Nothing of a pod is kept on disk: what is
 * true of it is in the API server and in the runtime.
 *
 * @module
 */
import { type Publisher } from '#base/channels/publishing-channel.js';
import { isDeepStrictEqual } from 'node:util';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { isTerminalPhase, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type ApiNode } from '../node/api-node.js';
import { type NodePressure } from '../node/compute-node-conditions.js';
import { matchesNodeSelector } from '../node/match-node-selector.js';
import { type NodeObject, readNode } from '../node/node-object.js';
import { type FollowedState, Reflector } from '../watch/reflector.js';
import {
  admitByLabels,
  admitToNode,
  isForThisSystem,
  type NodeRejection,
  WRONG_SYSTEM,
} from './admit-to-node.js';
import { admitUnderPressure } from './admit-under-pressure.js';
import { type AgentPods } from './agent-pods.js';
import { type ApiPod, type NamedApiPod } from './api-pod.js';
import { KnownPods } from './known-pods.js';
import { MirrorPods } from './mirror-pods.js';
import { PodSource, UNSUPPORTED_POD } from './pod-source.js';
import { toNodeStatus } from './to-node-status.js';
import { StatusWriter, type StatusWriterStats } from './status-writer.js';

/** What {@link ClusterPods} need. */
export interface ClusterPodsOptions extends Publisher {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly agent: AgentPods;
  /** Takes in the Node as it was asked for; where nothing newer was seen, {@link ClusterPods.seeNode} is called with it. */
  readonly takeNode: (node: NodeObject) => void;
  /** What the Node has when it is made: static pods are held against these until it was seen, as they do not wait for it. */
  readonly initialLabels: Readonly<Record<string, string>>;
  /** What the node is short of now. */
  readonly pressure: () => NodePressure;
  readonly events: PodEventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** How {@link ClusterPods} get on. */
export interface ClusterPodsState {
  /** All pods were listed, and the node's object was seen: they have been delivered. */
  readonly hasSynced: boolean;
  /** Why they are not in step with the API server now. */
  readonly problem: Error | undefined;
  readonly pods: number;
  readonly mirrors: number;
  readonly unknownFields: number;
  readonly watch: FollowedState;
  readonly statuses: StatusWriterStats;
}

/** So long a pod waits for the node to be asked for. */
const NODE_LIMIT_MS = 5_000;

/** See the module. */
export class ClusterPods {
  readonly #options: ClusterPodsOptions;
  readonly #known = new KnownPods();
  readonly #source: PodSource;
  readonly #mirrors: MirrorPods;
  readonly #writer: StatusWriter;
  readonly #reflector: Reflector<ApiPod>;
  /** As it was last seen: one that was deleted has the labels that it had. */
  #node: ApiNode | undefined;
  #isNodeThere = false;

  constructor(options: ClusterPodsOptions) {
    this.#options = options;
    const { client, nodeName, agent, events, channels, clock, logger, random } = options;
    const common = { client, clock, logger, ...(random === undefined ? {} : { random }) };
    const known = this.#known;
    const onEnded = (pod: NodePod, status: V1PodStatus): void => {
      const own = agent.findStatus(pod.metadata.uid);
      // It is from here that the server knows; and one that is to end ends.
      const isOurs = own !== undefined && isTerminalPhase(own.status.phase);
      if (!isOurs && pod.metadata.deletionTimestamp === undefined) agent.markEnded(pod, status);
    };
    this.#source = new PodSource({
      ...{ known, events, logger, onEnded },
      deliver: (pods) => agent.deliver(pods),
      findRefusal: (uid) => agent.findRefusal(uid),
      onRefusalChanged: (uid) => this.#writer.touch(uid),
      settle: (pod) => this.#settle(pod),
    });
    const node = (): ApiNode | undefined => (this.#isNodeThere ? this.#node : undefined);
    this.#mirrors = new MirrorPods({ ...common, known, agent, node, events });
    this.#writer = new StatusWriter({
      ...{ ...common, channels, known, agent, source: this.#source, mirrors: this.#mirrors },
      onDoubt: () => this.#reflector.listAgain(),
    });
    this.#reflector = new Reflector<ApiPod>({
      ...{ ...common, path: '/api/v1/pods', sink: known },
      query: { fieldSelector: `spec.nodeName=${nodeName}` },
      // Who is not among the first is ended as one that is gone: a server that lags behind may not say that.
      since: '',
      isUrgent: true,
    });
  }

  /** As of now. */
  get state(): ClusterPodsState {
    return {
      hasSynced: this.#reflector.hasSynced && this.#node !== undefined,
      problem: this.#reflector.problem,
      ...{ pods: this.#known.size, mirrors: this.#mirrors.size, unknownFields: this.#source.unknownFields },
      ...{ watch: this.#reflector.state, statuses: this.#writer.stats },
    };
  }

  /** Why a pod may not be on this node; undefined when it may. Of pods from elsewhere it is asked what they select alone. */
  admit(pod: NodePod): NodeRejection | undefined {
    const { uid } = pod.metadata;
    const api = this.#known.find(uid);
    if (api === undefined) return isClusterPod(pod) ? undefined : this.#admitStatic(pod);
    const problems = this.#source.problemsOf(uid);
    // Of all that the node has not, a kubelet has a word of its own for this.
    if (!isForThisSystem(api)) return WRONG_SYSTEM;
    const pressing = admitUnderPressure(pod, api, this.#options.pressure());
    if (pressing !== undefined) return pressing;
    if (problems.length > 0) {
      return { reason: UNSUPPORTED_POD, message: `Pod was rejected: ${problems.join('; ')}` };
    }
    return this.#node === undefined ? undefined : admitToNode(api, this.#node);
  }

  /** The status of a pod at the API server, whoever wrote it; undefined for a pod that is not from there. */
  findReported(uid: string): V1PodStatus | undefined {
    const api = this.#known.find(uid);
    return api === undefined ? undefined : toNodeStatus(api);
  }

  #admitStatic({ spec }: NodePod): NodeRejection | undefined {
    const { nodeName: name, initialLabels: labels } = this.#options;
    return admitByLabels(spec, this.#node ?? { metadata: { name, labels } });
  }

  /** No container of a pod runs any more, or nothing at all is left of it: to be called as soon as that is so. */
  podEndChanged(uid: string): void {
    this.#writer.touch(uid);
    this.#mirrors.refresh();
  }

  /** The node's object as it is now; undefined once it is gone. To be called with each version that is seen. */
  seeNode(node: ApiNode | undefined): void {
    this.#isNodeThere = node !== undefined;
    if (node === undefined) return;
    const before = this.#node?.metadata?.labels ?? this.#options.initialLabels;
    this.#node = node;
    // Otherwise they would have to be created again: only a scheduler retries.
    if (!isDeepStrictEqual(before, node.metadata?.labels ?? {})) this.#options.agent.judgeRejected();
    this.#source.nodeIsKnown();
    this.#mirrors.refresh();
  }

  /** Something else has got through to the API server: what waits for another try is tried at once. */
  retryNow(): void {
    this.#reflector.retryNow();
    this.#mirrors.retryNow();
    this.#writer.retryNow();
  }

  /** The API server was restored: what the watch has reported may not exist any more. */
  listAgain(): void {
    this.#known.noteRestored();
    this.#reflector.listAgain();
  }

  /**
   * A label of the node may have come to the scheduler before it came here, by another watch: what does not fit by labels alone is
   * judged by the node as it is asked for now, since that is final. As with a kubelet. Where the watch was sooner, by what it has told.
   */
  #settle(pod: NamedApiPod): Promise<void> | undefined {
    const { client, nodeName, takeNode } = this.#options;
    if (this.#node === undefined || matchesNodeSelector(pod.spec ?? {}, this.#node)) return undefined;
    const path = `/api/v1/nodes/${encodeURIComponent(nodeName)}`;
    return client
      .request<unknown>({ method: 'GET', path, timeoutMs: NODE_LIMIT_MS, isUrgent: true })
      .then((answer) => {
        const node = readNode(answer);
        // What is none does not say that there is none.
        if (node !== undefined) takeNode(node);
      });
  }

  /** Keeps node and API server in step until the signal aborts; resolves then. The pods go on as they are. */
  async run(signal: AbortSignal): Promise<void> {
    const parts = [this.#reflector, this.#mirrors, this.#writer];
    await Promise.all(parts.map(async (part) => part.run(signal)));
  }
}
