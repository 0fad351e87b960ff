import { link, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aManifest, BROKEN_MANIFEST } from '#support/builders/a-manifest.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { FileSourceHarness } from '#support/harness/file-source-harness.js';

describe('a file that changes', () => {
  it('is not judged before it stands still', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    for (let length = 30; length < 90; length += 12) {
      await lab.put('a.yaml', aManifest('a', 'b').slice(0, length));
      await lab.moreLooks(1);
    }
    await lab.put('a.yaml', aManifest('a', 'b'));
    await lab.untilPods('a-node:b');
    expect(lab.told).toEqual([]);
  });

  it('is judged at once when it was moved here, and not before it stands still when it is empty or a link', async () => {
    await using lab = await FileSourceHarness.open();
    lab.start('pods', { settleMs: 1_000_000, fileCheckFrequencyMs: 2_000_000 });
    await lab.until(() => lab.looks > 0);
    await lab.moveIn('a.yaml', aManifest('a'));
    await lab.untilPods('a-node:a');
    await lab.moveIn('a.yaml', aManifest('a', 'b'));
    await lab.untilPods('a-node:b');
    await lab.moveIn('a.yaml', '');
    await writeFile(join(lab.root, 'other'), aManifest('b'));
    await link(join(lab.root, 'other'), join(lab.folder, 'b.yaml'));
    await symlink(join(lab.root, 'other'), join(lab.folder, 'c.yaml'));
    for (const name of ['b.yaml', 'c.yaml']) lab.touch(name, 'named');
    const looks = lab.looks;
    await lab.until(() => lab.looks > looks);
    await lab.pass(1_000);
    expect(lab.pods).toEqual(['a-node:b']);
  });

  it('keeps its pod when it is saved by removing it and writing it again', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rm(join(lab.folder, 'a.yaml'));
    lab.touch('a.yaml');
    const looks = lab.looks;
    await lab.until(() => lab.looks > looks);
    await lab.put('a.yaml', aManifest('a', 'b'));
    await lab.untilPods('a-node:b');
    expect(lab.deliveries.every((pods) => pods.length === 1)).toBe(true);
  });

  it('keeps its pod when it is renamed, broken or not', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rename(join(lab.folder, 'a.yaml'), join(lab.folder, 'z.yaml'));
    lab.touch();
    await lab.moreLooks(5);
    await lab.put('z.yaml', BROKEN_MANIFEST);
    await lab.until(() => lab.told.length > 0);
    await rename(join(lab.folder, 'z.yaml'), join(lab.folder, 'b.yaml'));
    lab.touch();
    await lab.until(() => lab.told.some((line) => line.startsWith('pods/b.yaml')));
    await lab.moreLooks(5);
    expect(lab.pods).toEqual(['a-node:a']);
    expect(lab.deliveries.every((pods) => pods.length === 1)).toBe(true);
    expect(await readdir(lab.lastGoodFolder)).toHaveLength(1);
  });

  it('hands its pod and ConfigMap over to another file, new or not, that is written after it', async () => {
    await using lab = await FileSourceHarness.open();
    const map = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: m }\ndata: { k: v }\n';
    await lab.put('a.yaml', [aManifest('a'), aManifest('moves'), map].join('---\n'));
    await lab.put('b.yaml', aManifest('b'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a', 'moves-node:a');
    const maps = (): number => lab.config.objects.all().length;
    for (const to of ['b.yaml', 'new.yaml']) {
      const [before, looks] = [lab.deliveries.length, lab.looks];
      await lab.put('a.yaml', aManifest('a'));
      await lab.until(() => lab.looks > looks);
      await lab.put(to, [aManifest('moves'), aManifest(to.slice(0, 1)), map].join('---\n'));
      await lab.moreLooks(5);
      expect(lab.pods).toContain('moves-node:a');
      const isThere = (pods: readonly NodePod[]): boolean =>
        pods.some(({ metadata }) => metadata.name === 'moves-node');
      expect(lab.deliveries.slice(before).every(isThere)).toBe(true);
      expect(maps()).toBe(1);
      await lab.put('a.yaml', [aManifest('a'), aManifest('moves'), map].join('---\n'));
      await lab.put(to, aManifest(to.slice(0, 1)));
      await lab.moreLooks(5);
    }
  });

  it('that never stands still is named, and keeps its pod', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start('pods', { fileCheckFrequencyMs: 2_000 });
    await lab.untilPods('a-node:a');
    let count = 0;
    while (lab.told.length === 0) {
      await lab.put('a.yaml', `${aManifest('a')}# ${count++}\n`.repeat(1 + (count % 3)));
      await lab.moreLooks(1);
    }
    expect(lab.told).toEqual([
      'pods/a.yaml: is written to again and again, and is read once that ends; default/a-node goes on as before',
    ]);
    await lab.put('a.yaml', aManifest('a', 'b'));
    await lab.untilPods('a-node:b');
    expect(lab.solved).toHaveLength(1);
  });
});
