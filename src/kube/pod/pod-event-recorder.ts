import { type PodRef } from './pod-ref.js';

/** Something worth reporting about a pod, in the words of Kubernetes' events. */
export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, from a small set: Pulling, Created, Killing, BackOff … */
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** The container that it is about; absent if it is about the pod. */
  readonly container?: string;
  /** The kind of the object that it is about, if that is no pod. */
  readonly about?: { readonly kind: string; readonly apiVersion: string };
}

/** Records pods' events. Never waits and never throws: an event is published or folded. */
export interface PodEventRecorder {
  record(pod: PodRef, event: PodEvent): void;
}
