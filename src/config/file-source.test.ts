import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as realSleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type NodePod } from '../model/node-pod.js';
import { FakeClock } from '../testing/fake-clock.js';
import { type LogFields, SILENT_LOGGER } from '../util/logger.js';
import { sourceLookEnded } from '../util/config-channels.js';
import { formatConfigProblem } from './config-problem.js';
import { FILE_SOURCE, FileSource, type FileSourceOptions } from './file-source.js';
import { type FolderChange } from './watch-folder.js';
import { type FileContent, type FolderLook, type ManifestFiles, ManifestFolder } from './manifest-folder.js';
import { aboutFile } from './manifest-reader.js';
import { INLINE_PARSER, type ManifestParser } from './parse-manifest.js';
import { PodConfig } from './pod-config.js';
import { ProblemBook } from './problem-book.js';

const manifest = (name: string, image = 'a'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { containers: [{ name: c, image: ${image} }] }\n`;
const BROKEN = 'apiVersion: v1\nkind: Pod\nmetadata: { name: [';

const LIMIT_MS = 30_000;

/** The disk; a call may be made to fail or to hang. */
class Disk implements ManifestFiles {
  readonly #folder: ManifestFolder;
  inFlight = 0;
  lookFailure: Error | undefined;
  readFailures = new Map<string, string>();
  hang: Promise<void> | undefined;

  constructor(path: string) {
    this.#folder = new ManifestFolder(path);
  }

  async look(wasFile: boolean): Promise<FolderLook> {
    if (this.hang !== undefined) await this.hang;
    if (this.lookFailure !== undefined) throw this.lookFailure;
    return this.#counted(this.#folder.look(wasFile));
  }

  async read(folder: string, name: string): Promise<FileContent> {
    const why = this.readFailures.get(name);
    if (why !== undefined) return { kind: 'unreadable', why };
    return this.#counted(this.#folder.read(folder, name));
  }

  async #counted<T>(call: Promise<T>): Promise<T> {
    this.inFlight++;
    try {
      return await call;
    } finally {
      this.inFlight--;
    }
  }
}

/** A source over a real folder, with a clock and a watch that the test moves. */
class Lab implements AsyncDisposable {
  readonly root: string;
  readonly folder: string;
  clock = new FakeClock();
  disk: Disk;
  told: string[] = [];
  solved: string[] = [];
  logged: string[] = [];
  config = new PodConfig();
  deliveries: (readonly NodePod[])[] = [];
  problems = new ProblemBook();
  looks = 0;
  watched: string[] = [];
  touch: (name?: string, change?: FolderChange) => void = () => undefined;
  #stop = new AbortController();
  #running: Promise<void> | undefined;
  readonly #leave = sourceLookEnded.subscribe(({ source }) => {
    if (source === FILE_SOURCE) this.looks++;
  });

  private constructor(root: string) {
    this.root = root;
    this.folder = join(root, 'pods');
    this.disk = new Disk(this.folder);
  }

  static async open({ withFolder = true } = {}): Promise<Lab> {
    const lab = new Lab(await mkdtemp(join(tmpdir(), 'podloop-file-source-')));
    if (withFolder) await mkdir(lab.folder);
    return lab;
  }

  get lastGoodFolder(): string {
    return join(this.root, 'last-good');
  }

  /** Starts an agent's part anew; `path` is below the root. */
  start(path = 'pods', options: Partial<FileSourceOptions> = {}): void {
    this.#stop = new AbortController();
    this.clock = new FakeClock();
    this.disk = new Disk(join(this.root, path));
    [this.told, this.solved, this.deliveries, this.looks] = [[], [], [], 0];
    const strip = (text: string): string => text.replaceAll(`${this.root}/`, '');
    this.problems = new ProblemBook({
      onProblem: (problem) => this.told.push(strip(formatConfigProblem(problem))),
      onSolved: (problem) => this.solved.push(strip(formatConfigProblem(problem))),
    });
    this.config = new PodConfig({ problems: this.problems });
    const port = this.config.addSource(FILE_SOURCE);
    const source = new FileSource({
      ...{ path: join(this.root, path), nodeName: 'node', problems: this.problems, parser: INLINE_PARSER },
      ...{ lastGoodFolder: this.lastGoodFolder, clock: this.clock, files: this.disk },
      port: {
        deliver: (pods, delivery) => {
          this.deliveries.push(pods);
          port.deliver(pods, delivery);
        },
      },
      logger: {
        ...SILENT_LOGGER,
        info: (message: string, fields: LogFields = {}, v = 0) => {
          if (v === 0) this.logged.push(`${message} ${strip(String(fields['path']))}`);
        },
        warn: (message: string) => this.logged.push(message),
      },
      watch: (folder, { onChange }) => {
        this.watched.push(strip(folder));
        this.touch = (name, change) => onChange(name, change);
        return { close: () => (this.touch = () => undefined) };
      },
      ...options,
    });
    this.#running = source.run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#running = undefined;
  }

  async put(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
    this.touch(name);
  }

  /** As tools do that write a file elsewhere first. */
  async moveIn(name: string, text: string): Promise<void> {
    await writeFile(join(this.root, 'elsewhere'), text);
    await rename(join(this.root, 'elsewhere'), join(this.folder, name));
    this.touch(name, 'named');
  }

  /** `name:image`, sorted, of the last delivery. */
  get pods(): string[] {
    const last = this.deliveries.at(-1) ?? [];
    return last.map(({ metadata, spec }) => `${metadata.name}:${spec.containers[0]!.image}`).sort();
  }

  async until(condition: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + LIMIT_MS;
    while (!condition()) {
      if (performance.now() > giveUpAt) {
        throw new Error(
          `in vain waited for ${condition.toString()}: ${JSON.stringify([this.pods, this.told])}`,
        );
      }
      await this.#step();
    }
  }

  /** Lets so much time go by, looks and what they read included. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + ms;
    while (this.clock.monotonicMs() < untilMs) await this.#step();
  }

  /** Time stands still while the real disk works: else it would seem to hang. */
  async #step(): Promise<void> {
    if (this.disk.inFlight > 0) await realSleep(1);
    else await this.clock.advance(25);
  }

  async untilPods(...pods: string[]): Promise<void> {
    await this.until(() => this.pods.join() === [...pods].sort().join() && this.deliveries.length > 0);
  }

  async moreLooks(count: number): Promise<void> {
    const enough = this.looks + count;
    await this.until(() => this.looks >= enough);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#leave();
    await rm(this.root, { recursive: true, force: true });
  }
}

describe('a folder of manifests', () => {
  it('is read, watched, and read again', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    await lab.put('b.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
    lab.start();
    await lab.untilPods('a-node:a');
    expect(lab.watched).toEqual(['pods']);
    await lab.put('c.yml', `${manifest('c')}---\n${manifest('d')}`);
    await lab.untilPods('a-node:a', 'c-node:a', 'd-node:a');
    await lab.put('a.yaml', manifest('a', 'b'));
    await lab.untilPods('a-node:b', 'c-node:a', 'd-node:a');
    await rm(join(lab.folder, 'c.yml'));
    await lab.untilPods('a-node:b');
    expect(lab.told).toEqual([]);
  });

  it('is looked at again although nobody said that something happened', async () => {
    await using lab = await Lab.open();
    lab.start('pods', { watch: () => ({ close: () => undefined }) });
    await lab.moreLooks(1);
    await lab.put('a.yaml', manifest('a'));
    await lab.untilPods('a-node:a');
  });

  it('is handed out again only when something about it has changed, however that is found', async () => {
    await using lab = await Lab.open();
    await lab.put('one.yaml', manifest('one'));
    await lab.put('two.yaml', manifest('two'));
    lab.start('pods', { fileCheckFrequencyMs: 1_000 });
    await lab.untilPods('one-node:a', 'two-node:a');
    await lab.moreLooks(2);
    const before = lab.deliveries.length;
    await lab.moreLooks(5);
    lab.touch('one.yaml');
    await lab.moreLooks(2);
    expect(lab.deliveries.length).toBe(before);
    // Nobody is told of these, and each is of the same length as what was there.
    await writeFile(join(lab.folder, 'one.yaml'), manifest('one', 'b'));
    await lab.untilPods('one-node:b', 'two-node:a');
    await rename(join(lab.folder, 'one.yaml'), join(lab.folder, 'old.yaml'));
    await lab.moreLooks(5);
    expect(lab.pods).toEqual(['one-node:b', 'two-node:a']);
    await rm(join(lab.folder, 'old.yaml'));
    await lab.untilPods('two-node:a');
    await rm(lab.folder, { recursive: true });
    await lab.until(() => lab.told.length > 0);
    await mkdir(lab.folder);
    await writeFile(join(lab.folder, 'two.yaml'), manifest('two'));
    const whileMissing = lab.deliveries.length;
    await lab.until(() => lab.solved.length > 0);
    expect([lab.pods, lab.deliveries.length > whileMissing]).toEqual([['two-node:a'], true]);
  });

  it('is looked at from time to time where it cannot be watched', async () => {
    await using lab = await Lab.open();
    const watch = (): never => {
      throw new Error('no space for watches');
    };
    lab.start('pods', { watch });
    await lab.moreLooks(2);
    await lab.put('a.yaml', manifest('a'));
    await lab.untilPods('a-node:a');
    expect(lab.logged).toEqual(['Manifests cannot be watched, and are looked at from time to time']);
  });

  it('has files that are no manifests: some are passed over, of others it is said', async () => {
    await using lab = await Lab.open();
    for (const name of ['.a.yaml', 'a.yaml~', '#a.yaml#', 'a.yaml.bak', '.a.yaml.swp', '4913', 'x.txt']) {
      await lab.put(name, manifest('hidden'));
    }
    await mkdir(join(lab.folder, 'below.yaml'));
    await lab.put('etcd.manifest', manifest('etcd'));
    lab.start();
    await lab.untilPods('etcd-node:a');
    await lab.moreLooks(2);
    expect(lab.logged).toEqual(['Ignoring a file that is no manifest by its name or kind pods/x.txt']);
    expect(lab.told).toEqual([]);
  });

  it('is handed out while it is read, but for pods whose objects may be in what is still unread', async () => {
    await using lab = await Lab.open();
    const settings =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\n' + '# long\n'.repeat(99);
    const wanting = manifest('wanting').replace(
      ' }] }',
      ', envFrom: [{ configMapRef: { name: settings } }] }] }',
    );
    await lab.put('wanting.yaml', wanting);
    await lab.put('web.yaml', manifest('web'));
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

    await lab.put('more.yaml', manifest('more'));
    await lab.until(() => lab.pods.length === 3);
    expect(lab.deliveries.every((pods, index) => index < 3 || pods.length > 1)).toBe(true);
  });

  it('may be replaced by another', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rename(lab.folder, join(lab.root, 'old'));
    await mkdir(lab.folder);
    await writeFile(join(lab.folder, 'b.yaml'), manifest('b'));
    await lab.untilPods('b-node:a');
    expect(lab.watched).toEqual(['pods', 'pods']);
  });

  it('may be missing at first, and come', async () => {
    await using lab = await Lab.open({ withFolder: false });
    lab.start();
    await lab.until(() => lab.deliveries.length > 0);
    expect(lab.pods).toEqual([]);
    expect(lab.config.seenAllSources()).toBe(true);
    expect(lab.told).toEqual(['pods: does not exist; it is read once it does']);
    await mkdir(lab.folder);
    await lab.put('a.yaml', manifest('a'));
    await lab.untilPods('a-node:a');
    expect(lab.solved).toHaveLength(1);
  });
});

describe('a single manifest', () => {
  it('may have any name, is replaced, removed, and put back', async () => {
    await using lab = await Lab.open();
    await lab.put('web', manifest('web'));
    await lab.put('other.yaml', manifest('other'));
    lab.start('pods/web');
    await lab.untilPods('web-node:a');
    await writeFile(join(lab.folder, '.new'), manifest('web', 'b'));
    await rename(join(lab.folder, '.new'), join(lab.folder, 'web'));
    lab.touch('web');
    await lab.untilPods('web-node:b');
    await rm(join(lab.folder, 'web'));
    await lab.untilPods();
    await lab.put('web', manifest('web'));
    await lab.untilPods('web-node:a');
  });

  it('that was removed while nobody looked is gone, and one that is broken is not', async () => {
    await using lab = await Lab.open();
    await lab.put('web', manifest('web'));
    lab.start('pods/web');
    await lab.untilPods('web-node:a');
    await lab.stop();
    await lab.put('web', BROKEN);
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

describe('a file that changes', () => {
  it('is not judged before it stands still', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    for (let length = 30; length < 90; length += 12) {
      await lab.put('a.yaml', manifest('a', 'b').slice(0, length));
      await lab.moreLooks(1);
    }
    await lab.put('a.yaml', manifest('a', 'b'));
    await lab.untilPods('a-node:b');
    expect(lab.told).toEqual([]);
  });

  it('is judged at once when it was moved here, and not before it stands still when it is empty or a link', async () => {
    await using lab = await Lab.open();
    lab.start('pods', { settleMs: 1_000_000, fileCheckFrequencyMs: 2_000_000 });
    await lab.until(() => lab.looks > 0);
    await lab.moveIn('a.yaml', manifest('a'));
    await lab.untilPods('a-node:a');
    await lab.moveIn('a.yaml', manifest('a', 'b'));
    await lab.untilPods('a-node:b');
    await lab.moveIn('a.yaml', '');
    await writeFile(join(lab.root, 'other'), manifest('b'));
    await link(join(lab.root, 'other'), join(lab.folder, 'b.yaml'));
    await symlink(join(lab.root, 'other'), join(lab.folder, 'c.yaml'));
    for (const name of ['b.yaml', 'c.yaml']) lab.touch(name, 'named');
    const looks = lab.looks;
    await lab.until(() => lab.looks > looks);
    await lab.pass(1_000);
    expect(lab.pods).toEqual(['a-node:b']);
  });

  it('keeps its pod when it is saved by removing it and writing it anew', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rm(join(lab.folder, 'a.yaml'));
    lab.touch('a.yaml');
    const looks = lab.looks;
    await lab.until(() => lab.looks > looks);
    await lab.put('a.yaml', manifest('a', 'b'));
    await lab.untilPods('a-node:b');
    expect(lab.deliveries.every((pods) => pods.length === 1)).toBe(true);
  });

  it('keeps its pod when it is renamed, broken or not', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rename(join(lab.folder, 'a.yaml'), join(lab.folder, 'z.yaml'));
    lab.touch();
    await lab.moreLooks(5);
    await lab.put('z.yaml', BROKEN);
    await lab.until(() => lab.told.length > 0);
    await rename(join(lab.folder, 'z.yaml'), join(lab.folder, 'b.yaml'));
    lab.touch();
    await lab.until(() => lab.told.some((line) => line.startsWith('pods/b.yaml')));
    await lab.moreLooks(5);
    expect(lab.pods).toEqual(['a-node:a']);
    expect(lab.deliveries.every((pods) => pods.length === 1)).toBe(true);
    expect(await readdir(lab.lastGoodFolder)).toHaveLength(1);
  });

  it('that never stands still is named, and keeps its pod', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start('pods', { fileCheckFrequencyMs: 2_000 });
    await lab.untilPods('a-node:a');
    let count = 0;
    while (lab.told.length === 0) {
      await lab.put('a.yaml', `${manifest('a')}# ${count++}\n`.repeat(1 + (count % 3)));
      await lab.moreLooks(1);
    }
    expect(lab.told).toEqual([
      'pods/a.yaml: is written to again and again, and is read once that ends; default/a-node goes on as before',
    ]);
    await lab.put('a.yaml', manifest('a', 'b'));
    await lab.untilPods('a-node:b');
    expect(lab.solved).toHaveLength(1);
  });
});

describe('a bad file', () => {
  it('keeps its pod and harms no other; it is told of once, and so is its end', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    await lab.put('b.yaml', manifest('b'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', BROKEN);
    await lab.put('b.yaml', manifest('b', 'b'));
    await lab.untilPods('a-node:a', 'b-node:b');
    await lab.until(() => lab.told.length > 0);
    await lab.moreLooks(4);
    expect(lab.told).toEqual([
      expect.stringMatching(/^pods\/a\.yaml:3:\d+: .*; default\/a-node goes on as before$/),
    ]);
    expect(lab.problems.problems()).toHaveLength(1);
    await lab.put('a.yaml', manifest('a', 'b'));
    await lab.untilPods('a-node:b', 'b-node:b');
    expect(lab.problems.problems()).toEqual([]);
    expect(lab.solved).toHaveLength(1);
  });

  it('keeps its pod over a restart, also a second one', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', `${manifest('a')}---\n${manifest('b')}`);
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    const [before] = lab.deliveries.slice(-1);
    await lab.stop();
    await lab.put('a.yaml', `${manifest('a')}---\n${manifest('b').replace('image', 'imag')}`);
    for (let restart = 0; restart < 2; restart++) {
      lab.start();
      await lab.untilPods('a-node:a', 'b-node:a');
      expect(lab.deliveries.at(-1)).toEqual(before);
      expect(lab.told[0]).toMatch(/^pods\/a\.yaml:9:\d+: .*; default\/b-node goes on as before$/);
      await lab.stop();
    }
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    expect(lab.told).toEqual([]);
  });

  it('says nothing of a pod that is still in it, and takes no pod that is', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', `${manifest('a')}---\n${manifest('b')}`);
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', `${manifest('b', 'new')}---\n${manifest('c').replace('image', 'imag')}`);
    await lab.untilPods('a-node:a', 'b-node:new');
  });

  it('is one in which nothing is written, but not one that has an empty List', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
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
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    lab.disk.readFailures.set('a.yaml', 'EIO: the disk is ill');
    await lab.put('a.yaml', manifest('a', 'b'));
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
    await using lab = await Lab.open();
    await writeFile(join(lab.root, 'real'), manifest('a'));
    await symlink(join(lab.root, 'real'), join(lab.folder, 'a.yaml'));
    lab.start();
    await lab.untilPods('a-node:a');
    await rename(join(lab.root, 'real'), join(lab.root, 'elsewhere'));
    lab.touch();
    await lab.until(() => lab.told.length > 0);
    expect(lab.told[0]).toContain('a link that leads nowhere');
    expect(lab.pods).toEqual(['a-node:a']);
    await writeFile(join(lab.root, 'real'), manifest('a', 'b'));
    await lab.untilPods('a-node:b');
  });

  it('is one that the parser gave up; another content is tried at once, the same one later', async () => {
    await using lab = await Lab.open();
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
    await lab.put('a.yaml', `${manifest('a')}# hard`);
    lab.start('pods', { parser });
    await lab.until(() => lab.told.length > 0);
    expect(lab.told).toEqual(['pods/a.yaml: reading it takes longer than 10 s']);
    expect(parses).toBe(1);
    // Time went by while the first version was brought to the disk.
    await lab.pass(parsedAtMs + 50_000 - lab.clock.monotonicMs());
    expect(lab.looks).toBeGreaterThan(2);
    expect(parses).toBe(1);
    await lab.until(() => parses === 2);
    await lab.put('a.yaml', manifest('a'));
    await lab.untilPods('a-node:a');
  });

  it('is the second one that names a pod; it takes the place once the first is gone', async () => {
    await using lab = await Lab.open();
    await lab.put('b.yaml', manifest('web', 'b'));
    lab.start();
    await lab.untilPods('web-node:b');
    await lab.put('c.yaml', manifest('web', 'c'));
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
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
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
    // Nothing may be cleared up of which nobody can say whether it is wanted; of a folder that is missing one can.
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

describe('what was good', () => {
  it('is on disk before it is delivered, and written again only when it changes', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    const [record] = await readdir(lab.lastGoodFolder);
    const path = join(lab.lastGoodFolder, record!);
    const text = await readFile(path, 'utf8');
    expect(text).toContain('"metadata":{"name":"a"}');
    await lab.stop();
    // A link to it tells whether it was replaced.
    await link(path, join(lab.root, 'same'));
    await writeFile(join(lab.root, 'same'), `${text} `);
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.moreLooks(2);
    expect(await readFile(path, 'utf8')).toBe(`${text} `);
  });

  it('is forgotten with its file, also while nobody looked', async () => {
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    await lab.put('b.yaml', manifest('b'));
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
    await using lab = await Lab.open();
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.stop();
    const [record] = await readdir(lab.lastGoodFolder);
    await writeFile(join(lab.lastGoodFolder, record!), '{');
    await lab.put('a.yaml', BROKEN);
    lab.start();
    await lab.until(() => lab.told.length === 2);
    expect(lab.told.join('\n')).toContain(`the last good version in ${record!} cannot be read`);
    await lab.moreLooks(3);
    expect(lab.config.seenAllSources()).toBe(false);
    await lab.put('a.yaml', 'apiVersion: v1\nkind: List\nitems: []\n');
    await lab.until(() => lab.config.seenAllSources());
  });

  it('and cannot be written is told of, and delivered all the same', async () => {
    await using lab = await Lab.open();
    await writeFile(lab.lastGoodFolder, 'a file where the folder should be');
    await lab.put('a.yaml', manifest('a'));
    lab.start();
    await lab.untilPods('a-node:a');
    await lab.until(() => lab.told.length > 0);
    expect(lab.told.join('\n')).toContain('pods/a.yaml: its good version cannot be kept');
  });
});

describe('a start after another one', () => {
  const HANGING: ManifestParser = {
    parse: async (_, signal) =>
      new Promise((__, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      }),
  };

  async function openAfterFirst(text = manifest('a')): Promise<Lab> {
    const lab = await Lab.open();
    await lab.put('a.yaml', text);
    await lab.put('b.yaml', manifest('b'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.stop();
    return lab;
  }

  it('hands out all that is as it was at the first look, before anything is parsed', async () => {
    await using lab = await openAfterFirst();
    lab.start('pods', { parser: HANGING });
    await lab.untilPods('a-node:a', 'b-node:a');
    expect(lab.deliveries).toHaveLength(1);
  });

  it('tells soon afterwards what a newer podloop finds wrong with it, and keeps it running', async () => {
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
    await lab.put('b.yaml', manifest('b', 'new'));
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:new');
    expect(lab.deliveries[0]!.map(({ spec }) => spec.containers[0]!.image)).toEqual(['a', 'new']);
  });

  it('knows a file whose words were changed and not its meaning', async () => {
    await using lab = await openAfterFirst();
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', `# as before\n${manifest('a')}`);
    await lab.pass(1_000);
    await lab.stop();
    lab.start('pods', { parser: HANGING });
    await lab.untilPods('a-node:a', 'b-node:a');
  });

  it('follows a change of what was not parsed yet', async () => {
    await using lab = await openAfterFirst();
    lab.start();
    await lab.untilPods('a-node:a', 'b-node:a');
    await lab.put('a.yaml', manifest('a', 'new'));
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

  it('waits for no file that cannot be read, and tells of it', async () => {
    await using lab = await openAfterFirst();
    lab.start();
    lab.disk.readFailures.set('a.yaml', 'EIO');
    await lab.until(() => lab.told.length > 0);
    expect(lab.told[0]).toContain('cannot be read: EIO');
    expect(lab.pods).toEqual(['a-node:a', 'b-node:a']);
  });
});
