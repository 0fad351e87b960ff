/**
 * What happens to the node and its pods, as Events of the API server: `kubectl describe pod` and `kubectl get events`.
 *
 * ```
 * pods ─┐                                                        ┌─► POST, once
 * node ─┴► EventCorrelator: combine, count, filter ─► EventSender ┴─► PATCH of the count
 * ```
 *
 * In: events as they are emitted, in the kubelet's words. Out: Events of core/v1 in the kubelet's name, unless another component
 * is given. Nobody waits for them, and they are no record: what is too much, or cannot be written within two minutes, is counted and
 * goes. With `keepsTrying` what cannot be written waits for as long as there is room.
 *
 * A static pod's events name the uid that it has on the node: its mirror pod, which has another one, carries it in
 * `kubernetes.io/config.mirror`, and `kubectl describe` looks there.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 * @module
 */
import { containerFieldPath } from '#kube/container/container-field-path.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEvent, type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type NodeEvent } from '../node/node-ports.js';
import { EventCorrelator } from './event-correlator.js';
import { EventSender, type EventSenderStats } from './event-sender.js';
import { type EventObject, KUBELET_COMPONENT } from './kube-event.js';

/** What {@link ClusterEvents} need. */
export interface ClusterEventsOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly nodeName: string;
  /** In whose name events are written (default: the kubelet's). */
  readonly component?: string;
  /** Whether events wait for as long as there is room while they cannot be written (default: false). */
  readonly keepsTrying?: boolean;
  /** The uid of the Node object; undefined until it was seen: events of the node carry its name instead, as a kubelet's do. */
  readonly nodeUid: () => string | undefined;
  /** A pod of the node, for where in it a container stands; undefined when it is gone. */
  readonly findPod: (uid: string) => Pick<NodePod, 'spec'> | undefined;
  /** Takes out of a message about a pod of that namespace what nobody may read; about the node: undefined. */
  readonly hide: (message: string, namespace: string | undefined) => string;
  /** eventRecordQPS: so many a second, 0 for no limit (default: 50). */
  readonly eventRecordQps?: number;
  /** eventBurst: so many at once after a pause (default: 100). */
  readonly eventBurst?: number;
  /** How many different events wait at most while the API server is away (default: 1,000). */
  readonly capacity?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** What became of events so far. */
export interface ClusterEventsStats extends EventSenderStats {
  /** Went into one event with others that differ in their message only. */
  readonly combined: number;
  /** Counted and left out, as their object has too many. */
  readonly filtered: number;
  /** About pods whose name is unknown. */
  readonly nameless: number;
}

const DEFAULT_CAPACITY = 1_000;
const DEFAULT_QPS = 50;
const DEFAULT_BURST = 100;
/** The output of a probe, which is the longest that is quoted, and some words round it. */
const MAX_MESSAGE_LENGTH = 12 * 1024;

/** See the module. */
export class ClusterEvents implements PodEventRecorder {
  readonly #options: ClusterEventsOptions;
  readonly #correlator: EventCorrelator;
  readonly #sender: EventSender;
  #nameless = 0;

  constructor(options: ClusterEventsOptions) {
    this.#options = options;
    const { client, nodeName, clock, logger, random = Math.random } = options;
    const { component = KUBELET_COMPONENT, keepsTrying = false } = options;
    const { eventRecordQps = DEFAULT_QPS, eventBurst = DEFAULT_BURST } = options;
    this.#correlator = new EventCorrelator(clock);
    this.#sender = new EventSender({
      ...{ client, nodeName, component, keepsTrying, clock, logger, random },
      perSecond: eventRecordQps === 0 ? Infinity : eventRecordQps,
      ...{ burst: eventBurst, capacity: options.capacity ?? DEFAULT_CAPACITY },
    });
  }

  get stats(): ClusterEventsStats {
    const { combined, filtered } = this.#correlator;
    return { ...this.#sender.stats, combined, filtered, nameless: this.#nameless };
  }

  /** Something has happened to a pod. */
  record({ namespace, name, uid }: PodRef, { container, ...event }: PodEvent): void {
    if (namespace === '' || name === '') {
      this.#nameless++;
      return;
    }
    const object = { kind: 'Pod', namespace, name, uid } as const;
    const fieldPath = containerFieldPath(container, this.#options.findPod(uid)?.spec);
    this.#take(fieldPath === undefined ? object : { ...object, fieldPath }, event);
  }

  /** Something has happened to the node. */
  recordNode(event: NodeEvent): void {
    const { nodeName, nodeUid } = this.#options;
    this.#take({ kind: 'Node', name: nodeName, uid: nodeUid() ?? nodeName }, event);
  }

  /** The API server is there: what waits for another try is tried now. */
  retryNow(): void {
    this.#sender.retryNow();
  }

  /** Sends queued and new events until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#sender.run(signal);
  }

  #take(object: EventObject, { type, reason, message }: NodeEvent): void {
    const hidden = this.#options.hide(message, object.namespace);
    const cut = hidden.length > MAX_MESSAGE_LENGTH ? `${hidden.slice(0, MAX_MESSAGE_LENGTH)}…` : hidden;
    const event = this.#correlator.correlate({ object, type, reason, message: cut });
    if (event !== undefined) this.#sender.push(event);
  }
}
