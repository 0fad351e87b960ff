import { describe, expect, it } from 'vitest';
import { type ConfigMap, type Secret } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { ConfigObjects, isConcerned, type ObjectChange } from './config-objects.js';
import { PodConfig } from './pod-config.js';

const configMap = (name: string, data: Record<string, string> = {}, namespace = 'default'): ConfigMap => ({
  ...{ kind: 'ConfigMap', metadata: { name, namespace } },
  ...{ data: new Map(Object.entries(data)), binaryData: new Map<string, Uint8Array>() },
});
const secret = (name: string, text: string): Secret => ({
  ...{ kind: 'Secret', metadata: { name, namespace: 'default' }, type: 'Opaque' },
  data: new Map([['key', new TextEncoder().encode(text)]]),
});

function pod(spec: Partial<PodSpec> = {}, source = 'file', namespace = 'default'): NodePod {
  const annotations = { 'kubernetes.io/config.source': source };
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', uid: 'p', namespace, annotations } },
    spec: { containers: [{ name: 'a', image: 'b' }], ...spec },
  };
}

describe('a pod', () => {
  it('finds the objects of its own source and namespace, by kind and name', () => {
    const objects = new ConfigObjects();
    objects.deliver('file', [configMap('web', { from: 'file' }), secret('web', 'x')]);
    objects.deliver('http', [configMap('web', { from: 'http' }), configMap('far'), secret('far', 'y')]);
    objects.deliver('file', [
      configMap('web', { from: 'file' }),
      secret('web', 'x'),
      configMap('w', {}, 'b'),
    ]);
    expect(objects.findConfigMap(pod(), 'web')?.data.get('from')).toBe('file');
    expect(objects.findConfigMap(pod({}, 'http'), 'web')?.data.get('from')).toBe('http');
    expect(objects.findSecret(pod(), 'web')?.kind).toBe('Secret');
    expect(objects.findConfigMap(pod(), 'far')).toBeUndefined();
    expect(objects.findSecret(pod(), 'far')).toBeUndefined();
    expect(objects.findConfigMap(pod(), 'w')).toBeUndefined();
    expect(objects.findConfigMap(pod({}, 'file', 'b'), 'w')).toBeDefined();
    expect(objects.findConfigMap(pod({}, 'stdin'), 'web')).toBeUndefined();
    const unmarked = { ...pod(), metadata: { name: 'p', uid: 'p', namespace: 'default' } };
    expect(objects.findConfigMap(unmarked, 'web')).toBeUndefined();
    expect(
      objects.all().map(({ source, object }) => `${source} ${object.kind} ${object.metadata.name}`),
    ).toEqual([
      ...['file ConfigMap web', 'file Secret web', 'file ConfigMap w'],
      ...['http ConfigMap web', 'http ConfigMap far', 'http Secret far'],
    ]);
  });

  it('finds the first of two with one name', () => {
    const objects = new ConfigObjects();
    objects.deliver('file', [configMap('web', { a: '1' }), configMap('web', { a: '2' })]);
    expect(objects.findConfigMap(pod(), 'web')?.data.get('a')).toBe('1');
  });

  it('is handed out when its objects are there', async () => {
    const config = new PodConfig();
    const port = config.addSource('file');
    const stop = new AbortController();
    const updates = config.updates(stop.signal);
    const found = updates.next().then(() => config.objects.findConfigMap(pod(), 'web'));
    port.deliver([pod()], { objects: [configMap('web')] });
    expect(await found).toBeDefined();
    port.deliver([pod()]);
    expect(config.objects.all()).toEqual([]);
    await updates.return();
  });
});

describe('a change of objects', () => {
  it('is notified of new, changed and removed objects, and of nothing else', () => {
    const changes: string[][] = [];
    const objects = new ConfigObjects({ onChanged: ({ source, keys }) => changes.push([source, ...keys]) });
    objects.deliver('file', [configMap('a', { k: '1' }), secret('s', 'x'), configMap('stays')]);
    objects.deliver('file', [configMap('a', { k: '1' }), secret('s', 'x'), configMap('stays')]);
    objects.deliver('file', [
      { ...configMap('a', { k: '1' }), metadata: { ...configMap('a').metadata, labels: { a: 'b' } } },
      ...[secret('s', 'y'), configMap('stays'), configMap('new')],
    ]);
    objects.deliver('file', [configMap('a', { k: '2' }), secret('s', 'y'), configMap('new')]);
    objects.deliver('file', [
      { ...configMap('a'), binaryData: new Map([['k', new Uint8Array([1])]]) },
      ...[{ ...secret('s', 'y'), type: 'other' }, configMap('new')],
    ]);
    expect(changes).toEqual([
      ['file', 'ConfigMap default/a', 'Secret default/s', 'ConfigMap default/stays'],
      ['file', 'Secret default/s', 'ConfigMap default/new'],
      ['file', 'ConfigMap default/stays', 'ConfigMap default/a'],
      ['file', 'ConfigMap default/a', 'Secret default/s'],
    ]);
  });

  it('concerns the pods of the same source and namespace that refer to it', () => {
    const change: ObjectChange = { source: 'file', keys: new Set(['ConfigMap default/web']) };
    const ofConfigMap: Partial<PodSpec> = { volumes: [{ name: 'v', configMap: { name: 'web' } }] };
    const ofSecret: Partial<PodSpec> = { volumes: [{ name: 'v', secret: { secretName: 'web' } }] };
    expect(isConcerned(pod(ofConfigMap), change)).toBe(true);
    expect(isConcerned(pod(ofSecret), change)).toBe(false);
    expect(isConcerned(pod(), change)).toBe(false);
    expect(isConcerned(pod(ofConfigMap, 'http'), change)).toBe(false);
    expect(isConcerned(pod(ofConfigMap, 'file', 'other'), change)).toBe(false);
  });
});
