import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileSourceHarness } from '#support/harness/file-source-harness.js';
import { readManifests } from './manifest-reader.js';
import { ManifestWriter } from './manifest-writer.js';

const FORBIDDEN = 'spec.ephemeralContainers: Forbidden: cannot be set on create';
const DEBUG = { name: 'debug', image: 'tools:1', targetContainerName: 'main' };
const pod = (name: string, ephemeralContainers?: readonly object[], metadata: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...metadata } },
  spec: {
    containers: [{ name: 'main', image: 'app:1' }],
    ...(ephemeralContainers && { ephemeralContainers }),
  },
});
const text = (...pods: readonly object[]): string => pods.map((each) => JSON.stringify(each)).join('\n---\n');
const problemsOf = (written: string): string[] =>
  readManifests(written, { file: 'f' }).problems.map(({ path, message }) => `${path}: ${message}`);

describe('ephemeral containers in a new pod', () => {
  it.each([[[DEBUG]], [[DEBUG, { name: 'second', image: 'i' }]]])('are refused: %j', (containers) => {
    expect(problemsOf(text(pod('web', containers)))).toEqual([expect.stringContaining(FORBIDDEN)]);
  });

  it.each([[undefined], [[]]])('are no matter where there are none: %j', (containers) => {
    expect(problemsOf(text(pod('web', containers)))).toEqual([]);
  });

  it('are left out of a pod that a cluster has printed, where they had joined it', () => {
    const served = { creationTimestamp: '2026-11-28T10:00:00Z', resourceVersion: '7' };
    const { pods, problems } = readManifests(text(pod('web', [DEBUG], served)), { file: 'f' });
    expect(problems).toEqual([]);
    expect(pods[0]!.leftOut).toContain('spec.ephemeralContainers');
    expect(pods[0]!.pod.spec.ephemeralContainers).toBeUndefined();
  });
});

describe('a folder of manifests', () => {
  it('takes ephemeral containers into pods that it knows, over a restart, a rename and a move, and into no others', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', text(pod('a')));
    await lab.put('new.yaml', text(pod('new', [DEBUG])));
    lab.start();
    await lab.untilPods('a-node:app:1');
    await lab.until(() => lab.told.some((said) => said.includes(FORBIDDEN)));
    await lab.put('a.yaml', text(pod('a', [DEBUG])));
    const hasJoined = (): boolean => lab.deliveries.at(-1)![0]!.spec.ephemeralContainers?.length === 1;
    await lab.until(hasJoined);
    await lab.stop();
    lab.start();
    await lab.until(() => lab.deliveries.length > 0 && hasJoined());
    expect(lab.deliveries.at(-1)!.map(({ metadata }) => metadata.name)).toEqual(['a-node']);
    await lab.stop();
    await rm(join(lab.folder, 'a.yaml'));
    await lab.put('b.yaml', text(pod('a', [DEBUG, { name: 'second', image: 'i' }])));
    lab.start();
    await lab.until(() => lab.deliveries.at(-1)?.[0]?.spec.ephemeralContainers?.length === 2);
  });
});

describe('an object that is applied', () => {
  it('is refused as a new pod, and taken as an edit, with ephemeral containers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-new-'));
    try {
      const writer = new ManifestWriter({
        ...{ folder, nodeName: 'node', findFile: () => undefined, findForbidden: () => [] },
      });
      const object = { kind: 'Pod', namespace: 'default', name: 'web' } as const;
      expect(await writer.apply(object, pod('web', [DEBUG]))).toMatchObject({
        ...{ kind: 'invalid', problems: [{ path: 'spec.ephemeralContainers', kind: 'forbidden' }] },
      });
      expect(await writer.apply(object, pod('web'))).toMatchObject({ result: 'created' });
      expect(await writer.apply(object, pod('web', [DEBUG]))).toMatchObject({ result: 'configured' });
      expect(await writer.apply(object, pod('web', [DEBUG]))).toMatchObject({ result: 'unchanged' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
