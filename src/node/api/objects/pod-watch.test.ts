import { describe, expect, it } from 'vitest';
import { aServedStatus, ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { PodWatch, type PodWatchOptions } from './pod-watch.js';
import { type V1Pod } from './render-pod.js';

interface WatchEvent {
  readonly type: string;
  readonly object: V1Pod;
}

function setUp() {
  const scene = new ServedPodsHarness();
  const ending = new AbortController();
  const watch = (options: Partial<PodWatchOptions> = {}) =>
    new PodWatch({
      ...{ table: scene.table, matches: () => true, since: undefined, signal: ending.signal },
      ...options,
    });
  const reader = (lines: AsyncGenerator<string, void>) => async (): Promise<string> => {
    const { value }: IteratorResult<string, unknown> = await lines.next();
    if (typeof value !== 'string') return 'end';
    const { type, object } = JSON.parse(value) as WatchEvent;
    const { name, resourceVersion, labels = {} } = object.metadata;
    return `${type} ${name}@${resourceVersion} ${labels['v'] ?? ''}`.trim();
  };
  return { scene, ending, watch, reader };
}

describe('a watch of pods', () => {
  it('sends everything that exists, and then each change', async () => {
    const { scene, ending, watch, reader } = setUp();
    scene.set({ name: 'b' });
    scene.set({ name: 'a' });
    const next = reader(watch().lines());
    expect(await next()).toBe('ADDED a@102');
    expect(await next()).toBe('ADDED b@101');
    const later = next();
    scene.set({ name: 'a', labels: { v: '2' } });
    expect(await later).toBe('MODIFIED a@103 2');
    scene.remove('b');
    expect(await next()).toBe('DELETED b@104');
    const last = next();
    ending.abort();
    expect(await last).toBe('end');
    expect(scene.table.watcherCount).toBe(0);
  });

  it('gives a slow reader the newest of each pod and holds nothing else', async () => {
    const { scene, watch, reader } = setUp();
    scene.set({ name: 'a' });
    const slow = watch();
    const next = reader(slow.lines());
    expect(await next()).toBe('ADDED a@101');
    for (let v = 2; v <= 1_000; v++) scene.set({ name: 'a', labels: { v: String(v) } });
    scene.set({ name: 'gone' });
    scene.remove('gone');
    scene.set({ name: 'b' });
    expect(await next()).toBe('MODIFIED a@1100 1000');
    expect(await next()).toBe('ADDED b@1103');
    expect(slow.folded).toBe(999);
  });

  it('says of a pod that went and came again that it went', async () => {
    const { scene, watch, reader } = setUp();
    scene.set({ name: 'a' });
    const next = reader(watch().lines());
    await next();
    scene.remove('a');
    scene.set({ name: 'a' }, { createdAtMs: 5 });
    expect(await next()).toBe('DELETED a@102');
    expect(await next()).toBe('ADDED a@103');
  });

  it('takes a pod for deleted that is no longer what was asked for', async () => {
    const { scene, watch, reader } = setUp();
    scene.set({ name: 'a' });
    const running = ({ served }: { served: { status: { phase: string } } }) =>
      served.status.phase === 'Running';
    const next = reader(watch({ matches: running }).lines());
    expect(await next()).toBe('ADDED a@101');
    scene.set({ name: 'a' }, { status: aServedStatus({ phase: 'Failed' }) });
    expect(await next()).toBe('DELETED a@102');
    scene.set({ name: 'a' });
    expect(await next()).toBe('ADDED a@103');
  });

  it('goes on where a list ended', async () => {
    const { scene, watch, reader } = setUp();
    for (const name of ['same', 'changed', 'gone']) scene.set({ name });
    const since = scene.table.version;
    scene.set({ name: 'changed', labels: { v: '2' } });
    scene.remove('gone');
    scene.set({ name: 'new' });
    const next = reader(watch({ since }).lines());
    expect(await next()).toBe('DELETED gone@105');
    expect(await next()).toBe('MODIFIED changed@104 2');
    expect(await next()).toBe('ADDED new@106');
  });

  it('knows what matched when the list was made', async () => {
    const { scene, watch, reader } = setUp();
    scene.set({ name: 'a', labels: { v: '1' } });
    const since = scene.table.version;
    scene.set({ name: 'a', labels: { v: '2' } });
    const first = ({ served }: { served: { pod: { metadata: { labels?: Record<string, string> } } } }) =>
      served.pod.metadata.labels?.['v'] === '1';
    const next = reader(watch({ since, matches: first }).lines());
    expect(await next()).toBe('DELETED a@102 2');
  });

  it('refuses versions that it knows too little about, and future ones', async () => {
    const { scene, watch } = setUp();
    scene.set({ name: 'a' });
    await expect(watch({ since: 99 }).lines().next()).rejects.toThrow('too old resource version: 99 (100)');
    await expect(watch({ since: 102 }).lines().next()).rejects.toThrow(
      'Too large resource version: 102, current: 101',
    );
    for (let v = 0; v < 30; v++) scene.set({ name: 'a', labels: { v: String(v) } });
    await expect(watch({ since: 101 }).lines().next()).rejects.toMatchObject({ reason: 'Expired' });
  });

  it('marks the end of what was there when that is wanted, at a version that nothing is missing behind', async () => {
    const { scene, watch } = setUp();
    for (const name of ['a', 'b']) scene.set({ name });
    const lines = watch({ marksInitialEnd: true }).lines();
    const told: string[] = [];
    for (let at = 0; at < 4; at++) {
      const { value } = await lines.next();
      const { type, object } = JSON.parse(String(value)) as WatchEvent;
      told.push(`${type} ${object.metadata.name}@${object.metadata.resourceVersion}`);
      if (at === 2) expect(object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      // While the reader is at the first of them.
      if (at === 0) scene.set({ name: 'a', labels: { v: '2' } });
    }
    expect(told).toEqual(['ADDED a@101', 'ADDED b@102', 'BOOKMARK undefined@102', 'MODIFIED a@103']);
  });
});
