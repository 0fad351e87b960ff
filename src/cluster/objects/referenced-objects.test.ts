import { describe, expect, it } from 'vitest';
import { type Secret } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { containerReferences, volumeReferences } from '#kube/pod/pod-references.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ApiError } from '../client/kube-client.js';
import { ReferencedObjects } from './referenced-objects.js';

const NEVER = new AbortController().signal;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const SECRETS = '/api/v1/namespaces/default/secrets';

function podOf(uid: string, spec: Partial<PodSpec>): NodePod {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: uid, namespace: 'default', uid } },
    spec: { containers: [{ name: 'main', image: 'i' }], ...spec },
  };
}
const mapVolume = (name: string): Volume => ({ name, configMap: { name } });
const secretVolume = (name: string): Volume => ({ name, secret: { secretName: name } });
const withVariables = (uid: string, name: string): NodePod =>
  podOf(uid, { containers: [{ name: 'main', image: 'i', envFrom: [{ configMapRef: { name } }] }] });

function scene(maxWatches?: number) {
  const clock = new FakeClock();
  const api = new InMemoryApi({ clock });
  const changed: string[][] = [];
  const hidden: Secret[] = [];
  const objects = new ReferencedObjects({
    ...{ client: api, clock, logger: SILENT_LOGGER, ...(maxWatches && { maxWatches }) },
    onSecret: (secret) => hidden.push(secret),
    onChanged: (uids) => changed.push([...uids]),
  });
  const fetchVolumes = async (pod: NodePod, signal = NEVER): Promise<void> => {
    const fetched = objects.fetch(pod, volumeReferences(pod), signal);
    await clock.settle();
    await fetched;
  };
  const fetchVariables = async (pod: NodePod): Promise<void> => {
    const fetched = objects.fetch(pod, containerReferences(pod, pod.spec.containers[0]!), NEVER);
    await clock.settle();
    await fetched;
  };
  const dataOf = (pod: NodePod, name: string): unknown => {
    const found = objects.findConfigMap(pod, name);
    return found === undefined ? undefined : Object.fromEntries(found.data);
  };
  return { clock, api, objects, changed, hidden, fetchVolumes, fetchVariables, dataOf };
}

describe('objects that pods refer to', () => {
  it('are read one by one, and only as pods name them', async () => {
    const { api, fetchVolumes, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    api.put(`${CONFIG_MAPS}/b`, { metadata: {}, data: { key: 'two' } });
    const pod = podOf('p', { volumes: [mapVolume('a'), mapVolume('missing')] });
    await fetchVolumes(pod);
    expect(dataOf(pod, 'a')).toEqual({ key: 'one' });
    expect(dataOf(pod, 'missing')).toBeUndefined();
    const asked = api.reads.map(({ path, query }) => `${path} ${query?.['fieldSelector']}`);
    expect(asked).toEqual([`${CONFIG_MAPS} metadata.name=a`, `${CONFIG_MAPS} metadata.name=missing`]);
    expect(api.watchRequests.map(({ query }) => query['fieldSelector'])).toEqual([
      ...['metadata.name=a', 'metadata.name=missing'],
    ]);
  });

  it('hold up the pod until they are known, and wake nobody then', async () => {
    const { api, clock, objects, changed, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    api.intercept = () => gate;
    const pod = podOf('p', { volumes: [mapVolume('a')] });
    let isFetched = false;
    const fetched = objects.fetch(pod, volumeReferences(pod), NEVER).then(() => (isFetched = true));
    await clock.advance(2_000);
    expect(isFetched).toBe(false);
    expect(() => objects.findConfigMap(pod, 'a')).toThrow(
      'failed to sync configmap cache: timed out waiting for the condition',
    );
    open();
    await clock.settle();
    await fetched;
    expect(dataOf(pod, 'a')).toEqual({ key: 'one' });
    expect(changed).toEqual([]);
  });

  it('are told of at once when they change, come or go', async () => {
    const { api, clock, changed, fetchVolumes, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    const [one, two] = ['one', 'two'].map((uid) => podOf(uid, { volumes: [mapVolume('a')] }));
    await fetchVolumes(one!);
    await fetchVolumes(two!);
    expect(api.watchRequests).toHaveLength(1);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'two' } });
    await clock.settle();
    expect(changed).toEqual([['one', 'two']]);
    expect(dataOf(one!, 'a')).toEqual({ key: 'two' });
    api.put(`${CONFIG_MAPS}/a`, { metadata: { labels: { other: 'label' } }, data: { key: 'two' } });
    await clock.settle();
    expect(changed).toHaveLength(1);
    api.drop(`${CONFIG_MAPS}/a`);
    await clock.settle();
    expect(changed).toHaveLength(2);
    expect(dataOf(one!, 'a')).toBeUndefined();
  });

  it('that come after the pod wake it', async () => {
    const { api, clock, changed, hidden, objects, fetchVolumes } = scene();
    const pod = podOf('p', { volumes: [secretVolume('s')] });
    await fetchVolumes(pod);
    expect(objects.findSecret(pod, 's')).toBeUndefined();
    api.put(`${SECRETS}/s`, { metadata: { uid: 'u1' }, data: { password: 'aHVudGVyMg==', odd: 7 } });
    await clock.settle();
    expect(changed).toEqual([['p']]);
    const secret = objects.findSecret(pod, 's')!;
    expect([...secret.data].map(([key, value]) => [key, Buffer.from(value).toString()])).toEqual([
      ['password', 'hunter2'],
    ]);
    expect(secret.metadata).toEqual({ name: 's', namespace: 'default', uid: 'u1' });
    expect(hidden).toEqual([secret]);
  });

  it('are left when the last pod that names them is gone', async () => {
    const { api, clock, objects, fetchVolumes } = scene();
    await fetchVolumes(podOf('one', { volumes: [mapVolume('a')] }));
    await fetchVolumes(podOf('two', { volumes: [mapVolume('a')] }));
    objects.forget('one');
    await clock.settle();
    expect(api.openWatches).toBe(1);
    objects.forget('two');
    await clock.settle();
    expect(api.openWatches).toBe(0);
    expect(objects.stats).toMatchObject({ objects: 0, watches: 0 });
  });

  it('follow the pod when it is edited', async () => {
    const { api, clock, objects, fetchVolumes } = scene();
    await fetchVolumes(podOf('p', { volumes: [mapVolume('a'), mapVolume('b')] }));
    await fetchVolumes(podOf('p', { volumes: [mapVolume('b'), mapVolume('c')] }));
    await clock.settle();
    expect(objects.stats.objects).toBe(2);
    expect(api.openWatches).toBe(2);
  });

  it('that are immutable are read once', async () => {
    const { api, clock, objects, fetchVolumes, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, immutable: true, data: { key: 'one' } });
    const pod = podOf('p', { volumes: [mapVolume('a')] });
    await fetchVolumes(pod);
    await clock.settle();
    expect(api.openWatches).toBe(0);
    await fetchVolumes(pod);
    expect(api.reads).toHaveLength(1);
    expect(dataOf(pod, 'a')).toEqual({ key: 'one' });
    expect(objects.stats).toMatchObject({ objects: 1, watches: 0 });
  });

  it('that are immutable are read again for each pod that comes, and those that are there keep what they have', async () => {
    const { api, clock, objects, changed, fetchVolumes, fetchVariables, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, immutable: true, data: { key: 'one' } });
    const before = podOf('before', { volumes: [mapVolume('a')] });
    await fetchVolumes(before);
    api.drop(`${CONFIG_MAPS}/a`);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, immutable: true, data: { key: 'two' } });
    const after = withVariables('after', 'a');
    await fetchVariables(after);
    expect(dataOf(after, 'a')).toEqual({ key: 'two' });
    // An edit makes it no other pod.
    const edited = podOf('before', { volumes: [mapVolume('a')], activeDeadlineSeconds: 5 });
    await fetchVolumes(edited);
    expect(dataOf(edited, 'a')).toEqual({ key: 'one' });
    await clock.settle();
    expect(changed).toEqual([]);
    expect(api.openWatches).toBe(0);
    // Of whatever an API server has at hand it might be the old one again.
    expect(api.reads.map(({ query }) => query?.['resourceVersion'])).toEqual(['0', undefined]);
    await fetchVolumes(podOf('third', { volumes: [mapVolume('a')] }));
    objects.forget('before');
    expect(api.reads).toHaveLength(3);
    expect(dataOf(after, 'a')).toEqual({ key: 'two' });
  });

  it('that were immutable and are gone are waited for by pods that come, and by no others', async () => {
    const { api, clock, changed, fetchVolumes, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, immutable: true, data: { key: 'one' } });
    const [before, after] = ['before', 'after'].map((uid) => podOf(uid, { volumes: [mapVolume('a')] }));
    await fetchVolumes(before!);
    api.drop(`${CONFIG_MAPS}/a`);
    await fetchVolumes(after!);
    expect([before!, after!].map((pod) => dataOf(pod, 'a'))).toEqual([{ key: 'one' }, undefined]);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'two' } });
    await clock.settle();
    expect(changed).toEqual([['after']]);
    expect([before!, after!].map((pod) => dataOf(pod, 'a'))).toEqual([{ key: 'one' }, { key: 'two' }]);
  });

  it('that are immutable are what they were to a pod that comes while the API server is away, until it is back', async () => {
    const { api, clock, objects, changed, fetchVolumes, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, immutable: true, data: { key: 'one' } });
    const [before, after, last] = ['before', 'after', 'last'].map((uid) =>
      podOf(uid, { volumes: [mapVolume('a')] }),
    );
    await fetchVolumes(before!);
    api.drop(`${CONFIG_MAPS}/a`);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, immutable: true, data: { key: 'two' } });
    api.stop();
    const fetched = Promise.all([fetchVolumes(after!), fetchVolumes(last!)]);
    await clock.advance(1_000);
    await fetched;
    expect(dataOf(after!, 'a')).toEqual({ key: 'one' });
    api.start();
    objects.retryNow();
    await clock.settle();
    expect(changed).toEqual([['after', 'last']]);
    const now = [before!, after!, last!].map((pod) => dataOf(pod, 'a'));
    expect(now).toEqual([{ key: 'one' }, { key: 'two' }, { key: 'two' }]);
  });

  it('that only variables are made of rest after a few minutes, and are read again for the next start', async () => {
    const { api, clock, objects, fetchVariables, dataOf } = scene();
    const abort = new AbortController();
    const running = objects.run(abort.signal);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    const pod = withVariables('p', 'a');
    await fetchVariables(pod);
    await clock.advance(7 * 60_000);
    expect(api.openWatches).toBe(0);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'two' } });
    await fetchVariables(pod);
    expect(dataOf(pod, 'a')).toEqual({ key: 'two' });
    expect(api.openWatches).toBe(1);
    abort.abort();
    await clock.settle();
    await running;
    expect(api.openWatches).toBe(0);
  });

  it('stay as they were while the API server is away, however long', async () => {
    const { api, clock, objects, fetchVariables, dataOf } = scene();
    const abort = new AbortController();
    void objects.run(abort.signal);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    const pod = withVariables('p', 'a');
    await fetchVariables(pod);
    api.stop();
    await clock.advance(7 * 60_000);
    const fetched = fetchVariables(pod);
    await clock.advance(1_000);
    await fetched;
    expect(dataOf(pod, 'a')).toEqual({ key: 'one' });
    abort.abort();
  });

  it('let pods go on to fail after a while when nothing is answered, and wake them when it is', async () => {
    const { api, clock, objects, changed } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: {} });
    api.stop();
    const pod = podOf('p', { volumes: [mapVolume('a')] });
    const fetched = objects.fetch(pod, volumeReferences(pod), NEVER);
    await clock.advance(10_000);
    await fetched;
    expect(() => objects.findConfigMap(pod, 'a')).toThrow('failed to sync configmap cache');
    api.start();
    await clock.advance(30_000);
    expect(changed).toEqual([['p']]);
    expect(objects.findConfigMap(pod, 'a')).toBeDefined();
  });

  it('are told of to a pod that has waited in vain, while another still waits', async () => {
    const { api, clock, objects, changed, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    api.stop();
    const [early, late] = ['early', 'late'].map((uid) => podOf(uid, { volumes: [mapVolume('a')] }));
    const first = objects.fetch(early!, volumeReferences(early!), NEVER);
    await clock.advance(9_000);
    const second = objects.fetch(late!, volumeReferences(late!), NEVER);
    await clock.advance(1_000);
    await first;
    api.start();
    objects.retryNow();
    await clock.settle();
    await second;
    expect(changed).toEqual([['early']]);
    expect(dataOf(late!, 'a')).toEqual({ key: 'one' });
  });

  it('are read again no older than they were, whichever API server answers', async () => {
    const { api, clock, objects, fetchVariables, dataOf } = scene();
    const abort = new AbortController();
    void objects.run(abort.signal);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    const pod = withVariables('p', 'a');
    await fetchVariables(pod);
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'two' } });
    await clock.settle();
    expect(dataOf(pod, 'a')).toEqual({ key: 'two' });
    const { resourceVersion } = api;
    await clock.advance(7 * 60_000);
    expect(api.openWatches).toBe(0);
    await fetchVariables(pod);
    // The second time after a watch that has said nothing for minutes.
    expect(api.reads.map(({ query }) => query?.['resourceVersion'])).toEqual([
      ...['0', resourceVersion, resourceVersion],
    ]);
    expect(api.reads.at(-1)?.query).toMatchObject({ resourceVersionMatch: 'NotOlderThan' });
    abort.abort();
  });

  it('let a pod go that is to end', async () => {
    const { api, clock, objects } = scene();
    api.stop();
    const pod = podOf('p', { volumes: [mapVolume('a')] });
    const stop = new AbortController();
    const fetched = objects.fetch(pod, volumeReferences(pod), stop.signal);
    await clock.advance(100);
    stop.abort(new Error('it is to end'));
    await expect(fetched).rejects.toThrow('it is to end');
  });

  it('that are forbidden are asked for again at once: the API server may not know yet where the pod is', async () => {
    const { api, clock, fetchVolumes, dataOf } = scene();
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { key: 'one' } });
    let refusals = 2;
    api.intercept = (request) => {
      if ('method' in request && refusals-- > 0)
        throw new ApiError(403, 'Forbidden', 'no relationship found');
    };
    const pod = podOf('p', { volumes: [mapVolume('a')] });
    const fetched = fetchVolumes(pod);
    await clock.advance(300);
    await fetched;
    expect(dataOf(pod, 'a')).toEqual({ key: 'one' });
  });

  it('are followed up to a bound, those used last first', async () => {
    const { api, clock, objects, fetchVolumes, dataOf } = scene(2);
    for (const name of ['a', 'b', 'c']) api.put(`${CONFIG_MAPS}/${name}`, { metadata: {}, data: { name } });
    const pods = ['a', 'b', 'c'].map((name) => podOf(name, { volumes: [mapVolume(name)] }));
    for (const pod of pods) {
      await fetchVolumes(pod);
      await clock.advance(10);
    }
    expect(objects.stats).toMatchObject({ objects: 3, watches: 2, unfollowed: 1 });
    expect(dataOf(pods[0]!, 'a')).toEqual({ name: 'a' });
    api.put(`${CONFIG_MAPS}/a`, { metadata: {}, data: { name: 'other' } });
    await fetchVolumes(pods[0]!);
    expect(dataOf(pods[0]!, 'a')).toEqual({ name: 'other' });
    expect(objects.stats).toMatchObject({ watches: 2, unfollowed: 2 });
  });
});
