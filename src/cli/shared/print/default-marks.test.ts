import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { toMarkedYaml } from './default-marks.js';
import { withServedDefaults } from './manifest-form.js';
import { toYamlText } from './object-text.js';

const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default' } },
  spec: {
    containers: [
      {
        ...{ name: 'main', image: 'registry.example/web:1.2', command: ['sh', '-c', 'true # default'] },
        resources: { limits: { memory: '64Mi' } },
        readinessProbe: { httpGet: { port: 80, path: '/ready' }, periodSeconds: 5 },
      },
    ],
    volumes: [{ name: 'room' }],
  },
} as unknown as KubeObject;

const served = withServedDefaults(POD);
const lines = toMarkedYaml(served).split('\n');
const marked = lines.filter((line) => line.endsWith(' # default')).map((line) => line.trim());

it('marks what Kubernetes fills in, and nothing that stands for itself', () => {
  expect(marked).toEqual(
    expect.arrayContaining([
      'restartPolicy: Always # default',
      'imagePullPolicy: IfNotPresent # default',
      'terminationMessagePath: /dev/termination-log # default',
      // Of a probe, and a request that is the limit.
      'failureThreshold: 3 # default',
      'memory: 64Mi # default',
    ]),
  );
  expect(marked.filter((line) => /^(?:image|- image|name|path|periodSeconds|port):/.test(line))).toEqual([]);
  // The request is a default, the limit is not.
  expect(marked.filter((line) => line.startsWith('memory'))).toHaveLength(1);
});

it('is the same text but for its marks', () => {
  const bare = lines.map((line) => line.replace(/ # default$/, '')).join('\n');
  expect(bare).toBe(toYamlText(served));
  expect(parse(lines.join('\n'))).toEqual(parse(toYamlText(served)));
});

it('leaves an object as it is that no table knows', () => {
  const other = {
    kind: 'Node',
    metadata: { name: 'n1' },
    spec: { unschedulable: false },
  } as unknown as KubeObject;
  expect(toMarkedYaml(other)).toBe(toYamlText(other));
});
