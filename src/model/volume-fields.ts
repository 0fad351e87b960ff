import { type FieldTable, refused, supported, type TableOf } from './field-facts.js';
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
const ATTACH_IT = 'attach the disk to this machine with the tools of its cloud, mount it and use hostPath';
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
    persistentVolumeClaim: refused('use hostPath with a folder of this node, and type DirectoryOrCreate'),
    csi: refused('mount the volume on the node with the tools of its storage and use hostPath'),
    ephemeral: refused('use emptyDir; to keep what is in it, hostPath with type DirectoryOrCreate'),
    image: refused('copy the files with an init container into an emptyDir'),
    nfs: refused('mount it on the node (mount -t nfs, or /etc/fstab) and use hostPath'),
    iscsi: refused('log in to the target on the node (iscsiadm), mount the disk and use hostPath'),
    fc: refused('mount the disk on the node and use hostPath'),
    rbd: refused('map the image on the node (rbd map), mount it and use hostPath'),
    cephfs: refused('mount it on the node (mount -t ceph) and use hostPath'),
    flexVolume: refused('do on the node what its driver does, and use hostPath'),
    azureFile: refused('mount the share on the node (mount -t cifs) and use hostPath'),
    azureDisk: refused(ATTACH_IT),
    awsElasticBlockStore: refused(ATTACH_IT),
    gcePersistentDisk: refused(ATTACH_IT),
    cinder: refused(ATTACH_IT),
    vsphereVolume: refused(ATTACH_IT),
    portworxVolume: refused(ATTACH_IT),
    gitRepo: refused('clone it with an init container into an emptyDir'),
    glusterfs: refused(`${GONE}; ${MOUNT_IT}`),
    flocker: refused(`${GONE}; ${MOUNT_IT}`),
    quobyte: refused(`${GONE}; ${MOUNT_IT}`),
    photonPersistentDisk: refused(`${GONE}; ${MOUNT_IT}`),
    scaleIO: refused(`${GONE}; ${MOUNT_IT}`),
    storageos: refused(`${GONE}; ${MOUNT_IT}`),
  } satisfies TableOf<Volume>,
  EmptyDirVolumeSource: {
    medium: supported('|Memory', { neutral: [''] }),
    sizeLimit: supported('quantity'),
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
    serviceAccountToken: refused('put a token into a Secret: there is no API server that would give one'),
    clusterTrustBundle: refused('put the certificates into a ConfigMap'),
    podCertificate: refused('put the certificate into a Secret: there is no API server that would sign one'),
  } satisfies TableOf<VolumeProjection>,
  ProjectedVolumeSource: {
    sources: supported('[]VolumeProjection'),
    defaultMode: supported('int32', { default: FILE_MODE }),
    defaultUser: refused(NO_OWNER),
  } satisfies TableOf<ProjectedVolume>,
} as const satisfies Record<string, FieldTable>;
