/**
 * Every field of v1 Pod, as data: its type, what podloop does with it and why.
 *
 * These tables determine strictness (a field that is in none is an error), which valid fields are refused as
 * unsupported, the constant defaults, and the documentation. A field that becomes supported changes here from
 * `planned` to `supported`. Nothing below a field that is refused or of type `any` is inspected.
 *
 * @module
 */
import { CONTAINER_TABLES } from '../container/container-fields.js';
import { DEFAULT_GRACE_SECONDS } from './default-grace.js';
import { DEFAULT_NAMESPACE } from '../objects/default-namespace.js';
import {
  clustered,
  type FieldTable,
  ignored,
  refused,
  supported,
  type TableOf,
} from '../fields/field-facts.js';
import {
  type HostAlias,
  type ObjectMeta,
  type Pod,
  type PodDnsConfig,
  type PodSecurityContext,
  type PodSpec,
} from './pod.js';
import { SCHEDULING_TABLES } from './scheduling-fields.js';
import { VOLUME_TABLES } from './volume-fields.js';

const SCHEDULER = 'only a scheduler reads it, and the pod is here already';
const OF_CLUSTER = 'a node of a cluster goes by it; elsewhere the pod is here already';
const OF_MIRRORS = 'the mirror pod in a cluster has them; the pod is here already';
const API_SERVER = 'an API server writes it';
/** Of an account that a manifest names: its name counts, for the downward API. */
const NO_TOKEN = 'by its name alone: without an API server there is no token to mount';
const NO_ACCOUNT = 'leave it out: there is no API server to give the pod a token of its account';

const OWN_TABLES = {
  Pod: {
    apiVersion: supported('string', { required: true, only: ['v1'], otherwise: 'use v1' }),
    kind: supported('string', { required: true, only: ['Pod'], otherwise: 'use Pod' }),
    metadata: supported('ObjectMeta', { required: true }),
    spec: supported('PodSpec', { required: true }),
    status: ignored('any', 'it says how the pod was elsewhere'),
  } satisfies TableOf<Pod>,
  ObjectMeta: {
    name: supported('string', { required: true }),
    generateName: clustered(
      refused(
        'use name: a manifest is read again and again, and is the same pod each time; podloop create -f makes a name',
        'string',
      ),
      ignored('string', API_SERVER),
    ),
    namespace: supported('string', { default: DEFAULT_NAMESPACE }),
    selfLink: ignored('string', API_SERVER),
    uid: supported('string'),
    resourceVersion: ignored('string', API_SERVER),
    generation: ignored('int64', API_SERVER),
    creationTimestamp: ignored('string', API_SERVER, { emptyIsValue: true }),
    deletionTimestamp: clustered(
      { ...refused('remove the manifest to end the pod', 'string'), emptyIsValue: true },
      supported('string'),
    ),
    deletionGracePeriodSeconds: clustered(
      refused('use spec.terminationGracePeriodSeconds', 'int64'),
      supported('int64'),
    ),
    labels: supported('map[string]string'),
    annotations: supported('map[string]string'),
    ownerReferences: ignored('any', 'the objects that own it are of an API server'),
    finalizers: clustered(
      refused('leave them out: nobody here would take them off', '[]string'),
      ignored('[]string', API_SERVER),
    ),
    managedFields: ignored('any', API_SERVER),
  } satisfies TableOf<ObjectMeta>,
  PodSpec: {
    volumes: supported('[]Volume'),
    initContainers: supported('[]Container'),
    containers: supported('[]Container', { required: true }),
    ephemeralContainers: supported('[]EphemeralContainer'),
    restartPolicy: supported('Always|OnFailure|Never', { default: 'Always' }),
    terminationGracePeriodSeconds: supported('int64', { default: DEFAULT_GRACE_SECONDS }),
    activeDeadlineSeconds: supported('int64'),
    dnsPolicy: supported('ClusterFirstWithHostNet|ClusterFirst|Default|None', { default: 'ClusterFirst' }),
    nodeSelector: supported('map[string]string', { note: OF_CLUSTER }),
    serviceAccountName: clustered(supported('string', { note: NO_TOKEN }), supported('string')),
    serviceAccount: clustered(
      ignored('string', 'the older name of serviceAccountName, which is set to it where it is empty'),
      ignored('string', 'serviceAccountName says the same'),
    ),
    automountServiceAccountToken: clustered(
      ignored('boolean', 'there is no token to mount', { only: [false], otherwise: NO_ACCOUNT }),
      ignored('boolean', 'the API server has added the volume'),
    ),
    nodeName: clustered(
      ignored('string', 'the pod is of the node that reads its manifest'),
      supported('string'),
    ),
    hostNetwork: supported('boolean'),
    hostPID: supported('boolean', { neutral: [false] }),
    hostIPC: supported('boolean', { neutral: [false] }),
    shareProcessNamespace: supported('boolean', { neutral: [false] }),
    securityContext: supported('PodSecurityContext'),
    imagePullSecrets: supported('[]LocalObjectReference'),
    hostname: supported('string'),
    subdomain: supported('string'),
    affinity: supported('Affinity', { note: OF_CLUSTER }),
    schedulerName: ignored('string', SCHEDULER),
    tolerations: clustered(
      supported('[]Toleration', { note: OF_MIRRORS }),
      ignored('[]Toleration', SCHEDULER),
    ),
    hostAliases: supported('[]HostAlias'),
    priorityClassName: supported('string'),
    priority: supported('int32', { neutral: [0] }),
    dnsConfig: supported('PodDNSConfig'),
    readinessGates: clustered(
      refused('use a readinessProbe: there is no API server through which a condition could be set', '[]any'),
      ignored('[]any', 'but the Ready that is reported to the API server waits for them'),
    ),
    runtimeClassName: supported('string', { emptyIsValue: true }),
    enableServiceLinks: supported('boolean', { default: true }),
    preemptionPolicy: ignored('Never|PreemptLowerPriority', SCHEDULER, { emptyIsValue: true }),
    overhead: clustered(
      refused('leave it out: only an API server sets it, from a RuntimeClass', 'map[string]quantity'),
      supported('map[string]quantity'),
    ),
    topologySpreadConstraints: ignored('[]TopologySpreadConstraint', SCHEDULER),
    setHostnameAsFQDN: supported('boolean', { neutral: [false] }),
    os: supported('PodOS'),
    hostUsers: supported('boolean', {
      neutral: [true],
      note: 'false needs a runtime with user namespaces, such as containerd 2',
    }),
    schedulingGates: clustered(
      supported('[]PodSchedulingGate', {
        note: 'the pod waits until an edit of the manifest takes them off',
      }),
      ignored('[]any', SCHEDULER),
    ),
    resourceClaims: refused(
      'mount what the node has with hostPath; devices need a privileged container',
      '[]any',
    ),
    resources: supported('ResourceRequirements'),
    hostnameOverride: supported('string', { emptyIsValue: true }),
    schedulingGroup: clustered(
      refused('leave it out: there is no scheduler here that would wait for the group'),
      ignored('any', SCHEDULER),
    ),
    evictionResponders: clustered(
      refused('leave them out: a pod of a manifest is not evicted through an API server', '[]any'),
      ignored('[]any', 'only who evicts pods reads it'),
    ),
  } satisfies TableOf<PodSpec>,
  LocalObjectReference: {
    name: supported('string'),
  } satisfies FieldTable,
  PodOS: {
    name: supported('linux|windows', {
      required: true,
      only: ['linux'],
      otherwise: 'podloop runs Linux containers',
    }),
  } satisfies FieldTable,
  HostAlias: {
    ip: supported('string', { required: true }),
    hostnames: supported('[]string'),
  } satisfies TableOf<HostAlias>,
  PodDNSConfig: {
    nameservers: supported('[]string'),
    searches: supported('[]string'),
    options: supported('[]PodDNSConfigOption'),
  } satisfies TableOf<PodDnsConfig>,
  PodDNSConfigOption: {
    name: supported('string', { required: true }),
    value: supported('string'),
  } satisfies FieldTable,
  PodSecurityContext: {
    seLinuxOptions: supported('SELinuxOptions'),
    windowsOptions: clustered(
      refused('leave it out: podloop runs Linux containers'),
      ignored('any', 'podloop runs Linux containers'),
    ),
    runAsUser: supported('int64'),
    runAsGroup: supported('int64'),
    runAsNonRoot: supported('boolean'),
    supplementalGroups: supported('[]int64'),
    supplementalGroupsPolicy: supported('Merge|Strict', { emptyIsValue: true }),
    fsGroup: supported('int64'),
    fsGroupChangePolicy: clustered(
      ignored(
        'OnRootMismatch|Always',
        'emptyDir and the volumes of objects get their group as they are made, and hostPath keeps its own',
        { emptyIsValue: true },
      ),
      supported('OnRootMismatch|Always'),
    ),
    sysctls: supported('[]Sysctl'),
    seccompProfile: supported('SecurityProfile'),
    appArmorProfile: supported('SecurityProfile'),
    seLinuxChangePolicy: clustered(
      {
        ...refused('leave it out: files of volumes are labelled as the runtime does', 'string'),
        emptyIsValue: true,
      },
      ignored('string', 'files of volumes are labelled as the runtime does'),
    ),
  } satisfies TableOf<PodSecurityContext>,
  Sysctl: {
    name: supported('string', { required: true }),
    value: supported('string', { required: true }),
  } satisfies FieldTable,
} as const satisfies Record<string, FieldTable>;

/** The tables of all types below Pod, by type name. */
export const POD_TABLES: Readonly<Record<string, FieldTable>> = {
  ...OWN_TABLES,
  ...CONTAINER_TABLES,
  ...VOLUME_TABLES,
  ...SCHEDULING_TABLES,
};

/** The same tables for pods of an API server. */
export const CLUSTER_POD_TABLES: Readonly<Record<string, FieldTable>> = Object.fromEntries(
  Object.entries(POD_TABLES).map(([type, table]) => [
    type,
    Object.fromEntries(Object.entries(table).map(([name, facts]) => [name, facts.inCluster ?? facts])),
  ]),
);
