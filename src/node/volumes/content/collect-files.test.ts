import { describe, expect, it } from 'vitest';
import { type ConfigMap, type PodObjects, type Secret } from '#kube/objects/config-object.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import {
  collectConfigMap,
  collectDownward,
  collectProjected,
  collectSecret,
  type FileFacts,
} from './collect-files.js';
import { type ContentPayload } from './content-payload.js';

const SETTINGS: ConfigMap = {
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'default' },
  data: new Map([
    ['app.yaml', 'a: ä'],
    ['empty', ''],
  ]),
  binaryData: new Map([['blob', Uint8Array.of(0, 255, 254)]]),
};
const LOGIN: Secret = {
  kind: 'Secret',
  metadata: { name: 'login', namespace: 'default' },
  type: 'Opaque',
  data: new Map([['password', Buffer.from('hunter2')]]),
};
const objects: PodObjects = {
  findConfigMap: (_, name) => (name === 'settings' ? SETTINGS : undefined),
  findSecret: (_, name) => (name === 'login' ? LOGIN : undefined),
};
const pod = aNodePod({
  labels: { tier: 'web', app: 'shop' },
  spec: {
    containers: [
      { name: 'main', image: 'i', resources: { limits: { cpu: '1500m' }, requests: { memory: '64Mi' } } },
    ],
    initContainers: [{ name: 'first', image: 'i' }],
  },
});
const facts: FileFacts = {
  pod,
  objects,
  downward: {
    ...{ podIps: [], hostIps: [], nodeName: 'node', serviceAccountName: 'default' },
    allocatable: { cpuMilli: 4_000n, memoryBytes: 8n << 30n },
  },
};

const show = (payload: ContentPayload): Record<string, string> =>
  Object.fromEntries(
    [...payload].map(([path, { data, mode }]) => [
      path,
      `${mode.toString(8)} ${Buffer.from(data).toString('latin1')}`,
    ]),
  );

describe('a ConfigMap', () => {
  it('has a file for each key, texts in UTF-8 and bytes as they are', () => {
    expect(show(collectConfigMap({ name: 'settings', defaultMode: 0o600 }, facts))).toEqual({
      'app.yaml': '600 a: Ã¤',
      empty: '600 ',
      blob: '600 \x00ÿþ',
    });
  });

  it('has the files that its items name, at their paths and with their modes, 0 among them', () => {
    const items = [
      { key: 'app.yaml', path: 'conf/app.yaml' },
      { key: 'blob', path: 'b', mode: 0 },
      { key: 'app.yaml', path: 'again', mode: 0o777 },
    ];
    expect(Object.keys(show(collectConfigMap({ name: 'settings', items }, facts)))).toEqual([
      'conf/app.yaml',
      'b',
      'again',
    ]);
    const modes = [...collectConfigMap({ name: 'settings', items }, facts).values()].map(({ mode }) => mode);
    expect(modes).toEqual([0o644, 0, 0o777]);
  });

  it.each([
    [{ name: 'gone' }, 'configmap "gone" not found'],
    [{ name: 'settings', items: [{ key: 'k', path: 'p' }] }, 'references non-existent config key: k'],
  ])('that lacks what is asked for is reported as by a kubelet: %j', (volume, message) => {
    expect(() => collectConfigMap(volume, facts)).toThrow(new Error(message));
  });

  it('may lack it where it is optional', () => {
    expect(collectConfigMap({ name: 'gone', optional: true }, facts)).toEqual(new Map());
    const items = [
      { key: 'k', path: 'p' },
      { key: 'empty', path: 'e' },
    ];
    expect(show(collectConfigMap({ name: 'settings', items, optional: true }, facts))).toEqual({ e: '644 ' });
  });
});

describe('a Secret', () => {
  it('has a file for each key', () => {
    expect(show(collectSecret({ secretName: 'login', defaultMode: 0o400 }, facts))).toEqual({
      password: '400 hunter2',
    });
  });

  it.each([
    [{ secretName: 'gone' }, 'secret "gone" not found'],
    [{ secretName: 'login', items: [{ key: 'k', path: 'p' }] }, 'references non-existent secret key: k'],
  ])('that lacks what is asked for is reported without any value: %j', (volume, message) => {
    expect(() => collectSecret(volume, facts)).toThrow(new Error(message));
  });
});

describe('the downward API', () => {
  it('has facts of the pod, and resources of any of its containers', () => {
    const items = [
      { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
      { path: 'meta/name', fieldRef: { fieldPath: 'metadata.name' }, mode: 0o400 },
      { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' } },
      {
        path: 'init',
        resourceFieldRef: { containerName: 'first', resource: 'limits.memory', divisor: '1Gi' },
      },
    ];
    expect(show(collectDownward(items, 0o440, facts))).toEqual({
      labels: '440 app="shop"\ntier="web"',
      'meta/name': '400 web',
      cpu: '440 1500',
      init: '440 8',
    });
  });

  it('knows no container that the pod does not have', () => {
    const items = [{ path: 'x', resourceFieldRef: { containerName: 'other', resource: 'limits.cpu' } }];
    expect(() => collectDownward(items, 0o644, facts)).toThrow('container other not found');
  });
});

describe('a projected volume', () => {
  it('has the files of all its sources, the later one at the same path', () => {
    const sources = [
      { configMap: { name: 'settings', items: [{ key: 'empty', path: 'password' }] } },
      { secret: { name: 'login' } },
      { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { secret: { name: 'gone', optional: true } },
    ];
    expect(show(collectProjected({ sources, defaultMode: 0o440 }, facts))).toEqual({
      password: '440 hunter2',
      name: '440 web',
    });
    expect(collectProjected({}, facts)).toEqual(new Map());
  });

  it('says of all its sources what is missing, and each thing once', () => {
    const gone = { configMap: { name: 'gone' } };
    expect(() => collectProjected({ sources: [gone] }, facts)).toThrow(
      new Error('configmap "gone" not found'),
    );
    const sources = [gone, { secret: { name: 'lost' } }, gone];
    expect(() => collectProjected({ sources }, facts)).toThrow(
      new Error('[configmap "gone" not found, secret "lost" not found]'),
    );
  });
});

describe('a token of the service account', () => {
  const projection = { path: 'token', expirationSeconds: 3_607 };
  const projected = { defaultMode: 0o644, sources: [{ serviceAccountToken: projection }] };
  const tokens = new Map([[projection, 'abc']]);
  const fileOf = (spec: Partial<PodSpec>): unknown => {
    const owner = aNodePod({ spec });
    return collectProjected(projected, { ...facts, pod: owner, tokens }).get('token');
  };
  const container = { name: 'main', image: 'i' };

  it('is a file with the mode of the volume', () => {
    expect(fileOf({ containers: [container] })).toEqual({ data: Buffer.from('abc'), mode: 0o644 });
  });

  it('is for the group of the pod alone where it has one', () => {
    expect(fileOf({ securityContext: { fsGroup: 7 }, containers: [container] })).toMatchObject({
      mode: 0o600,
    });
  });

  it('belongs to the user that all containers run as', () => {
    const securityContext = { runAsUser: 1000 };
    expect(fileOf({ securityContext, containers: [container] })).toMatchObject({ mode: 0o600, uid: 1000 });
    const other = { ...container, name: 'other', securityContext: { runAsUser: 2000 } };
    expect(fileOf({ securityContext, containers: [container, other] })).toMatchObject({
      ...{ mode: 0o644, uid: undefined },
    });
  });

  it('cannot be had without an API server, nor can certificates', () => {
    expect(() => collectProjected(projected, facts)).toThrow('there is no API server to give a token');
    expect(() => collectProjected({ sources: [{ clusterTrustBundle: {} }] }, facts)).toThrow(
      'projections of the kind clusterTrustBundle are not supported by podloop',
    );
  });
});
