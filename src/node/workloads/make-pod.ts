import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { type Pod, type PodSpec } from '#kube/pod/pod.js';
import { hashPod, STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { type ControlledWorkload, type PodEntry, type WorkloadRecord } from './workload-record.js';
import { claimNameOf, ORDINAL_PLACE } from './stateful-set.js';

/** On pods of indexed Jobs, as label and annotation. */
const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';
const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
const IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';
const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

/** Where a pod comes from, and where it runs. */
export interface PodOrigin {
  readonly source: string;
  readonly nodeName: string;
}

/**
 * The pod of an entry. Pure: the same for the same entry, whatever became of its workload since.
 *
 * It finds the ConfigMaps and Secrets of its workload's source.
 */
export function makePod(record: WorkloadRecord, entry: PodEntry, { source, nodeName }: PodOrigin): NodePod {
  const { object, uid: ownerUid } = record;
  const { kind, apiVersion, metadata: owner } = object;
  const template = record.revisions[entry.revision]!;
  const { labels, annotations } = addedTo(object, entry, ownerUid);
  const written: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name: entry.name, namespace: owner.namespace },
      labels: { ...template.metadata?.labels, ...labels },
      annotations: { ...template.metadata?.annotations, ...annotations },
    },
    spec: specOf(object, entry, template.spec),
  };
  const full = applyPodDefaults(written);
  return {
    ...full,
    metadata: {
      ...{ ...full.metadata, namespace: owner.namespace, uid: entry.uid },
      annotations: {
        ...full.metadata.annotations,
        [STATIC_POD_ANNOTATIONS.source]: source,
        [STATIC_POD_ANNOTATIONS.uid]: entry.uid,
        [STATIC_POD_ANNOTATIONS.manifestHash]: hashPod(written),
      },
      ownerReferences: [
        { apiVersion, kind, name: owner.name, uid: ownerUid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: { ...full.spec, nodeName },
  };
}

interface Added {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

function addedTo({ kind, metadata: { name } }: ControlledWorkload, entry: PodEntry, uid: string): Added {
  const { revision, index } = entry;
  switch (kind) {
    case 'Job': {
      const ofJob = {
        ...{ 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': name },
        ...{ 'controller-uid': uid, 'job-name': name },
      };
      if (index === undefined) return { labels: ofJob };
      const place = { [COMPLETION_INDEX]: String(index) };
      const { counted, ignored } = entry.indexFailures ?? { ignored: 0 };
      return {
        labels: { ...ofJob, ...place },
        annotations: {
          ...place,
          ...(counted === undefined ? {} : { [FAILURE_COUNT]: String(counted) }),
          ...(ignored === 0 ? {} : { [IGNORED_FAILURE_COUNT]: String(ignored) }),
        },
      };
    }
    case 'StatefulSet':
      return {
        labels: {
          'apps.kubernetes.io/pod-index': String(index),
          'controller-revision-hash': `${name}-${revision}`,
          'statefulset.kubernetes.io/pod-name': entry.name,
        },
      };
    case 'DaemonSet':
      return { labels: { 'controller-revision-hash': revision } };
    default:
      return { labels: {} };
  }
}

function specOf(workload: ControlledWorkload, entry: PodEntry, spec: PodSpec): PodSpec {
  const { kind, metadata } = workload;
  const { index, name } = entry;
  if (index === undefined) return spec;
  if (kind === 'StatefulSet') {
    const { serviceName = '' } = workload.spec;
    const volumes = spec.volumes?.map((volume) => {
      const place = claimNameOf(volume.name, metadata.name, ORDINAL_PLACE);
      if (volume.persistentVolumeClaim?.claimName !== place) return volume;
      const claimName = claimNameOf(volume.name, metadata.name, index);
      return { ...volume, persistentVolumeClaim: { ...volume.persistentVolumeClaim, claimName } };
    });
    return {
      ...{ ...spec, hostname: name },
      // By these two names it is found in the DNS.
      ...(serviceName === '' ? {} : { subdomain: serviceName }),
      ...(volumes === undefined ? {} : { volumes }),
    };
  }
  const withIndex = (container: Container): Container => {
    const { env = [] } = container;
    if (env.some((variable) => variable.name === INDEX_VARIABLE)) return container;
    const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` };
    return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef } }] };
  };
  return {
    ...{ ...spec, hostname: spec.hostname ?? `${metadata.name}-${index}` },
    containers: spec.containers.map(withIndex),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withIndex) }),
  };
}
