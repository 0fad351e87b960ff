import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Looked } from '../looked.js';

/** What a kubelet, or podloop's agent in its place, says of itself over HTTP. */
export interface KubeletFacts {
  readonly health: Looked<KubeletHealth>;
  readonly metrics: Looked<KubeletMetrics>;
  /** Its pods that wait for something. */
  readonly waiting: Looked<readonly WaitingPod[]>;
}

/** A pod that a kubelet has and that does not run whole, as the kubelet says. */
export interface WaitingPod {
  readonly pod: PodRef;
  /** The container that waits; absent where none has a status yet. */
  readonly container?: string;
  /** In Kubernetes' words: ContainerCreating, ImagePullBackOff, CrashLoopBackOff. */
  readonly reason: string;
  readonly message: string;
  /** Since the kubelet took the pod. */
  readonly forMs: number;
  /** Whether the runtime has a sandbox for it that is ready. */
  readonly hasSandbox: boolean;
}

/** An answer of /healthz. */
export interface KubeletHealth {
  readonly url: string;
  readonly healthy: boolean;
  /** What it said, in short. */
  readonly words: string;
  /** Where it took the connection and did not answer: for how long. */
  readonly silentForMs?: number;
}

/** What its metrics say. */
export interface KubeletMetrics {
  readonly url: string;
  /** How long ago it last relisted the pods; absent where it does not say. */
  readonly lastSeenAgoMs?: number;
  /** After how long without a relist it counts as unhealthy, where it says so. */
  readonly thresholdMs?: number;
  /** Whether it gets changes from an event stream, so that it relists every five minutes only. */
  readonly isEvented: boolean;
  /** Of its relists: the 99th percentile in milliseconds, how many there are, and whether only those since the examination began count. */
  readonly relistP99Ms?: number;
  readonly relists: number;
  readonly isRecent: boolean;
  /** Since it started, and since the examination began. */
  readonly eventsDiscarded: number;
  readonly eventsDiscardedLately: number;
  /** Pods that it has to run, and those of which a sandbox runs; absent where it does not say. */
  readonly podsWanted?: number;
  /** Volumes of pods that are not mounted yet; absent where it does not count them. */
  readonly volumesMissing?: number;
  readonly podsRunning?: number;
  /** Failed calls of RunPodSandbox since it started, and since the examination began. */
  readonly sandboxErrors: number;
  readonly sandboxErrorsLately: number;
  /** Its calls to the runtime by operation, slowest first. */
  readonly operations: readonly KubeletOperation[];
}

/** The kubelet's calls of one operation: of those since the examination began where there were any, else of all. */
export interface KubeletOperation {
  /** As the kubelet's metrics name it: container_status. */
  readonly operation: string;
  readonly count: number;
  readonly errors: number;
  readonly p99Ms: number;
  readonly isRecent: boolean;
}
