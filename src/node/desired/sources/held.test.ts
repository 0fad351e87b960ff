import { describe, expect, it } from 'vitest';
import { type ConfigObject } from '#kube/objects/config-object.js';
import { type Pod } from '#kube/pod/pod.js';
import { mergeHeld } from './held.js';
import { formatManifestProblem } from '../manifests/manifest-problem.js';
import { type SourceObject, toSourceObject } from '../manifests/source-object.js';
import { type SourcePod, toSourcePod } from '../manifests/source-pod.js';

function pod(name: string, file: string, { uid = '', line = 1 } = {}): SourcePod {
  const metadata = { name, ...(uid === '' ? {} : { uid }) };
  const written: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata },
    spec: { containers: [{ name: 'c', image: file }] },
  };
  return toSourcePod({ pod: written, place: { file, line, column: 1 } }, { source: 'file', nodeName: 'n' });
}

function object(kind: ConfigObject['kind'], name: string, file: string): SourceObject {
  const metadata = { name, namespace: 'default' };
  const written =
    kind === 'Secret'
      ? { kind, metadata, type: 'Opaque', data: new Map() }
      : { kind, metadata, data: new Map([['from', file]]), binaryData: new Map() };
  return toSourceObject({ object: written, place: { file, line: 1, column: 1 } });
}

describe('what several files stand for', () => {
  it('is all of it, but for pods that an earlier file has by name or uid', () => {
    const files = [
      [pod('a', 'a.yaml'), pod('u', 'a.yaml', { uid: '1', line: 7 })],
      [pod('a', 'b.yaml'), pod('v', 'b.yaml', { uid: '1', line: 9 })],
    ];
    const { held, problems } = mergeHeld(files);
    expect(held).toEqual(files[0]);
    expect(problems.map(formatManifestProblem)).toEqual([
      'b.yaml:1:1: metadata.name: Duplicate value: "a": stands at a.yaml:1 already',
      'b.yaml:9:1: metadata.uid: Duplicate value: "1": stands at a.yaml:7 already',
    ]);
  });

  it('has of two objects of one kind and name the one of the lower rank, each in the order of the files', () => {
    const files = [
      [object('ConfigMap', 'one', 'a.yaml'), object('Secret', 'one', 'a.yaml')],
      [object('ConfigMap', 'one', 'b.yaml'), object('ConfigMap', 'two', 'b.yaml')],
    ];
    const { held, problems } = mergeHeld(files, ({ place }) => (place.file === 'b.yaml' ? 0 : 1));
    expect(held).toEqual([files[0]![1], ...files[1]!]);
    expect(problems.map(formatManifestProblem)).toEqual([
      'a.yaml:1:1: metadata.name: Duplicate value: "one": the ConfigMap stands at b.yaml:1 already',
    ]);
  });
});
