import { type PodRef } from '#kube/pod/pod-ref.js';
import { type MeasuredCall, type OperationFacts } from './call-meter.js';
import { type Looked } from '../looked.js';
import { type RuntimeCondition } from '../runtime-port.js';

/** What was found out about a container runtime. Plain data: numbers are milliseconds, bytes or counts. */
export interface RuntimeFacts {
  readonly endpoint: string;
  readonly connection: ConnectionFacts;
  /** Empty as long as it is not known. */
  readonly name: string;
  readonly version: string;
  readonly conditions: Looked<readonly RuntimeCondition[]>;
  readonly operations: readonly OperationFacts[];
  readonly lists: readonly ListFacts[];
  readonly population: Looked<PopulationFacts>;
  readonly inspections: Looked<InspectionFacts>;
  readonly events: Looked<EventFacts>;
}

/** How it went with the connection. */
export interface ConnectionFacts {
  /** Whether it was there in the end. */
  readonly connected: boolean;
  readonly attempts: number;
  /** Attempts and calls that failed because nobody was there. */
  readonly failures: number;
  /** The last of these. */
  readonly error?: string;
  /** Its code, such as ENDPOINT_NOT_FOUND. */
  readonly code?: string;
  /** For how long it was watched. */
  readonly watchedMs: number;
}

/** One of the lists. */
export interface ListFacts {
  readonly method: string;
  readonly calls: number;
  readonly hung: number;
  /** Of the answers that came. */
  readonly p50Ms: number;
  /** Of the answer; absent when none came. */
  readonly bytes?: number;
  readonly items?: number;
  /** Of a large answer: the pods with the largest share, at most five. */
  readonly largest?: readonly LargePod[];
  readonly error?: string;
  readonly code?: string;
}

/** A pod's share of a list. */
export interface LargePod {
  readonly pod: PodRef;
  readonly bytes: number;
  /** Sandboxes or containers of it. */
  readonly items: number;
}

/** What the lists show. */
export interface PopulationFacts {
  readonly pods: number;
  readonly sandboxes: number;
  readonly sandboxesNotReady: number;
  readonly containers: number;
  readonly containersByState: Readonly<Record<string, number>>;
  /** Pods whose sandbox was recreated lately, and how often, most often first, at most ten. */
  readonly sandboxStorms: readonly {
    readonly pod: PodRef;
    readonly attempt: number;
    readonly made: number;
  }[];
  /** Containers that were started again lately in a sandbox that stayed, most often first, at most ten; and how many there are. */
  readonly crashLoops: readonly {
    readonly pod: PodRef;
    readonly container: string;
    readonly attempt: number;
  }[];
  readonly crashLoopCount: number;
}

/** What asking for the status of every pod showed. */
export interface InspectionFacts {
  /** Pods that were asked for, of all. */
  readonly asked: number;
  readonly pods: number;
  readonly calls: number;
  /** Of a call that was answered, of those that went out one after another; of all, where none of these was. */
  readonly medianMs: number;
  /** What it takes to ask for everything that is there, one call after another, as a kubelet does. */
  readonly inSeriesMs: number;
  /** At most ten, that with the slowest call first. */
  readonly slowest: readonly SlowPod[];
  /** Calls that were not answered. */
  readonly hung: readonly MeasuredCall[];
  /** Calls that failed, other than because the pod was gone meanwhile. */
  readonly failing: readonly MeasuredCall[];
}

/** What the answered status calls about one pod took. */
export interface SlowPod {
  readonly pod: PodRef;
  /** All of them. */
  readonly ms: number;
  readonly calls: number;
  readonly slowestCall: { readonly method: string; readonly container?: string; readonly ms: number };
}

/** What was seen of the event stream. */
export interface EventFacts {
  /** Whether the runtime has an event stream at all. */
  readonly isSupported: boolean;
  readonly watchedMs: number;
  readonly received: number;
  /** Containers that changed between two lists. */
  readonly changed: number;
  /** Those without an event, at most ten, and how many there are. */
  readonly missed: readonly { readonly pod: PodRef; readonly container: string; readonly id: string }[];
  readonly missedCount: number;
  /** Why the stream ended before its time. */
  readonly ended?: string;
}
