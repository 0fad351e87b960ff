/**
 * A folder of manifests with the real clock and the real watch: that the parts fit the machine. Only conditions are
 * waited for; what happens when is in file-source.test.ts and file-source-changes.test.ts.
 *
 * @module
 */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aManifest } from '#support/builders/a-manifest.js';
import { untilTrue } from '#support/until-true.js';
import { SystemClock } from '#base/time/clock.js';
import { sourceLookEnded } from '#base/channels/config-channels.js';
import { formatConfigProblem } from '../config-problem.js';
import { FileSource } from './file-source.js';
import { INLINE_PARSER } from '../manifests/parse-manifest.js';
import { PodConfig } from '../pod-config.js';
import { ProblemBook } from '../problem-book.js';

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-manifests-'));
  folder = join(root, 'pods');
  await mkdir(folder);
});
afterEach(async () => rm(root, { recursive: true, force: true }));

/** An agent's part that reads manifests and follows the changes. */
class Follower implements AsyncDisposable {
  readonly pods = new Map<string, string>();
  readonly told: string[] = [];
  readonly history: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor({ settleMs = 50 } = {}) {
    const problems = new ProblemBook({
      onProblem: (problem) => this.told.push(formatConfigProblem(problem)),
    });
    const config = new PodConfig({ problems });
    const source = new FileSource({
      ...{ path: folder, nodeName: 'n', problems, parser: INLINE_PARSER, clock: new SystemClock() },
      ...{ port: config.addSource('file'), lastGoodFolder: join(root, 'last-good') },
      // So long that whatever is seen was seen by the watch.
      ...{ fileCheckFrequencyMs: 600_000, settleMs },
    });
    this.#running = Promise.all([source.run(this.#stop.signal), this.#follow(config)]);
  }

  get state(): string {
    return [...this.pods]
      .map(([name, image]) => `${name}:${image}`)
      .sort()
      .join();
  }

  async untilState(state: string): Promise<void> {
    await untilTrue(() => this.state === state);
  }

  async #follow(config: PodConfig): Promise<void> {
    for await (const { type, pods } of config.updates(this.#stop.signal)) {
      for (const { metadata, spec } of pods) {
        const name = metadata.name.replace(/-n$/, '');
        this.history.push(`${type} ${name}`);
        if (type === 'REMOVE') this.pods.delete(name);
        else this.pods.set(name, spec.containers[0]!.image);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

describe('a folder of manifests on disk', () => {
  it('is followed through what people and tools do to it', async () => {
    await using follower = new Follower();
    await writeFile(join(folder, 'a.yaml'), aManifest('a'));
    await follower.untilState('a:a');
    await writeFile(join(folder, '.b.yaml.swp'), aManifest('b'));
    await rename(join(folder, '.b.yaml.swp'), join(folder, 'b.yaml'));
    await follower.untilState('a:a,b:a');
    await writeFile(join(folder, 'a.yaml'), aManifest('a', 'b'));
    await follower.untilState('a:b,b:a');
    await rename(join(folder, 'a.yaml'), join(folder, 'z.yaml'));
    await rm(join(folder, 'b.yaml'));
    await follower.untilState('a:b');
    await writeFile(join(folder, 'z.yaml'), 'a: [');
    await untilTrue(() => follower.told.length === 1);
    await rm(join(folder, 'z.yaml'));
    await follower.untilState('');
    expect(follower.history).toEqual(['ADD a', 'ADD b', 'UPDATE a', 'REMOVE b', 'REMOVE a']);
  });

  it('gives its pods at once where they are moved in, and none of a file that is being written', async () => {
    let looks = 0;
    const leave = sourceLookEnded.subscribe(() => looks++);
    await using follower = new Follower({ settleMs: 500_000 });
    // From the second one on the folder is watched.
    await untilTrue(() => looks >= 2);
    leave();
    const moved: string[] = [];
    for (let count = 0; count < 60; count++) {
      await writeFile(join(folder, `w${count}.yaml`), aManifest(`w${count}`));
      await writeFile(join(root, 'next'), aManifest(`m${count}`));
      await rename(join(root, 'next'), join(folder, `m${count}.yaml`));
      moved.push(`m${count}:a`);
    }
    await follower.untilState(moved.sort().join());
    expect(follower.told).toEqual([]);
  });

  it('may be made of links that are changed all at once', async () => {
    for (const [version, image] of [
      ['1', 'a'],
      ['2', 'b'],
    ] as const) {
      await mkdir(join(folder, `..${version}`));
      await writeFile(join(folder, `..${version}`, 'a.yaml'), aManifest('a', image));
    }
    await symlink('..1', join(folder, '..data'));
    await symlink('..data/a.yaml', join(folder, 'a.yaml'));
    await using follower = new Follower();
    await follower.untilState('a:a');
    await symlink('..2', join(folder, '..next'));
    await rename(join(folder, '..next'), join(folder, '..data'));
    await follower.untilState('a:b');
    expect(follower.history).toEqual(['ADD a', 'UPDATE a']);
  });

  it('is followed when another folder takes its place, and when it is removed and recreated', async () => {
    await writeFile(join(folder, 'a.yaml'), aManifest('a'));
    const next = join(root, 'next');
    await mkdir(next);
    await writeFile(join(next, 'a.yaml'), aManifest('a', 'b'));
    await writeFile(join(next, 'b.yaml'), aManifest('b'));
    await using follower = new Follower();
    await follower.untilState('a:a');
    await rename(folder, join(root, 'old'));
    await rename(next, folder);
    await follower.untilState('a:b,b:a');
    await rm(folder, { recursive: true });
    await mkdir(folder);
    await writeFile(join(folder, 'c.yaml'), aManifest('c'));
    await follower.untilState('c:a');
    // It is watched under its new identity, too.
    await writeFile(join(folder, 'd.yaml'), aManifest('d'));
    await follower.untilState('c:a,d:a');
  });

  it('is taken up where it was left, whatever happened to it meanwhile', async () => {
    await writeFile(join(folder, 'a.yaml'), aManifest('a'));
    await writeFile(join(folder, 'b.yaml'), aManifest('b'));
    await writeFile(join(folder, 'c.yaml'), aManifest('c'));
    {
      await using follower = new Follower();
      await follower.untilState('a:a,b:a,c:a');
    }
    await writeFile(join(folder, 'a.yaml'), 'a: [');
    await rm(join(folder, 'b.yaml'));
    await rename(join(folder, 'c.yaml'), join(folder, 'd.yaml'));
    await using follower = new Follower();
    await follower.untilState('a:a,c:a');
    await untilTrue(() => follower.told.length === 1);
    expect(follower.told[0]).toContain('; default/a-n goes on as before');
    expect(follower.history.sort()).toEqual(['ADD a', 'ADD c']);
  });
});
