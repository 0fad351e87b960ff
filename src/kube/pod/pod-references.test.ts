import { expect, it } from 'vitest';
import { formatFieldPath } from '../fields/field-path.js';
import { type Pod } from './pod.js';
import { containerReferences, podReferences, volumeReferences } from './pod-references.js';

it('a pod refers to objects in volumes, in envFrom and in env, of every kind of container', () => {
  const pod: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
    spec: {
      imagePullSecrets: [{ name: 'pull' }],
      volumes: [
        { name: 'none', emptyDir: {} },
        { name: 'a', configMap: { name: 'cm', optional: true } },
        { name: 'b', secret: { secretName: 's', items: [{ key: 'k', path: 'p' }] } },
        {
          name: 'c',
          projected: {
            sources: [
              { downwardAPI: {} },
              {
                configMap: {
                  name: 'pcm',
                  items: [
                    { key: 'x', path: 'x' },
                    { key: 'y', path: 'y' },
                  ],
                },
              },
              { secret: { name: 'ps', optional: true } },
            ],
          },
        },
      ],
      initContainers: [{ name: 'i', image: 'i', envFrom: [{ configMapRef: { name: 'ei' } }] }],
      containers: [
        {
          ...{ name: 'a', image: 'a', envFrom: [{ prefix: 'P', secretRef: { name: 'es', optional: true } }] },
          env: [
            { name: 'PLAIN', value: 'x' },
            { name: 'FIELD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'CM', valueFrom: { configMapKeyRef: { name: 'kcm', key: 'k' } } },
            { name: 'S', valueFrom: { secretKeyRef: { name: 'ks', key: 'k', optional: true } } },
          ],
        },
      ],
    },
  };
  const shown = podReferences(pod).map(
    ({ kind, name, keys = ['*'], optional, path }) =>
      `${kind} ${name} ${keys.join('+')}${optional ? ' optional' : ''} at ${formatFieldPath(path)}`,
  );
  expect(podReferences(pod).map(({ isForPull }) => isForPull)).toEqual([
    true,
    ...shown.slice(1).map(() => false),
  ]);
  expect(shown).toEqual([
    'Secret pull * at spec.imagePullSecrets[0].name',
    'ConfigMap cm * optional at spec.volumes[1].configMap.name',
    'Secret s k at spec.volumes[2].secret.secretName',
    'ConfigMap pcm x+y at spec.volumes[3].projected.sources[1].configMap.name',
    'Secret ps * optional at spec.volumes[3].projected.sources[2].secret.name',
    'ConfigMap ei * at spec.initContainers[0].envFrom[0].configMapRef.name',
    'Secret es * optional at spec.containers[0].envFrom[0].secretRef.name',
    'ConfigMap kcm k at spec.containers[0].env[2].valueFrom.configMapKeyRef.name',
    'Secret ks k optional at spec.containers[0].env[3].valueFrom.secretKeyRef.name',
  ]);
});

it('references are distinguished by when the object is needed', () => {
  const pod: Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
    spec: {
      imagePullSecrets: [{ name: 'pull' }],
      volumes: [{ name: 'a', configMap: { name: 'files' } }],
      containers: [
        { name: 'a', image: 'a', envFrom: [{ configMapRef: { name: 'one' } }] },
        { name: 'b', image: 'b', envFrom: [{ configMapRef: { name: 'other' } }] },
      ],
    },
  };
  const names = (found: readonly { readonly name: string }[]): string[] => found.map(({ name }) => name);
  expect(names(volumeReferences(pod))).toEqual(['files']);
  expect(names(containerReferences(pod, pod.spec.containers[1]!))).toEqual(['other', 'pull']);
});
