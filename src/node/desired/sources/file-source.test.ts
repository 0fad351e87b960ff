import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aManifest, BROKEN_MANIFEST } from '#support/builders/a-manifest.js';
import { FileSourceHarness } from '#support/harness/file-source-harness.js';
import { INLINE_PARSER } from '../manifests/parse-manifest.js';

describe('a folder of manifests', () => {
  it('is read, watched, and read again', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    await lab.put('b.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
    lab.start();
    await lab.untilPods('a-node:a');
    expect(lab.watched).toEqual(['pods']);
    await lab.put('c.yml', `${aManifest('c')}---\n${aManifest('d')}`);
    await lab.untilPods('a-node:a', 'c-node:a', 'd-node:a');
    await lab.put('a.yaml', aManifest('a', 'b'));
    await lab.untilPods('a-node:b', 'c-node:a', 'd-node:a');
    await rm(join(lab.folder, 'c.yml'));
    await lab.untilPods('a-node:b');
    expect(lab.told).toEqual([]);
  });

  it('is looked at again although nobody said that something happened', async () => {
    await using lab = await FileSourceHarness.open();
    lab.start('pods', { watch: () => ({ close: () => undefined }) });
    await lab.moreLooks(1);
    await lab.put('a.yaml', aManifest('a'));
    await lab.untilPods('a-node:a');
  });

  it('is handed out again only when something about it has changed, however that is found', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('one.yaml', aManifest('one'));
    await lab.put('two.yaml', aManifest('two'));
    lab.start('pods', { fileCheckFrequencyMs: 1_000 });
    await lab.untilPods('one-node:a', 'two-node:a');
    await lab.moreLooks(2);
    const before = lab.deliveries.length;
    await lab.moreLooks(5);
    lab.touch('one.yaml');
    await lab.moreLooks(2);
    expect(lab.deliveries.length).toBe(before);
    // No event reports these, and each has the same length as before.
    await writeFile(join(lab.folder, 'one.yaml'), aManifest('one', 'b'));
    await lab.untilPods('one-node:b', 'two-node:a');
    await rename(join(lab.folder, 'one.yaml'), join(lab.folder, 'old.yaml'));
    await lab.moreLooks(5);
    expect(lab.pods).toEqual(['one-node:b', 'two-node:a']);
    await rm(join(lab.folder, 'old.yaml'));
    await lab.untilPods('two-node:a');
    await rm(lab.folder, { recursive: true });
    await lab.until(() => lab.told.length > 0);
    await mkdir(lab.folder);
    await writeFile(join(lab.folder, 'two.yaml'), aManifest('two'));
    const whileMissing = lab.deliveries.length;
    await lab.until(() => lab.solved.length > 0);
    expect([lab.pods, lab.deliveries.length > whileMissing]).toEqual([['two-node:a'], true]);
  });

  it('is looked at from time to time where it cannot be watched', async () => {
    await using lab = await FileSourceHarness.open();
    const watch = (): never => {
      throw new Error('no space for watches');
    };
    lab.start('pods', { watch });
    await lab.moreLooks(2);
    await lab.put('a.yaml', aManifest('a'));
    await lab.untilPods('a-node:a');
    expect(lab.logged).toEqual(['Manifests cannot be watched, polling them instead']);
  });

  it('has files that are no manifests: some are passed over, of others it is said', async () => {
    await using lab = await FileSourceHarness.open();
    for (const name of ['.a.yaml', 'a.yaml~', '#a.yaml#', 'a.yaml.bak', '.a.yaml.swp', '4913', 'x.txt']) {
      await lab.put(name, aManifest('hidden'));
    }
    await mkdir(join(lab.folder, 'below.yaml'));
    await lab.put('etcd.manifest', aManifest('etcd'));
    lab.start();
    await lab.untilPods('etcd-node:a');
    await lab.moreLooks(2);
    expect(lab.logged).toEqual(['Ignoring a file that is no manifest by its name or kind pods/x.txt']);
    expect(lab.told).toEqual([]);
  });

  it('is handed out while it is read, but for pods whose objects may be in what is still unread', async () => {
    await using lab = await FileSourceHarness.open();
    const settings =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\n' + '# long\n'.repeat(99);
    const wanting = aManifest('wanting').replace(
      ' }] }',
      ', envFrom: [{ configMapRef: { name: settings } }] }] }',
    );
    await lab.put('wanting.yaml', wanting);
    await lab.put('web.yaml', aManifest('web'));
    await lab.put('settings.yaml', settings);
    const parse: typeof INLINE_PARSER.parse = (request, signal) => {
      lab.clock.stall(300);
      return INLINE_PARSER.parse(request, signal);
    };
    lab.start('pods', { parser: { parse } });
    await lab.untilPods('wanting-node:a', 'web-node:a');
    const names = lab.deliveries.map((pods) => pods.map(({ metadata }) => metadata.name));
    expect(names.slice(0, 2)).toEqual([['web-node'], ['web-node']]);
    expect(lab.config.objects.all()).toHaveLength(1);

    await lab.put('more.yaml', aManifest('more'));
    await lab.until(() => lab.pods.length === 3);
    expect(lab.deliveries.every((pods, index) => index < 3 || pods.length > 1)).toBe(true);
  });

  it('may be replaced by another', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rename(lab.folder, join(lab.root, 'old'));
    await mkdir(lab.folder);
    await writeFile(join(lab.folder, 'b.yaml'), aManifest('b'));
    await lab.untilPods('b-node:a');
    expect(lab.watched).toEqual(['pods', 'pods']);
  });

  it('may be missing at first, and come', async () => {
    await using lab = await FileSourceHarness.open({ withFolder: false });
    lab.start();
    await lab.until(() => lab.deliveries.length > 0);
    expect(lab.pods).toEqual([]);
    expect(lab.config.seenAllSources()).toBe(true);
    expect(lab.told).toEqual(['pods: does not exist; it is read once it does']);
    await mkdir(lab.folder);
    await lab.put('a.yaml', aManifest('a'));
    await lab.untilPods('a-node:a');
    expect(lab.solved).toHaveLength(1);
  });
});

describe('a single manifest', () => {
  it('may have any name, is replaced, removed, and put back', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('web', aManifest('web'));
    await lab.put('other.yaml', aManifest('other'));
    lab.start('pods/web');
    await lab.untilPods('web-node:a');
    await writeFile(join(lab.folder, '.new'), aManifest('web', 'b'));
    await rename(join(lab.folder, '.new'), join(lab.folder, 'web'));
    lab.touch('web');
    await lab.untilPods('web-node:b');
    await rm(join(lab.folder, 'web'));
    await lab.untilPods();
    await lab.put('web', aManifest('web'));
    await lab.untilPods('web-node:a');
  });

  it('that was removed while nobody looked is gone, and one that is broken is not', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('web', aManifest('web'));
    lab.start('pods/web');
    await lab.untilPods('web-node:a');
    await lab.stop();
    await lab.put('web', BROKEN_MANIFEST);
    lab.start('pods/web');
    await lab.untilPods('web-node:a');
    expect(lab.told).toHaveLength(1);
    await lab.stop();
    await rm(join(lab.folder, 'web'));
    lab.start('pods/web');
    await lab.untilPods();
    expect(lab.deliveries[0]).toEqual([]);
    await lab.until(() => lab.looks > 0);
    expect(await readdir(lab.lastGoodFolder)).toEqual([]);
  });
});
