import { containerFieldPath } from '#kube/container/container-field-path.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { type EventObject } from '#kube/columns/kube-object.js';
import { type HistoryRecord } from '../../shared/history/history-reader.js';

/** The label that has the kind of a record. */
const KIND_LABEL = 'podloop.dev/kind';

/** An event with the facts of its kind, which v1 has no place for. */
export interface DetailedEvent extends EventObject {
  readonly details?: HistoryRecord['details'];
}

/** A record as a v1 Event, so that what is written for kubectl's reads it. */
export function toEventObject(record: HistoryRecord): DetailedEvent {
  const { id, atMs, kind, type, reason, message, pod, node = '', container, count = 1, details } = record;
  const { firstAtMs = atMs, fieldPath = containerFieldPath(container), about: object } = record;
  const about = {
    ...(object ?? { kind: pod === undefined ? 'Node' : 'Pod' }),
    name: pod?.name ?? node,
  };
  return {
    ...{ apiVersion: 'v1', kind: 'Event' },
    metadata: {
      ...{
        name: `${about.name}.${id}`,
        namespace: pod?.namespace ?? DEFAULT_NAMESPACE,
        uid: id,
        resourceVersion: id,
      },
      ...{ creationTimestamp: toV1Time(firstAtMs), labels: { [KIND_LABEL]: kind } },
    },
    involvedObject: {
      ...about,
      ...(pod === undefined ? {} : { namespace: pod.namespace, uid: pod.uid }),
      ...(fieldPath === undefined ? {} : { fieldPath }),
    },
    ...{ type, reason, message, count, source: { component: 'podloop' }, reportingComponent: 'podloop' },
    firstTimestamp: toV1Time(firstAtMs),
    lastTimestamp: toV1Time(atMs),
    eventTime: new Date(atMs).toISOString().replace('Z', '000Z'),
    ...(details === undefined ? {} : { details }),
  };
}
