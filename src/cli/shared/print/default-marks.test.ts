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

const NEVER = new AbortController().signal;
const served = withServedDefaults(POD);
const lines = (await toMarkedYaml(served, NEVER)).split('\n');
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

it('leaves an object as it is that has very many values', async () => {
  const marksOf = async (count: number): Promise<number> => {
    const env = Array.from({ length: count }, (_, at) => ({ name: `N${at}`, value: 'v' }));
    const container = { name: 'main', image: 'web:1', env };
    const pod = { ...POD, spec: { containers: [container] } } as unknown as KubeObject;
    const text = await toMarkedYaml(withServedDefaults(pod), NEVER);
    return text.split(' # default\n').length - 1;
  };
  expect(await marksOf(50)).toBeGreaterThan(5);
  expect(await marksOf(250)).toBe(0);
});

it('lets others have their turn, and ends when nobody waits for it any more', async () => {
  const ending = new AbortController();
  const marked = toMarkedYaml(served, ending.signal);
  setImmediate(() => ending.abort());
  await expect(marked).rejects.toThrow('aborted');
});

it('leaves an object as it is that no table knows', async () => {
  const other = {
    kind: 'Node',
    metadata: { name: 'n1' },
    spec: { unschedulable: false },
  } as unknown as KubeObject;
  expect(await toMarkedYaml(other, NEVER)).toBe(toYamlText(other));
});
