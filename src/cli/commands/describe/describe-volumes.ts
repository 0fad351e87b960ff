import { type ProjectedSourceObject, type VolumeObject } from '#kube/columns/kube-object.js';
import { cell, type TabWriter } from './tab-writer.js';

/** The volumes of a pod: what each of them is and where it comes from. */
export function describeVolumes(volumes: readonly VolumeObject[], writer: TabWriter): void {
  if (volumes.length === 0) {
    writer.line(0, 'Volumes:\t<none>');
    return;
  }
  writer.line(0, 'Volumes:');
  for (const volume of volumes) {
    writer.line(1, `${cell(volume.name ?? '')}:`);
    describeVolume(volume, writer);
  }
}

function describeVolume(volume: VolumeObject, writer: TabWriter): void {
  const {
    hostPath,
    emptyDir,
    secret,
    configMap,
    downwardAPI,
    projected,
    persistentVolumeClaim: claim,
  } = volume;
  const facts = (...pairs: [string, string | boolean | number][]): void => {
    for (const [name, value] of pairs) writer.field(2, name, String(value));
  };
  if (hostPath !== undefined) {
    const { path = '', type } = hostPath;
    facts(
      ['Type', 'HostPath (bare host directory volume)'],
      ['Path', path],
      ['HostPathType', type ?? '<none>'],
    );
  } else if (emptyDir !== undefined) {
    const { medium = '', sizeLimit = '<unset>' } = emptyDir;
    facts(
      ['Type', "EmptyDir (a temporary directory that shares a pod's lifetime)"],
      ['Medium', medium],
      ['SizeLimit', sizeLimit],
    );
  } else if (secret !== undefined) {
    const { secretName = '', optional = false } = secret;
    facts(
      ['Type', 'Secret (a volume populated by a Secret)'],
      ['SecretName', secretName],
      ['Optional', optional],
    );
  } else if (configMap !== undefined) {
    const { name = '', optional = false } = configMap;
    facts(['Type', 'ConfigMap (a volume populated by a ConfigMap)'], ['Name', name], ['Optional', optional]);
  } else if (downwardAPI !== undefined) {
    facts(['Type', 'DownwardAPI (a volume populated by information about the pod)']);
    writer.line(2, 'Items:');
    for (const { fieldRef, resourceFieldRef, path = '' } of downwardAPI.items ?? []) {
      writer.line(3, `${cell(fieldRef?.fieldPath ?? resourceFieldRef?.resource ?? '')} -> ${cell(path)}`);
    }
  } else if (projected !== undefined) {
    facts(['Type', 'Projected (a volume that contains injected data from multiple sources)']);
    for (const source of projected.sources ?? []) describeSource(source, writer);
  } else if (claim !== undefined) {
    facts(
      ['Type', 'PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)'],
      ['ClaimName', claim.claimName ?? ''],
      ['ReadOnly', claim.readOnly ?? false],
    );
  } else {
    writer.line(1, '<unknown>');
  }
}

function describeSource({ secret, configMap, downwardAPI }: ProjectedSourceObject, writer: TabWriter): void {
  if (secret !== undefined) {
    writer.field(2, 'SecretName', secret.name ?? '');
    writer.field(2, 'Optional', String(secret.optional ?? false));
  } else if (downwardAPI !== undefined) {
    writer.field(2, 'DownwardAPI', 'true');
  } else if (configMap !== undefined) {
    writer.field(2, 'ConfigMapName', configMap.name ?? '');
    writer.field(2, 'Optional', String(configMap.optional ?? false));
  }
}
