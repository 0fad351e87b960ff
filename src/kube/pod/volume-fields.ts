import {
  clustered,
  type FieldFacts,
  type FieldTable,
  ignored,
  refused,
  supported,
  type TableOf,
} from '../fields/field-facts.js';
import {
  type ConfigMapVolume,
  type DownwardApiFile,
  type DownwardApiVolume,
  type EmptyDirVolume,
  type EphemeralVolume,
  type HostPathVolume,
  type ImageVolume,
  type KeyToPath,
  type ObjectProjection,
  type PersistentVolumeClaimVolume,
  type ProjectedVolume,
  type SecretVolume,
  type ServiceAccountTokenProjection,
  type Volume,
  type VolumeProjection,
} from './volume.js';

const GONE = 'Kubernetes has removed it';
const MOUNT_IT = 'mount it on the node and use hostPath';
const ATTACH_IT = 'attach the disk to this machine with the tools of its cloud, mount it and use hostPath';
const NO_OWNER = 'leave it out: files belong to the user that the mode and fsGroup say';

/** Kubernetes' default for files of ConfigMaps, Secrets and the downward API: 0644. */
const FILE_MODE = 0o644;

/**
 * A source that is unsupported here.
 *
 * Manifests with it are refused. A pod of an API server is accepted, and its events say that it waits in
 * vain.
 */
function foreign(instead: string): FieldFacts {
  const inCluster = supported('any', { note: 'no pod gets it: the pod waits, and its events say for what' });
  return clustered(refused(instead), inCluster);
}

/** The fields of volumes. */
export const VOLUME_TABLES = {
  Volume: {
    name: supported('string', { required: true }),
    emptyDir: supported('EmptyDirVolumeSource'),
    hostPath: supported('HostPathVolumeSource'),
    configMap: supported('ConfigMapVolumeSource'),
    secret: supported('SecretVolumeSource'),
    downwardAPI: supported('DownwardAPIVolumeSource'),
    projected: supported('ProjectedVolumeSource'),
    persistentVolumeClaim: supported('PersistentVolumeClaimVolumeSource'),
    image: supported('ImageVolumeSource'),
    csi: foreign('mount the volume on the node with the tools of its storage and use hostPath'),
    ephemeral: clustered(
      refused('use emptyDir; to keep what is in it, hostPath with type DirectoryOrCreate'),
      supported('EphemeralVolumeSource'),
    ),
    nfs: foreign('mount it on the node (mount -t nfs, or /etc/fstab) and use hostPath'),
    iscsi: foreign('log in to the target on the node (iscsiadm), mount the disk and use hostPath'),
    fc: foreign('mount the disk on the node and use hostPath'),
    rbd: foreign('map the image on the node (rbd map), mount it and use hostPath'),
    cephfs: foreign('mount it on the node (mount -t ceph) and use hostPath'),
    flexVolume: foreign('do on the node what its driver does, and use hostPath'),
    azureFile: foreign('mount the share on the node (mount -t cifs) and use hostPath'),
    azureDisk: foreign(ATTACH_IT),
    awsElasticBlockStore: foreign(ATTACH_IT),
    gcePersistentDisk: foreign(ATTACH_IT),
    cinder: foreign(ATTACH_IT),
    vsphereVolume: foreign(ATTACH_IT),
    portworxVolume: foreign(ATTACH_IT),
    gitRepo: foreign('clone it with an init container into an emptyDir'),
    glusterfs: foreign(`${GONE}; ${MOUNT_IT}`),
    flocker: foreign(`${GONE}; ${MOUNT_IT}`),
    quobyte: foreign(`${GONE}; ${MOUNT_IT}`),
    photonPersistentDisk: foreign(`${GONE}; ${MOUNT_IT}`),
    scaleIO: foreign(`${GONE}; ${MOUNT_IT}`),
    storageos: foreign(`${GONE}; ${MOUNT_IT}`),
  } satisfies TableOf<Volume>,
  PersistentVolumeClaimVolumeSource: {
    claimName: supported('string', { required: true }),
    readOnly: supported('boolean'),
  } satisfies TableOf<PersistentVolumeClaimVolume>,
  ImageVolumeSource: {
    reference: supported('string', { required: true }),
    pullPolicy: supported('Always|Never|IfNotPresent'),
  } satisfies TableOf<ImageVolume>,
  EphemeralVolumeSource: {
    volumeClaimTemplate: ignored('any', 'a controller makes the claim of it'),
  } satisfies TableOf<EphemeralVolume>,
  EmptyDirVolumeSource: {
    medium: supported('|Memory|HugePages|HugePages-2Mi|HugePages-1Gi', {
      neutral: [''],
      only: ['', 'Memory'],
      otherwise: 'huge pages are not mounted as volumes; use Memory, or ask for hugepages in resources',
    }),
    sizeLimit: supported('quantity'),
    mode: supported('int32'),
  } satisfies TableOf<EmptyDirVolume>,
  HostPathVolumeSource: {
    path: supported('string', { required: true }),
    type: supported('|DirectoryOrCreate|Directory|FileOrCreate|File|Socket|CharDevice|BlockDevice', {
      default: '',
    }),
  } satisfies TableOf<HostPathVolume>,
  KeyToPath: {
    key: supported('string', { required: true }),
    path: supported('string', { required: true }),
    mode: supported('int32'),
    user: refused(NO_OWNER),
  } satisfies TableOf<KeyToPath>,
  ConfigMapVolumeSource: {
    name: supported('string', { required: true }),
    items: supported('[]KeyToPath'),
    defaultMode: supported('int32', { default: FILE_MODE }),
    optional: supported('boolean'),
    defaultUser: refused(NO_OWNER),
  } satisfies TableOf<ConfigMapVolume>,
  SecretVolumeSource: {
    secretName: supported('string', { required: true }),
    items: supported('[]KeyToPath'),
    defaultMode: supported('int32', { default: FILE_MODE }),
    optional: supported('boolean'),
    defaultUser: refused(NO_OWNER),
  } satisfies TableOf<SecretVolume>,
  DownwardAPIVolumeFile: {
    path: supported('string', { required: true }),
    fieldRef: supported('ObjectFieldSelector'),
    resourceFieldRef: supported('ResourceFieldSelector'),
    mode: supported('int32'),
    user: refused(NO_OWNER),
  } satisfies TableOf<DownwardApiFile>,
  DownwardAPIVolumeSource: {
    items: supported('[]DownwardAPIVolumeFile'),
    defaultMode: supported('int32', { default: FILE_MODE }),
    defaultUser: refused(NO_OWNER),
  } satisfies TableOf<DownwardApiVolume>,
  ObjectProjection: {
    name: supported('string', { required: true }),
    items: supported('[]KeyToPath'),
    optional: supported('boolean'),
  } satisfies TableOf<ObjectProjection>,
  DownwardAPIProjection: {
    items: supported('[]DownwardAPIVolumeFile'),
  } satisfies TableOf<NonNullable<VolumeProjection['downwardAPI']>>,
  VolumeProjection: {
    configMap: supported('ObjectProjection'),
    secret: supported('ObjectProjection'),
    downwardAPI: supported('DownwardAPIProjection'),
    serviceAccountToken: clustered(
      refused('put a token into a Secret: there is no API server that would give one'),
      supported('ServiceAccountTokenProjection'),
    ),
    clusterTrustBundle: foreign('put the certificates into a ConfigMap'),
    podCertificate: foreign('put the certificate into a Secret: there is no API server that would sign one'),
  } satisfies TableOf<VolumeProjection>,
  ServiceAccountTokenProjection: {
    audience: supported('string'),
    expirationSeconds: supported('int64', { default: 3600 }),
    path: supported('string', { required: true }),
    user: refused(NO_OWNER),
  } satisfies TableOf<ServiceAccountTokenProjection>,
  ProjectedVolumeSource: {
    sources: supported('[]VolumeProjection'),
    defaultMode: supported('int32', { default: FILE_MODE }),
    defaultUser: refused(NO_OWNER),
  } satisfies TableOf<ProjectedVolume>,
} as const satisfies Record<string, FieldTable>;
