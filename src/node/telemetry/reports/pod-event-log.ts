import { containerFieldPath, type SpecialContainers } from '#kube/container/container-field-path.js';
import { type PodEvent, type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { definePublishingChannel } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';

/** An event with its pod, and how often it was told. */
export interface RecordedPodEvent extends PodEvent {
  readonly pod: PodRef;
  /** Where in the spec of the pod the container stands that it is about: `spec.initContainers{setup}`. */
  readonly fieldPath?: string;
  /** How many times in a row; the same event of the same pod is kept once. */
  readonly count: number;
  /** Wall-clock milliseconds of the first and of the last time. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** An event of a pod was told, for the first time or again. */
export const podEventRecorded = definePublishingChannel<RecordedPodEvent>('podloop:agent:pod-event:recorded');

/** What {@link PodEventLog} needs. */
export interface PodEventLogOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** A pod of the node, for where in it a container stands; undefined when it is gone. */
  readonly findPod?: (uid: string) => { readonly spec: SpecialContainers } | undefined;
  /** Takes out of a message about a pod of that namespace what nobody may read (default: nothing). */
  readonly hide?: (message: string, namespace: string) => string;
  /** How many different events are kept; 1,000 unless told. The one that was told longest ago goes first. */
  readonly capacity?: number;
}

const DEFAULT_CAPACITY = 1_000;

/** The newest events of pods, the same ones counted and not repeated; each is also logged. */
export class PodEventLog implements PodEventRecorder {
  readonly #options: PodEventLogOptions;
  /** In the order of the last time. */
  readonly #events = new Map<string, RecordedPodEvent>();
  readonly #followers = new Set<PodEventRecorder>();
  #forgotten = 0;

  constructor(options: PodEventLogOptions) {
    this.#options = options;
  }

  /** How many events were given up for newer ones. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Tells `follower` of each event from now on, with nothing in it that nobody may read, until the returned function is called. */
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
    const spec = container === undefined ? undefined : findPod(pod.uid)?.spec;
    const fieldPath = containerFieldPath(container, spec);
    logger.info(
      'Event occurred',
      {
        object: formatPod(pod),
        podUID: pod.uid,
        fieldPath,
        kind: 'Pod',
        apiVersion: 'v1',
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
    podEventRecorded.publish(recorded);
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
