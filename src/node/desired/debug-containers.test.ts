import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EphemeralContainer } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { DebugContainers } from './debug-containers.js';
import { PodConfig } from './pod-config.js';

let folder: string;
let opened: DebugContainers[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-debug-'));
  opened = [];
});
afterEach(async () => {
  for (const debugged of opened) await debugged.settled();
  await rm(folder, { recursive: true });
});

const file = (): string => join(folder, 'debug-containers.json');
const open = async (onChanged?: () => void): Promise<DebugContainers> => {
  const debugged = await DebugContainers.open({
    file: file(),
    definitionOf: ({ spec }) => spec.containers.map(({ command = [] }) => command.join(' ')).join(),
    ...(onChanged === undefined ? {} : { onChanged }),
  });
  opened.push(debugged);
  return debugged;
};
const aPod = (command = 'serve', more: Partial<NodePod['spec']> = {}, hash = command): NodePod =>
  aNodePod({
    annotations: { [STATIC_POD_ANNOTATIONS.manifestHash]: hash },
    spec: { containers: [{ name: 'main', image: 'app:1', command: [command] }], ...more },
  });
const aDebugger = (name = 'debugger'): EphemeralContainer => ({ name, image: 'tools:1', tty: true });
const namesOf = ({ spec }: NodePod): string[] => (spec.ephemeralContainers ?? []).map(({ name }) => name);

describe('a container that was added to a pod', () => {
  it('is part of it, also with the next agent', async () => {
    const debugged = await open();
    const pod = aPod();
    debugged.settle('file', [pod], true);
    expect(debugged.apply(pod)).toBe(pod);
    expect(await debugged.add(pod, [aDebugger()])).toBe('added');
    const applied = debugged.apply(pod);
    expect(applied.spec.ephemeralContainers).toEqual([aDebugger()]);
    expect(debugged.apply(pod)).toBe(applied);
    await debugged.add(applied, [aDebugger('second')]);
    expect(namesOf(debugged.apply(pod))).toEqual(['debugger', 'second']);
    expect(namesOf((await open()).apply(aPod()))).toEqual(['debugger', 'second']);
  });

  it('is not taken for another one of its name that somebody else adds', async () => {
    const debugged = await open();
    const pod = aPod();
    debugged.settle('file', [pod], true);
    const other = { ...aDebugger(), image: 'other:1' };
    const both = [debugged.add(pod, [aDebugger()]), debugged.add(pod, [other])];
    expect(await Promise.all(both)).toEqual(['added', 'taken']);
    expect(await debugged.add(pod, [aDebugger()])).toBe('added');
    expect(debugged.apply(pod).spec.ephemeralContainers).toEqual([aDebugger()]);
  });

  it('does not come back in the next life of a pod that ended while it was written', async () => {
    const debugged = await open();
    const pod = aPod();
    debugged.settle('file', [pod], true);
    const adding = debugged.add(pod, [aDebugger()]);
    // While it is being written.
    await Promise.resolve();
    debugged.forget(pod.metadata.uid);
    expect(await adding).toBe('gone');
    await debugged.settled();
    expect(debugged.apply(pod)).toBe(pod);
    expect(namesOf((await open()).apply(aPod()))).toEqual([]);
  });

  it('stands behind those of the manifest, which come first where one has its name', async () => {
    const debugged = await open();
    const pod = aPod('serve', { ephemeralContainers: [aDebugger('written')] });
    debugged.settle('file', [pod], true);
    await debugged.add(pod, [aDebugger()]);
    expect(namesOf(debugged.apply(pod))).toEqual(['written', 'debugger']);
    const other = { ...aDebugger(), image: 'other:1' };
    const edited = aPod('serve', { ephemeralContainers: [other] }, 'edited');
    expect(debugged.apply(edited).spec.ephemeralContainers).toEqual([other]);
  });

  it('is gone when the pod is made again or its manifest is, and stays after any other edit', async () => {
    const debugged = await open();
    const pod = aPod();
    debugged.settle('file', [pod], true);
    await debugged.add(pod, [aDebugger()]);
    debugged.settle('http', [], true);
    debugged.settle('file', [], false);
    const labelled = aPod('serve', {}, 'labelled');
    debugged.settle('file', [labelled], true);
    expect(namesOf(debugged.apply(labelled))).toEqual(['debugger']);
    debugged.settle('file', [aPod('other')], true);
    debugged.settle('file', [pod], true);
    expect(debugged.apply(pod)).toBe(pod);
    await debugged.add(pod, [aDebugger()]);
    debugged.settle('file', [], true);
    expect(debugged.apply(pod)).toBe(pod);
    await debugged.settled();
    expect(JSON.parse(await readFile(file(), 'utf8'))).toEqual({ version: 1, pods: [] });
  });

  it('is gone when the life of the pod is over', async () => {
    const debugged = await open();
    const pod = aPod();
    debugged.settle('file', [pod], true);
    await debugged.add(pod, [aDebugger()]);
    debugged.forget('uid-web');
    expect(debugged.apply(pod)).toBe(pod);
    await debugged.settled();
    expect(namesOf((await open()).apply(pod))).toEqual([]);
  });

  it('is not added to a pod that no source wants, nor when it cannot be written down', async () => {
    const debugged = await open();
    const pod = aPod();
    expect(await debugged.add(pod, [aDebugger()])).toBe('gone');
    debugged.settle('file', [pod], true);
    await rm(folder, { recursive: true });
    await expect(debugged.add(pod, [aDebugger()])).rejects.toThrow('ENOENT');
    expect(debugged.apply(pod)).toBe(pod);
    await mkdir(folder);
  });

  it('reaches the reader of the pods as an update', async () => {
    const debugged = await open(() => config.refresh());
    const config: PodConfig = new PodConfig({ debugged });
    const port = config.addSource('file');
    const ending = new AbortController();
    const updates = config.updates(ending.signal);
    const next = async (): Promise<string> => {
      const { value } = (await updates.next()) as { readonly value: PodUpdate };
      return `${value.type} ${value.pods.map((pod) => namesOf(pod).join()).join()}`;
    };
    port.deliver([aPod()]);
    expect(await next()).toBe('ADD ');
    await debugged.add(aPod(), [aDebugger()]);
    expect(await next()).toBe('UPDATE debugger');
    // The same pod read once more is no change.
    port.deliver([aPod()]);
    await debugged.add(aPod(), [aDebugger('second')]);
    expect(await next()).toBe('UPDATE debugger,second');
    ending.abort();
  });
});

it('a record that podloop has not written is refused with the file and the remedy', async () => {
  await writeFile(file(), '{"version":1,"pods":[{"uid":"a"}]}');
  await expect(open()).rejects.toThrow(
    `${file()} is not what podloop has written; remove it to have pods run without the containers that "podloop debug" has added`,
  );
});
