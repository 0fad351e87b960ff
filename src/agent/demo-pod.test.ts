import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DemoPod, parseDemoPods, readDemoPods } from './demo-pod.js';

const WEB = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
    - name: main
      image: podloop.local/host
      command: [sleep, "1000"]
`;

/** The only pod of a file. */
function parseDemoPod(text: string, file: string): DemoPod {
  const pods = parseDemoPods(text, file);
  expect(pods).toHaveLength(1);
  return pods[0]!;
}

describe('a demo manifest', () => {
  it('has Kubernetes’ defaults for what it leaves out', () => {
    const { uid, ...pod } = parseDemoPod(WEB, 'web.yaml');
    expect(uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(pod).toEqual({
      namespace: 'default',
      name: 'web',
      labels: {},
      annotations: {},
      restartPolicy: 'Always',
      gracePeriodSeconds: 30,
      containers: [
        {
          name: 'main',
          image: 'podloop.local/host',
          command: ['sleep', '1000'],
          args: [],
          env: [],
          workingDir: '',
        },
      ],
    });
  });

  it('may say all that the demo knows', () => {
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'job', namespace: 'batch', uid: 'u1', labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: {
        restartPolicy: 'OnFailure',
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: 'a',
            image: 'i',
            args: ['x'],
            env: [{ name: 'E', value: 'v' }, { name: 'F' }],
            workingDir: '/tmp',
          },
        ],
      },
    });
    expect(parseDemoPod(text, 'job.json')).toMatchObject({
      uid: 'u1',
      namespace: 'batch',
      labels: { a: 'b' },
      annotations: { c: 'd' },
      restartPolicy: 'OnFailure',
      gracePeriodSeconds: 2,
      containers: [
        {
          args: ['x'],
          env: [
            { name: 'E', value: 'v' },
            { name: 'F', value: '' },
          ],
          workingDir: '/tmp',
        },
      ],
    });
  });

  it.each([
    [
      'command: [',
      'comand: [',
      'web.yaml:9: spec.containers[0].comand: unknown field, did you mean command?',
    ],
    ['  name: web', '  nme: web', 'web.yaml:4: metadata.nme: unknown field, did you mean name?'],
    [
      '  name: web',
      '  name: web\n  finalizers: [a]',
      'web.yaml:5: metadata.finalizers: not supported; nobody here',
    ],
    ['  name: web', '  labels: {}', 'web.yaml:4: metadata.name: Required value'],
    ['name: web', 'name: Web', 'web.yaml:4: metadata.name: Invalid value: "Web": use'],
    [
      'kind: Pod',
      'kind: Deployment',
      'web.yaml:2: kind: Deployment is not supported; put the pod of its template',
    ],
    [
      '"1000"',
      '1000',
      'web.yaml:9: spec.containers[0].command[1]: must be a string, not 1000; put it in quotes',
    ],
    ['[sleep, "1000"]', 'sleep', 'web.yaml:9: spec.containers[0].command: must be a list, not "sleep"'],
    [
      'spec:',
      'spec:\n  restartPolicy: Maybe',
      'web.yaml:6: spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      'spec:',
      'spec:\n  terminationGracePeriodSeconds: 1.5',
      'web.yaml:6: spec.terminationGracePeriodSeconds: must be a whole',
    ],
    [
      'spec:',
      'spec:\n  terminationGracePeriodSeconds: -1',
      'web.yaml:6: spec.terminationGracePeriodSeconds: Invalid value: -1: must be at least 0',
    ],
    ['image: podloop.local/host', 'image:', 'web.yaml:8: spec.containers[0].image: Required value'],
    ['[sleep, "1000"]', '[sleep, "1000"', 'web.yaml:10: Flow sequence'],
    ['kind: Pod', 'kind: Pod\nkind: Pod', 'web.yaml:3: kind: the key "kind" stands here twice'],
  ])('is refused with file, line and path: %s → %s', (from, to, message) => {
    expect(() => parseDemoPod(WEB.replace(from, to), 'web.yaml')).toThrow(message);
  });

  it('is refused when it is empty or no mapping', () => {
    expect(() => parseDemoPod('', 'web.yaml')).toThrow('web.yaml:1: there is no pod in it');
    expect(() => parseDemoPod('- a\n', 'web.yaml')).toThrow('web.yaml:1: must be a mapping');
  });

  it('may be one of many in a file', () => {
    const pods = parseDemoPods(`${WEB}---\n${WEB.replace('name: web', 'name: api')}`, 'web.yaml');
    expect(pods.map(({ name }) => name)).toEqual(['web', 'api']);
  });

  it('is refused for what the demo cannot do, though podloop can', () => {
    const probed = `${WEB}      livenessProbe: { exec: { command: [a] } }\n`;
    expect(() => parseDemoPod(probed, 'web.yaml')).toThrow(
      'web.yaml:10: spec.containers[0].livenessProbe: not supported here',
    );
  });

  it('is refused when two containers have the same name', () => {
    const twice = `${WEB}    - name: main\n      image: i\n`;
    expect(() => parseDemoPod(twice, 'web.yaml')).toThrow(
      'web.yaml:10: spec.containers[1].name: Duplicate value: "main"',
    );
  });
});

describe('a folder of demo manifests', () => {
  it('is read in the order of names; what is no manifest is passed over', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-demo-pods-'));
    try {
      await expect(readDemoPods(folder)).rejects.toThrow('no .yaml, .yml or .json file in it');
      await writeFile(join(folder, 'b.yaml'), WEB);
      await writeFile(join(folder, 'a.yml'), WEB.replace('name: web', 'name: api'));
      await writeFile(join(folder, 'README.md'), '# no');
      expect((await readDemoPods(folder)).map((pod) => pod.name)).toEqual(['api', 'web']);
      await writeFile(join(folder, 'c.yaml'), WEB);
      await expect(readDemoPods(folder)).rejects.toThrow('there is a pod default/web already');
    } finally {
      await rm(folder, { recursive: true });
    }
    await expect(readDemoPods(folder)).rejects.toThrow(/^cannot read the folder .*ENOENT/);
  });

  it('that podloop brings is valid', async () => {
    const pods = await readDemoPods(new URL('../../examples/pods', import.meta.url).pathname);
    expect(pods.length).toBeGreaterThanOrEqual(5);
  });
});
