import { containerFieldPath, type SpecialContainers } from '#kube/container/container-field-path.js';
import { type PodEvent, type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { definePublishingChannel, publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';

/** An event with its pod, and how often it happened. */
export interface RecordedPodEvent extends PodEvent {
  readonly pod: PodRef;
  /** The path of the event's container in the pod's spec: `spec.initContainers{setup}`. */
  readonly fieldPath?: string;
  /** How many times in a row; repeated events of a pod are stored once. */
  readonly count: number;
  /** Wall-clock milliseconds of the first and of the last time. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** An event of a pod was recorded, for the first time or again. */
export const podEventRecorded = definePublishingChannel<RecordedPodEvent>('podloop:agent:pod-event:recorded');

/** What {@link PodEventLog} needs. */
export interface PodEventLogOptions extends Publisher {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Finds a pod of the node, to locate containers in it; undefined when it is gone. */
  readonly findPod?: (uid: string) => { readonly spec: SpecialContainers } | undefined;
  /** Removes what nobody may read from a message about a pod of that namespace (default: nothing). */
  readonly hide?: (message: string, namespace: string) => string;
  /** How many different events are stored (default: 1,000). The least recent one is dropped first. */
  readonly capacity?: number;
}

const DEFAULT_CAPACITY = 1_000;

/** The newest events of pods; repetitions are counted; each event is also logged. */
export class PodEventLog implements PodEventRecorder {
  readonly #options: PodEventLogOptions;
  /** In the order of the last time. */
  readonly #events = new Map<string, RecordedPodEvent>();
  readonly #followers = new Set<PodEventRecorder>();
  #forgotten = 0;

  constructor(options: PodEventLogOptions) {
    this.#options = options;
  }

  /** How many events were dropped for newer ones. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Passes each further event to `follower`, without secrets, until the returned function is called. */
  follow(follower: PodEventRecorder): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  record(pod: PodRef, told: PodEvent): void {
    const {
      clock,
      logger,
      capacity = DEFAULT_CAPACITY,
      hide = (text: string): string => text,
      findPod = () => undefined,
    } = this.#options;
    const event = { ...told, message: hide(told.message, pod.namespace) };
    const { type, reason, message, container } = event;
    const { kind, apiVersion } = event.about ?? { kind: 'Pod', apiVersion: 'v1' };
    const spec = container === undefined ? undefined : findPod(pod.uid)?.spec;
    const fieldPath = containerFieldPath(container, spec);
    logger.info(
      'Event occurred',
      {
        object: formatPod(pod),
        podUID: pod.uid,
        fieldPath,
        kind,
        apiVersion,
        type,
        reason,
        message,
      },
      type === 'Warning' ? 2 : 4,
    );
    const key = JSON.stringify([pod.uid, container, type, reason, message]);
    const known = this.#events.get(key);
    const lastAtMs = clock.now();
    this.#events.delete(key);
    const { count = 0, firstAtMs = lastAtMs } = known ?? {};
    const place = fieldPath === undefined ? {} : { fieldPath };
    const recorded = { ...event, pod, ...place, count: count + 1, firstAtMs, lastAtMs };
    this.#events.set(key, recorded);
    publishTo(this.#options.channels, podEventRecorded, recorded);
    for (const follower of this.#followers) follower.record(pod, event);
    if (this.#events.size <= capacity) return;
    const [oldest] = this.#events.keys();
    this.#events.delete(oldest!);
    this.#forgotten++;
  }

  /** Events in the order of their last time; of one pod, or of all. */
  list(uid?: string): RecordedPodEvent[] {
    const all = [...this.#events.values()];
    return uid === undefined ? all : all.filter((event) => event.pod.uid === uid);
  }
}
