import { createHash } from 'node:crypto';
import { toV1Time } from '#kube/pod/v1-pod-status.js';

/** What an event is about: an ObjectReference of core/v1. */
export interface EventObject {
  readonly kind: 'Pod' | 'Node';
  /** Absent for a Node. */
  readonly namespace?: string;
  readonly name: string;
  /** Of a Node its name, by which `kubectl describe node` finds the events of kubelets. */
  readonly uid: string;
  /** `spec.containers{web}`; absent when it is about the whole object. */
  readonly fieldPath?: string;
}

/** Something that happened, as it was reported. */
export interface ToldEvent {
  readonly object: EventObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** An event as it is to stand in the API server: how often it has happened so far. */
export interface CountedEvent extends ToldEvent {
  readonly name: string;
  readonly count: number;
  /** Wall-clock milliseconds. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/**
 * The source of events, in the kubelet's name: field selectors (`source=kubelet`), alerts and dashboards that are written for nodes
 * look for it. Which program a node runs stands in its Node's `kubeletVersion`.
 */
export const KUBELET_COMPONENT = 'kubelet';
/** Events about what lies in no namespace are kept here. */
const NODE_EVENT_NAMESPACE = 'default';
const MAX_NAME_LENGTH = 253;

/** Where events about an object are kept. */
export function eventNamespace({ namespace = NODE_EVENT_NAMESPACE }: EventObject): string {
  return namespace;
}

/** `/api/v1/namespaces/NS/events`. */
export function eventsPath(object: EventObject): string {
  return `/api/v1/namespaces/${encodeURIComponent(eventNamespace(object))}/events`;
}

/**
 * `web.18a3f2c45d6e7f80`: the object's name, and a number that no other event of it has. An object's name that would be too
 * long with it gives its hash instead of its end.
 */
export function eventName({ name }: EventObject, number: bigint): string {
  const suffix = `.${number.toString(16)}`;
  if (name.length + suffix.length <= MAX_NAME_LENGTH) return `${name}${suffix}`;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10);
  const kept = name.slice(0, MAX_NAME_LENGTH - suffix.length - hash.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${kept}-${hash}${suffix}`;
}

/** The body that makes the event, in the name of `component`. */
export function toKubeEvent(event: CountedEvent, nodeName: string, component: string): object {
  const { object, type, reason, message, name, count, firstAtMs, lastAtMs } = event;
  return {
    ...{ apiVersion: 'v1', kind: 'Event' },
    metadata: { name, namespace: eventNamespace(object) },
    involvedObject: { apiVersion: 'v1', ...object },
    ...{ type, reason, message, count },
    ...{ firstTimestamp: toV1Time(firstAtMs), lastTimestamp: toV1Time(lastAtMs) },
    source: { component, host: nodeName },
    ...{ reportingComponent: component, reportingInstance: nodeName },
  };
}

/** The body of a patch that repeats a known event. */
export function toCountPatch({ count, lastAtMs, message }: CountedEvent): object {
  return { count, lastTimestamp: toV1Time(lastAtMs), message };
}
