import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Pod } from '#kube/pod/pod.js';
import { NodeStandIn } from './node-stand-in.js';
import { toStandIn } from './stand-in.js';

let folder: string;
let node: NodeStandIn;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-stand-in-'));
  node = await NodeStandIn.make(folder);
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const CONTAINER = { name: 'c', image: 'registry.test/c' };
const objectsFor = async (kind: string, spec: object) => {
  const value = { apiVersion: kind === 'Pod' ? 'v1' : 'apps/v1', kind, metadata: { name: 'x' }, spec };
  return await toStandIn({ collection: 'of a test', kind, value }, 7, node);
};
const podFor = async (spec: object): Promise<Pod> => {
  const { objects } = await objectsFor('Pod', { containers: [CONTAINER], ...spec });
  return objects[0] as unknown as Pod;
};

describe('a stand-in', () => {
  it('has another image, no requests, no gates, and a namespace of its own', async () => {
    const resources = { requests: { cpu: '64' } };
    const containers = [{ ...CONTAINER, resources, args: ['serve'] }];
    const { metadata, spec } = await podFor({ resources, containers, schedulingGates: [{ name: 'a' }] });
    expect(metadata).toEqual({ name: 'm7', namespace: 'm7', labels: { 'podloop-case': '7' } });
    const only = { name: 'c', image: 'podloop.test/programs:1', imagePullPolicy: 'IfNotPresent' };
    expect(spec).toEqual({
      terminationGracePeriodSeconds: 0,
      containers: [{ ...only, command: expect.arrayContaining(['sh']) as unknown }],
    });
  });

  it.each([
    ['of its container', {}, { runAsNonRoot: true }, 1000],
    ['of its pod', { runAsNonRoot: true }, {}, 1000],
    ['with a user of its own', { runAsNonRoot: true, runAsUser: 5 }, {}, undefined],
    ['that its container takes back', { runAsNonRoot: true }, { runAsNonRoot: false }, undefined],
  ])('has the user of an image under runAsNonRoot %s', async (_, ofPod, own, user) => {
    const containers = [{ ...CONTAINER, securityContext: own }];
    const { spec } = await podFor({ securityContext: ofPod, containers });
    expect(spec.containers[0]!.securityContext?.runAsUser).toBe(user);
  });

  it.each([
    [{}, 2],
    [{ ports: [{ containerPort: 80, hostPort: 80 }] }, 1],
  ])('has as many pods as one node has room for: %j', async (more, pods) => {
    const template = { spec: { containers: [{ ...CONTAINER, ...more }] } };
    const found = await objectsFor('Deployment', { replicas: 5, template });
    expect(found.pods).toBe(pods);
    expect(found.objects[0]).toMatchObject({ spec: { replicas: pods } });
  });

  it('finds its paths of the node', async () => {
    const sources = { run: 'Socket', log: 'DirectoryOrCreate', etc: 'File', dev: 'BlockDevice' };
    const volumes = Object.entries(sources).map(([name, type]) => ({
      name,
      hostPath: { path: `/${name}/x`, type },
    }));
    const { spec } = await podFor({ volumes });
    const [run, log, etc, dev] = spec.volumes!.map(({ hostPath }) => hostPath!.path);
    expect((await stat(run!)).isSocket()).toBe(true);
    expect((await stat(log!)).isDirectory()).toBe(true);
    expect((await stat(etc!)).isFile()).toBe(true);
    expect(dev).toBe('/dev/x');
  });

  it('has paths of its own', async () => {
    const [first, second] = [await node.addPath('m1', '/x', ''), await node.addPath('m2', '/x', 'Socket')];
    expect((await stat(first)).isDirectory()).toBe(true);
    expect((await stat(second)).isSocket()).toBe(true);
  });

  it('finds its seccomp profile, and an image for each volume', async () => {
    const seccompProfile = { type: 'Localhost', localhostProfile: 'profiles/own.json' };
    const { spec } = await podFor({
      securityContext: { seccompProfile },
      volumes: [{ name: 'v', image: { reference: 'registry.test/files', pullPolicy: 'Always' } }],
    });
    expect(await readFile(join(node.rootDir, 'seccomp/profiles/own.json'), 'utf8')).toContain('ALLOW');
    expect(spec.volumes![0]!.image).toEqual({
      reference: 'podloop.test/files:1',
      pullPolicy: 'IfNotPresent',
    });
    expect(await readFile(join(node.imageDir, '1/index.json'), 'utf8')).toContain('podloop.test/files:1');
  });

  it('writes the files that variables come from', async () => {
    const fileKeyRef = { volumeName: 'v', path: 'own.env', key: 'A' };
    const { spec } = await podFor({
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: [{ ...CONTAINER, name: 'i', volumeMounts: [{ name: 'v', mountPath: '/data' }] }],
      containers: [{ ...CONTAINER, env: [{ name: 'B', valueFrom: { fileKeyRef } }] }],
    });
    expect(spec.initContainers![0]!.command!.slice(-2)).toEqual(["A='x'", '/data/own.env']);
  });
});
