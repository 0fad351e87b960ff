import { type FieldTable, planned, refused, supported, type TableOf } from './field-facts.js';
import {
  type ConfigMapVolume,
  type DownwardApiFile,
  type DownwardApiVolume,
  type EmptyDirVolume,
  type HostPathVolume,
  type KeyToPath,
  type ObjectProjection,
  type ProjectedVolume,
  type SecretVolume,
  type Volume,
  type VolumeProjection,
} from './volume.js';

const GONE = 'Kubernetes has removed it';
const MOUNT_IT = 'mount it on the node and use hostPath';
const NO_OWNER = 'leave it out: files belong to the user that the mode and fsGroup say';

/** Kubernetes' default for files of ConfigMaps, Secrets and the downward API: 0644. */
const FILE_MODE = 0o644;

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
    persistentVolumeClaim: refused('use hostPath with the path of the volume on this node'),
    csi: refused(MOUNT_IT),
    ephemeral: refused('use emptyDir, or hostPath'),
    image: refused('copy the files with an init container into an emptyDir'),
    nfs: refused(MOUNT_IT),
    iscsi: refused(MOUNT_IT),
    fc: refused(MOUNT_IT),
    rbd: refused(MOUNT_IT),
    cephfs: refused(MOUNT_IT),
    flexVolume: refused(MOUNT_IT),
    azureFile: refused(MOUNT_IT),
    azureDisk: refused(MOUNT_IT),
    awsElasticBlockStore: refused(MOUNT_IT),
    gcePersistentDisk: refused(MOUNT_IT),
    cinder: refused(MOUNT_IT),
    vsphereVolume: refused(MOUNT_IT),
    portworxVolume: refused(MOUNT_IT),
    gitRepo: refused('clone it with an init container into an emptyDir'),
    glusterfs: refused(`${GONE}; ${MOUNT_IT}`),
    flocker: refused(`${GONE}; ${MOUNT_IT}`),
    quobyte: refused(`${GONE}; ${MOUNT_IT}`),
    photonPersistentDisk: refused(`${GONE}; ${MOUNT_IT}`),
    scaleIO: refused(`${GONE}; ${MOUNT_IT}`),
    storageos: refused(`${GONE}; ${MOUNT_IT}`),
  } satisfies TableOf<Volume>,
  EmptyDirVolumeSource: {
    medium: planned('|Memory', { neutral: [''] }),
    sizeLimit: planned('quantity'),
    mode: refused('set the mode with an init container'),
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
    serviceAccountToken: refused('there is no API server that would give a token'),
    clusterTrustBundle: refused('put the certificates into a ConfigMap'),
    podCertificate: refused('there is no API server that would sign one'),
  } satisfies TableOf<VolumeProjection>,
  ProjectedVolumeSource: {
    sources: supported('[]VolumeProjection'),
    defaultMode: supported('int32', { default: FILE_MODE }),
    defaultUser: refused(NO_OWNER),
  } satisfies TableOf<ProjectedVolume>,
} as const satisfies Record<string, FieldTable>;
