import { createHash } from 'node:crypto';
import { type PodEvent } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { ApiError } from '../http/api-error.js';
import { type ApiHandler, isTrue, jsonAnswer } from '../http/api-request.js';
import { parseFieldSelector, type SelectableFields } from './field-selector.js';
import { readLabelSelector } from './label-selector.js';

/** An event of a pod, with its number of repetitions. */
export interface ServedEvent extends PodEvent {
  readonly pod: PodRef;
  /** The path of its container in the pod's spec; absent when it is about the pod. */
  readonly fieldPath?: string;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
}

/** What {@link listEvents} needs. */
export interface ListEventsOptions {
  /** In the order of the last time. */
  readonly read: () => readonly ServedEvent[];
  readonly nodeName: string;
  readonly version: () => number;
}

const FIELDS: SelectableFields<ServedEvent> = {
  'involvedObject.kind': ({ about }) => about?.kind ?? 'Pod',
  'involvedObject.namespace': ({ pod }) => pod.namespace,
  'involvedObject.name': ({ pod }) => pod.name,
  'involvedObject.uid': ({ pod }) => pod.uid,
  'involvedObject.apiVersion': ({ about }) => about?.apiVersion ?? 'v1',
  'involvedObject.fieldPath': ({ fieldPath = '' }) => fieldPath,
  'metadata.namespace': ({ pod }) => pod.namespace,
  'metadata.name': (event) => nameOf(event),
  reason: ({ reason }) => reason,
  type: ({ type }) => type,
  source: () => COMPONENT,
  reportingComponent: () => COMPONENT,
};

const COMPONENT = 'podloop';
/** Events have no labels. */
const NO_LABELS = {};

/** GET …/events: the newest events in memory, as v1 Events, in the order of the last time. */
export function listEvents({ read, nodeName, version }: ListEventsOptions): ApiHandler {
  return ({ params, query }) => {
    if (isTrue(query, 'watch')) throw new ApiError('MethodNotAllowed', 'events cannot be watched');
    const { namespace } = params;
    const hasLabels = readLabelSelector(query);
    const hasFields = parseFieldSelector(query.get('fieldSelector') ?? '', FIELDS);
    const items = read()
      .filter(({ pod }) => namespace === undefined || pod.namespace === namespace)
      .filter((event) => hasLabels(NO_LABELS) && hasFields(event))
      .map((event) => render(event, nodeName));
    const metadata = { resourceVersion: String(version()) };
    return jsonAnswer({ kind: 'EventList', apiVersion: 'v1', metadata, items });
  };
}

function render(event: ServedEvent, host: string): object {
  const { pod, type, reason, message, count, fieldPath } = event;
  const { kind, apiVersion } = event.about ?? { kind: 'Pod', apiVersion: 'v1' };
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: {
      ...{ name: nameOf(event), namespace: pod.namespace },
      creationTimestamp: toV1Time(event.firstAtMs),
    },
    involvedObject: {
      ...{ kind, apiVersion, namespace: pod.namespace, name: pod.name, uid: pod.uid },
      ...(fieldPath === undefined ? {} : { fieldPath }),
    },
    ...{ reason, message, source: { component: COMPONENT, host } },
    firstTimestamp: toV1Time(event.firstAtMs),
    lastTimestamp: toV1Time(event.lastAtMs),
    ...{ count, type, reportingComponent: COMPONENT, reportingInstance: host },
  };
}

/** The same for the same event as long as it is stored. */
function nameOf({ pod, container, type, reason, message }: ServedEvent): string {
  const facts = JSON.stringify([pod.uid, container, type, reason, message]);
  return `${pod.name}.${createHash('sha256').update(facts).digest('hex').slice(0, 16)}`;
}
