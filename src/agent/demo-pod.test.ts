import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDemoPod, readDemoPods } from './demo-pod.js';

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
      '  name: web\n  finalizers: []',
      'web.yaml:5: metadata.finalizers: unknown field, there are name, ',
    ],
    ['  name: web', '  labels: {}', 'web.yaml:4: metadata.name: is missing'],
    ['name: web', 'name: Web', 'web.yaml:4: metadata.name: "Web" is not a name'],
    ['kind: Pod', 'kind: Deployment', 'web.yaml:2: kind: must be Pod, not "Deployment"'],
    [
      '"1000"',
      '1000',
      'web.yaml:9: spec.containers[0].command[1]: must be a string, not 1000; put it in quotes',
    ],
    ['[sleep, "1000"]', 'sleep', 'web.yaml:9: spec.containers[0].command: must be a list'],
    [
      'spec:',
      'spec:\n  restartPolicy: Maybe',
      'web.yaml:6: spec.restartPolicy: must be Always or OnFailure or Never, not "Maybe"',
    ],
    [
      'spec:',
      'spec:\n  terminationGracePeriodSeconds: 1.5',
      'web.yaml:6: spec.terminationGracePeriodSeconds: must be a whole',
    ],
    [
      'spec:',
      'spec:\n  terminationGracePeriodSeconds: -1',
      'web.yaml:6: spec.terminationGracePeriodSeconds: must not be',
    ],
    [
      'image: podloop.local/host',
      'image:',
      'web.yaml:8: spec.containers[0].image: must be a string, not null',
    ],
    ['[sleep, "1000"]', '[sleep, "1000"', 'web.yaml:10: Flow sequence'],
    ['kind: Pod', 'kind: Pod\nkind: Pod', 'web.yaml:3: Map keys must be unique'],
  ])('is refused with file, line and path: %s → %s', (from, to, message) => {
    expect(() => parseDemoPod(WEB.replace(from, to), 'web.yaml')).toThrow(message);
  });

  it('is refused when it is empty, no mapping, or more than one document', () => {
    expect(() => parseDemoPod('', 'web.yaml')).toThrow('web.yaml:1: the file is empty');
    expect(() => parseDemoPod('- a\n', 'web.yaml')).toThrow('web.yaml:1: must be a mapping');
    expect(() => parseDemoPod(`${WEB}---\n${WEB}`, 'web.yaml')).toThrow(/^web.yaml:1\d: a second document/);
  });

  it('is refused when two containers have the same name', () => {
    const twice = `${WEB}    - name: main\n      image: i\n`;
    expect(() => parseDemoPod(twice, 'web.yaml')).toThrow(
      'web.yaml:10: spec.containers[1]: there is a container main already',
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
