import { type PodRef } from '#kube/pod/pod-ref.js';
import { type NodeFacts } from '../facts/node-facts.js';
import { type Finding } from '../finding.js';
import { type ListedContainer, type ListedSandbox } from '../runtime-port.js';
import { type EventObject, type PodObject } from './pod-object.js';

/** A container of the pod as the runtime has it, with its end where it has ended. */
export interface RuntimeContainer extends ListedContainer {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAtMs?: number;
}

/** Everything that is known of a pod. */
export interface PodCase {
  readonly pod: PodRef;
  /** Who has the pod: podloop’s agent, the kubelet, or the runtime alone where neither could be asked. */
  readonly source: 'podloop’s agent' | 'the kubelet' | 'the runtime';
  /** Absent where only the runtime knows the pod. */
  readonly object?: PodObject;
  /** Of podloop's agent: a kubelet serves none. */
  readonly events: readonly EventObject[];
  /** Newest first. */
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly RuntimeContainer[];
  readonly facts: NodeFacts;
  readonly findings: readonly Finding[];
}

/** Where a pod stands on its way; the order is that in which it goes. */
export type PodStep =
  | 'admission'
  | 'volume'
  | 'network'
  | 'sandbox'
  | 'pull'
  | 'create'
  | 'start'
  | 'probe'
  | 'back-off'
  | 'running'
  | 'ended'
  | 'deletion'
  | 'unknown';

/** Why a pod does not run, or that it does. */
export interface PodDiagnosis {
  readonly pod: PodRef;
  readonly source: PodCase['source'];
  readonly step: PodStep;
  readonly container?: string;
  /** In Kubernetes' or the doctor's words, in one: ImagePullBackOff, SandboxHangs. */
  readonly reason: string;
  /** One sentence. */
  readonly message: string;
  readonly sinceMs?: number;
  readonly evidence: readonly string[];
  readonly remedy: string;
  /** Whether it runs, or has ended as it should. */
  readonly isWell: boolean;
  /** What is wrong with the node and has to do with it, worst first. */
  readonly findings: readonly Finding[];
}
