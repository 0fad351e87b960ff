import { type PodRef } from './pod-ref.js';

/** Something worth telling of a pod, in the words of Kubernetes' events. */
export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, from a small set: Pulling, Created, Killing, BackOff … */
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** The name of the container that it is about; absent when it is about the pod. */
  readonly container?: string;
}

/** Where those who do things to pods tell of them. Never waits and never throws: an event is told, or folded. */
export interface PodEventRecorder {
  record(pod: PodRef, event: PodEvent): void;
}
