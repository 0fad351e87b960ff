import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aManifest, BROKEN_MANIFEST } from '#support/builders/a-manifest.js';
import { FileSourceHarness } from '#support/harness/file-source-harness.js';
import { aboutFile } from '../manifests/manifest-reader.js';
import { INLINE_PARSER, type ManifestParser } from '../manifests/parse-manifest.js';

describe('what was good', () => {
  it('is on disk before it is delivered, and written again only when it changes', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    const [record] = await readdir(lab.lastGoodFolder);
    const path = join(lab.lastGoodFolder, record!);
    const text = await readFile(path, 'utf8');
    expect(text).toContain('"metadata":{"name":"a"}');
    await lab.stop();
    // A link to it shows whether it was replaced.
    await link(path, join(lab.root, 'same'));
    await writeFile(join(lab.root, 'same'), `${text} `);
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.moreLooks(2);
    expect(await readFile(path, 'utf8')).toBe(`${text} `);
  });

  it('is forgotten with its file, also while nobody looked', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    await lab.put('b.yaml', aManifest('b'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.stop();
    await rm(join(lab.folder, 'a.yaml'));
    lab.start();
    await lab.untilPods('b-node:a');
    expect(lab.deliveries[0]).toHaveLength(1);
    await lab.until(() => lab.looks > 0);
    expect(await readdir(lab.lastGoodFolder)).toHaveLength(1);
  });

  it('that cannot be read any more keeps everything from being cleared up while its file is bad', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.stop();
    const [record] = await readdir(lab.lastGoodFolder);
    await writeFile(join(lab.lastGoodFolder, record!), '{');
    await lab.put('a.yaml', BROKEN_MANIFEST);
    lab.start();
    await lab.until(() => lab.told.length === 2);
    expect(lab.told.join('\n')).toContain(`the last good version in ${record!} cannot be read`);
    await lab.moreLooks(3);
    expect(lab.config.seenAllSources()).toBe(false);
    await lab.put('a.yaml', 'apiVersion: v1\nkind: List\nitems: []\n');
    await lab.until(() => lab.config.seenAllSources());
  });

  it('and cannot be written is reported, and delivered all the same', async () => {
    await using lab = await FileSourceHarness.open();
    await writeFile(lab.lastGoodFolder, 'a file where the folder should be');
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.until(() => lab.told.length > 0);
    expect(lab.told.join('\n')).toContain('pods/a.yaml: its last good version cannot be stored');
  });
});

describe('a start after another one', () => {
  const HANGING: ManifestParser = {
    parse: async (_, signal) =>
      new Promise((__, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      }),
  };

  async function openAfterFirst(text = aManifest('a')): Promise<FileSourceHarness> {
    const lab = await FileSourceHarness.open();
    await lab.put('a.yaml', text);
    await lab.put('b.yaml', aManifest('b'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.stop();
    return lab;
  }

  it('hands out all that is as it was at the first look, before anything is parsed', async () => {
    await using lab = await openAfterFirst();
    lab.start('pods', { parser: HANGING });
    await lab.untilPods('a-node:a', 'b-node:a');
    expect(lab.deliveries[0]).toHaveLength(2);
  });

  it('reports soon afterwards what a newer podloop finds wrong with it, and keeps it running', async () => {
    await using lab = await openAfterFirst();
    const asked: string[] = [];
    const parse: ManifestParser['parse'] = async ({ file }) => {
      asked.push(file);
      const problems = [aboutFile(file, 'is refused now')];
      return Promise.resolve({ kind: 'parsed', manifest: { pods: [], objects: [], problems } });
    };
    lab.start('pods', { parser: { parse } });
    await lab.until(() => lab.told.length === 2);
    expect(lab.told[0]).toContain('is refused now');
    await lab.moreLooks(2);
    expect(asked).toHaveLength(2);
    expect(lab.pods).toEqual(['a-node:a', 'b-node:a']);
  });

  it('parses first what was changed meanwhile, and hands out nothing older', async () => {
    await using lab = await openAfterFirst();
    await lab.put('b.yaml', aManifest('b', 'new'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:new');
    expect(lab.deliveries[0]!.map(({ spec }) => spec.containers[0]!.image)).toEqual(['a', 'new']);
  });

  it('knows a file whose words were changed and not its meaning', async () => {
    await using lab = await openAfterFirst();
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', `# as before\n${aManifest('a')}`);
    await lab.pass(1_000);
    await lab.stop();
    lab.start('pods', { parser: HANGING });
    await lab.untilPods('a-node:a', 'b-node:a');
  });

  it('follows a change of what was not parsed yet', async () => {
    await using lab = await openAfterFirst();
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', aManifest('a', 'new'));
    await lab.untilPods('a-node:new', 'b-node:a');
    await rm(join(lab.folder, 'b.yaml'));
    await lab.untilPods('a-node:new');
    expect(lab.told).toEqual([]);
  });

  it('parses what an older podloop has kept without a digest', async () => {
    await using lab = await openAfterFirst();
    for (const record of await readdir(lab.lastGoodFolder)) {
      const path = join(lab.lastGoodFolder, record);
      const text = await readFile(path, 'utf8');
      expect(text).toMatch(/"digest":"[0-9a-f]{64}"/);
      await writeFile(path, text.replace(/,"digest":"[0-9a-f]{64}"/, ''));
    }
    let parsedBefore = 0;
    const parse: ManifestParser['parse'] = async (request, signal) => {
      if (lab.deliveries.length === 0) parsedBefore++;
      return INLINE_PARSER.parse(request, signal);
    };
    lab.start('pods', { parser: { parse } });
    await lab.untilPods('a-node:a', 'b-node:a');
    expect(parsedBefore).toBe(2);
    const [record] = await readdir(lab.lastGoodFolder);
    expect(await readFile(join(lab.lastGoodFolder, record!), 'utf8')).toContain('"digest"');
  });

  it('waits for no unreadable file, and reports it', async () => {
    await using lab = await openAfterFirst();
    lab.start();
    lab.disk.readFailures.set('a.yaml', 'EIO');
    await lab.until(() => lab.told.length > 0);
    expect(lab.told[0]).toContain('cannot be read: EIO');
    expect(lab.pods).toEqual(['a-node:a', 'b-node:a']);
  });
});
