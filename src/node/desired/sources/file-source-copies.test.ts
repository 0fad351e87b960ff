import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aManifest } from '#support/builders/a-manifest.js';
import { FileSourceHarness } from '#support/harness/file-source-harness.js';

const copies = ['aaa.yaml', 'one-copy.yaml', 'one.json', 'One.yaml', '0.yml', 'two.yaml', 'zzz.yaml'];

describe('a copy of a manifest', () => {
  it.each(copies)('named %s takes nothing from the pod of one.yaml', async (copy) => {
    await using lab = await FileSourceHarness.open();
    await lab.put('one.yaml', aManifest('web', 'old'));
    lab.start();
    await lab.untilPods('web-node:old');
    await lab.put(copy, aManifest('web', 'new'));
    await lab.until(() => lab.told.some((problem) => problem.startsWith(`pods/${copy}:1:1`)));
    await lab.moreLooks(2);
    for (const pods of lab.deliveries) {
      expect(pods.map(({ spec }) => spec.containers[0]!.image)).not.toContain('new');
    }

    // Nor over a restart of the agent, during which both were touched.
    await lab.stop();
    lab.start();
    await lab.untilPods('web-node:old');
    await lab.moreLooks(2);
    for (const pods of lab.deliveries) {
      expect(pods.map(({ spec }) => spec.containers[0]!.image)).not.toContain('new');
    }

    // It has the pod once the first one lets it go, and keeps it then.
    await rm(join(lab.folder, 'one.yaml'));
    await lab.untilPods('web-node:new');
    await lab.put('one.yaml', aManifest('web', 'old'));
    await lab.moreLooks(3);
    await lab.untilPods('web-node:new');
  });

  it('does not get the pod of a file that is given another name', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('one.yaml', aManifest('web', 'old'));
    lab.start();
    await lab.untilPods('web-node:old');
    await lab.put('aaa.yaml', aManifest('web', 'new'));
    await lab.until(() => lab.told.length > 0);
    await rename(join(lab.folder, 'one.yaml'), join(lab.folder, 'two.yaml'));
    await lab.moreLooks(4);
    await lab.untilPods('web-node:old');
    for (const pods of lab.deliveries) {
      expect(pods.map(({ spec }) => spec.containers[0]!.image)).not.toContain('new');
    }
  });

  it('gets the pod when the first file is edited to hold another', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('one.yaml', aManifest('web', 'old'));
    lab.start();
    await lab.untilPods('web-node:old');
    await lab.put('aaa.yaml', aManifest('web', 'new'));
    await lab.until(() => lab.told.length > 0);
    await lab.put('one.yaml', aManifest('db', 'old'));
    await lab.untilPods('web-node:new', 'db-node:old');
  });
});
