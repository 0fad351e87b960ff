import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aManifest, BROKEN_MANIFEST } from '#support/builders/a-manifest.js';
import { FileSourceHarness } from '#support/harness/file-source-harness.js';
import { INLINE_PARSER } from '../manifests/parse-manifest.js';

describe('a bad file', () => {
  it('keeps its pod and harms no other; it is reported once, and so is its end', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    await lab.put('b.yaml', aManifest('b'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', BROKEN_MANIFEST);
    await lab.put('b.yaml', aManifest('b', 'b'));
    await lab.untilPods('a-node:a', 'b-node:b');
    await lab.until(() => lab.told.length > 0);
    await lab.moreLooks(4);
    expect(lab.told).toEqual([
      expect.stringMatching(/^pods\/a\.yaml:3:\d+: .*; default\/a-node goes on as before$/),
    ]);
    expect(lab.problems.problems()).toHaveLength(1);
    await lab.put('a.yaml', aManifest('a', 'b'));
    await lab.untilPods('a-node:b', 'b-node:b');
    expect(lab.problems.problems()).toEqual([]);
    expect(lab.solved).toHaveLength(1);
  });

  it('keeps its pod over a restart, also a second one', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', `${aManifest('a')}---\n${aManifest('b')}`);
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    const [before] = lab.deliveries.slice(-1);
    await lab.stop();
    await lab.put('a.yaml', `${aManifest('a')}---\n${aManifest('b').replace('image', 'imag')}`);
    for (let restart = 0; restart < 2; restart++) {
      lab.start();
      await lab.untilPods('a-node:a', 'b-node:a');
      expect(lab.deliveries.at(-1)).toEqual(before);
      expect(lab.told[0]).toMatch(/^pods\/a\.yaml:9:\d+: .*; default\/b-node goes on as before$/);
      await lab.stop();
    }
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    expect(lab.told).toEqual([]);
  });

  it('says nothing of a pod that is still in it, and takes no pod that is', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', `${aManifest('a')}---\n${aManifest('b')}`);
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', `${aManifest('b', 'new')}---\n${aManifest('c').replace('image', 'imag')}`);
    await lab.untilPods('a-node:a', 'b-node:new');
  });

  it('is one in which nothing is written, but not one that has an empty List', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.put('a.yaml', '');
    await lab.until(() => lab.told.length > 0);
    expect(lab.told[0]).toContain('pods/a.yaml:1:1: there is no pod in it');
    expect(lab.pods).toEqual(['a-node:a']);
    await lab.put('a.yaml', 'apiVersion: v1\nkind: List\nitems: []\n');
    await lab.untilPods();
  });

  it('is one that cannot be read; it is tried again', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    lab.disk.readFailures.set('a.yaml', 'EIO: the disk is ill');
    await lab.put('a.yaml', aManifest('a', 'b'));
    await lab.until(() => lab.told.length > 0);
    expect(lab.told).toEqual([
      'pods/a.yaml: cannot be read: EIO: the disk is ill; default/a-node goes on as before',
    ]);
    expect(lab.pods).toEqual(['a-node:a']);
    lab.disk.readFailures.clear();
    await lab.untilPods('a-node:b');
    expect(lab.problems.problems()).toEqual([]);
  });

  it('is a link that leads nowhere, until it leads somewhere', async () => {
    await using lab = await FileSourceHarness.open();
    await writeFile(join(lab.root, 'real'), aManifest('a'));
    await symlink(join(lab.root, 'real'), join(lab.folder, 'a.yaml'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rename(join(lab.root, 'real'), join(lab.root, 'elsewhere'));
    lab.touch();
    await lab.until(() => lab.told.length > 0);
    expect(lab.told[0]).toContain('a link that leads nowhere');
    expect(lab.pods).toEqual(['a-node:a']);
    await writeFile(join(lab.root, 'real'), aManifest('a', 'b'));
    await lab.untilPods('a-node:b');
  });

  it('is one that the parser gave up; another content is tried at once, the same one later', async () => {
    await using lab = await FileSourceHarness.open();
    let parses = 0;
    let parsedAtMs = 0;
    const parser: typeof INLINE_PARSER = {
      parse: async (request, signal) => {
        parses++;
        parsedAtMs = lab.clock.monotonicMs();
        const isHard = Buffer.from(request.bytes).includes('hard');
        return isHard
          ? { kind: 'gave-up', why: 'reading it takes longer than 10 s' }
          : INLINE_PARSER.parse(request, signal);
      },
    };
    await lab.put('a.yaml', `${aManifest('a')}# hard`);
    lab.start('pods', { parser });
    await lab.until(() => lab.told.length > 0);
    expect(lab.told).toEqual(['pods/a.yaml: reading it takes longer than 10 s']);
    expect(parses).toBe(1);
    // Time went by while the first version was brought to the disk.
    await lab.pass(parsedAtMs + 50_000 - lab.clock.monotonicMs());
    expect(lab.looks).toBeGreaterThan(2);
    expect(parses).toBe(1);
    await lab.until(() => parses === 2);
    await lab.put('a.yaml', aManifest('a'));
    await lab.untilPods('a-node:a');
  });

  it('is the second one that names a pod; it takes the place once the first is gone', async () => {
    await using lab = await FileSourceHarness.open();
    await lab.put('b.yaml', aManifest('web', 'b'));
    lab.start();
    await lab.untilPods('web-node:b');
    await lab.put('c.yaml', aManifest('web', 'c'));
    await lab.until(() => lab.told.length > 0);
    expect(lab.told).toEqual([
      'pods/c.yaml:1:1: metadata.name: Duplicate value: "web": stands at pods/b.yaml:1 already',
    ]);
    expect(lab.pods).toEqual(['web-node:b']);
    await rm(join(lab.folder, 'b.yaml'));
    await lab.untilPods('web-node:c');
    expect(lab.problems.problems()).toEqual([]);
  });
});

describe('a folder that cannot be seen', () => {
  it.each(['fails', 'is missing', 'hangs'])('keeps all pods when it %s, over a restart too', async (how) => {
    await using lab = await FileSourceHarness.open();
    await lab.put('a.yaml', aManifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    const away = join(lab.root, 'away');
    let release = (): void => undefined;
    const hide = async (): Promise<void> => {
      if (how === 'fails') lab.disk.lookFailure = new Error('EACCES: not yours');
      else if (how === 'is missing') await rename(lab.folder, away);
      else lab.disk.hang = new Promise((resolve) => (release = resolve));
    };
    await hide();
    lab.touch();
    await lab.until(() => lab.told.length > 0);
    expect(lab.told[0]).toMatch(/^pods: .*; default\/a-node goes on as before$/);
    expect(lab.pods).toEqual(['a-node:a']);
    release();
    await lab.stop();

    lab.start();
    if (how !== 'is missing') await hide();
    await lab.untilPods('a-node:a');
    expect(lab.told).toHaveLength(1);
    const updates = lab.config.updates(new AbortController().signal)[Symbol.asyncIterator]();
    await updates.next();
    void updates.next();
    await lab.clock.settle();
    // Nothing may be removed while nobody can say whether it is wanted; with a missing folder that is known.
    expect(lab.config.seenAllSources()).toBe(how === 'is missing');

    lab.disk.lookFailure = undefined;
    lab.disk.hang = undefined;
    release();
    if (how === 'is missing') await rename(away, lab.folder);
    await rm(join(lab.folder, 'a.yaml'));
    await lab.untilPods();
    expect(lab.problems.problems()).toEqual([]);
    await lab.clock.settle();
    expect(lab.config.seenAllSources()).toBe(true);
  });
});
