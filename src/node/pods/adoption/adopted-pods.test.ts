import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANNOTATIONS } from '../../../watch/observed/labels.js';
import { aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { AdoptedPods } from './adopted-pods.js';
import { containerHash, sandboxHash } from '../actions/container-hash.js';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-adopted-'));
  path = join(folder, 'adopted-pods.json');
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

const pod = aNodePod();
const main = pod.spec.containers[0]!;
const observed = aPod({ uid: 'left', containers: ['main', 'stray'] });
const status = aPodStatus(observed, {
  containers: observed.containers.map((container) =>
    aContainerStatus(container, { annotations: { [ANNOTATIONS.hash]: 'beef' } }),
  ),
});

describe('the record of adopted pods', () => {
  it('has what a pod was made of, and what the manifest said of it then', async () => {
    await (await AdoptedPods.open(path)).adopt(pod, status);
    const record = await AdoptedPods.open(path);
    expect(record.has('left')).toBe(true);
    expect(record.has('uid-web')).toBe(false);
    expect(record.find(pod.metadata)).toEqual({
      ...{ namespace: 'default', name: 'web', uid: 'left' },
      parts: [
        { id: 'left-sandbox-0', kind: 'sandbox', name: 'web', writtenHash: '', baseline: sandboxHash(pod) },
        {
          ...{ id: 'left-main-0', kind: 'container', name: 'main', writtenHash: 'beef' },
          baseline: containerHash(main, pod.spec),
        },
        { id: 'left-stray-0', kind: 'container', name: 'stray', writtenHash: 'beef' },
      ],
    });
    expect(record.findBaseline('left-main-0')).toBe(containerHash(main, pod.spec));
    expect(record.findBaseline('left-stray-0')).toBeUndefined();
  });

  it('keeps a baseline that comes later, and never changes one that is there', async () => {
    const record = await AdoptedPods.open(path);
    await record.adopt(pod, status);
    const ours = aNodePod({ uid: 'left' });
    const before = record.findBaseline('left-main-0');
    await record.keep(ours, [
      { containerId: 'left-stray-0', hash: 'one' },
      { containerId: 'left-main-0', hash: 'two' },
      { containerId: 'later', hash: 'three' },
    ]);
    await record.keep(aNodePod({ uid: 'never-adopted' }), [{ containerId: 'by-hand', hash: 'four' }]);
    const again = await AdoptedPods.open(path);
    const ids = ['left-stray-0', 'left-main-0', 'later', 'by-hand'];
    expect(ids.map((id) => again.findBaseline(id))).toEqual(['one', before, 'three', undefined]);
  });

  it('does not count what could not be written', async () => {
    const record = await AdoptedPods.open(join(folder, 'missing', 'adopted-pods.json'));
    await expect(record.adopt(pod, status)).rejects.toThrow('ENOENT');
    expect(record.has('left')).toBe(false);
  });

  it('takes changes one after the other, and forgets', async () => {
    const record = await AdoptedPods.open(path);
    const other = aNodePod({ name: 'db' });
    await Promise.all([record.adopt(pod, status), record.adopt(other, aPodStatus(aPod({ uid: 'more' })))]);
    await Promise.all([record.forget('left'), record.forget('unknown')]);
    expect((await AdoptedPods.open(path)).all().map(({ uid }) => uid)).toEqual(['more']);
  });

  it.each(['', 'no json', '[]', '{"pods":[{"uid":"a"}]}', '{"pods":[null]}'])(
    'is not made up for by an empty one when the file holds %j',
    async (text) => {
      await writeFile(path, text);
      await expect(AdoptedPods.open(path)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
      expect(await readFile(path, 'utf8')).toBe(text);
    },
  );
});
