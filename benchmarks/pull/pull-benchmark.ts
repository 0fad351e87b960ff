/**
 * What a pull takes, beside containerd.
 *
 * In: a registry of this process, `podloop runtime` and a containerd, each a process of its own. Out: the time of a pull
 * through CRI until the image is unpacked, of an image that is not there and then of one that is, and the most memory that
 * the process had meanwhile. The two take turns, and each begins every other round.
 *
 * @module
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CriClient } from '#watch';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { startContainerd } from '../../test/containerd/harness/containerd.js';
import { type Release } from '../../test/containerd/harness/installed.js';
import { BenchProcess } from '../agents/bench-process.js';
import { type Progress } from '../progress.js';
import { makeRunFolder } from '../run-folder.js';
import { withDeadline } from '../with-deadline.js';
import { type PullFigures, type PullSide } from './judge-pull.js';
import { LayerRegistry } from './layer-registry.js';

export interface PullBenchmarkOptions {
  readonly release: Release;
  readonly layers: number;
  readonly megabytes: number;
  readonly rounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

const START_MS = 60_000;
const PULL_MS = 600_000;
const POLL_MS = 100;

/** Runs the benchmark. */
export async function runPullBenchmark(options: PullBenchmarkOptions): Promise<PullFigures> {
  const { release, layers, megabytes, rounds, progress, signal } = options;
  progress.begin(`pull: ${megabytes} MB in ${layers} layers`);
  await using endings = new DisposalStack();
  const folder = await makeRunFolder('pull');
  endings.use({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) });
  const blobs = path.join(folder, 'registry');
  await mkdir(blobs);
  const registry = await LayerRegistry.start(blobs, { layers, bytes: megabytes * 1e6 }, (done) =>
    progress.step(done, layers, 'layers'),
  );
  endings.use(registry);
  const podloop = await startPodloop(folder, registry.image, endings, signal);
  const containerd = await startContainerd({ version: release });
  endings.use(containerd);
  const other = new Puller(`containerd ${release}`, containerd.pid!, containerd.endpoint, registry.image);
  endings.defer(() => other.close());
  // What is loaded with the first pull is not judged.
  for (const puller of [podloop, other]) await puller.pullBoth(signal, false);
  for (let round = 0; round < rounds; round++) {
    const turns = round % 2 === 0 ? [podloop, other] : [other, podloop];
    for (const puller of turns) await puller.pullBoth(signal, true);
    progress.step(round + 1, rounds, 'rounds');
  }
  return { bytes: registry.bytes, layers, podloop: podloop.side, containerd: other.side };
}

async function startPodloop(
  folder: string,
  image: string,
  endings: DisposalStack,
  signal: AbortSignal,
): Promise<Puller> {
  const socket = `unix://${path.join(folder, 'cri.sock')}`;
  const hosts = ['--registry-config-path', path.join(folder, 'certs.d')];
  const child = await BenchProcess.start([
    ...['runtime', '--listen', socket, '--root', path.join(folder, 'root'), ...hosts],
  ]);
  endings.use(child);
  const trash = path.join(folder, 'root/images/temporary');
  const isRemoving = async (): Promise<boolean> => (await readdir(trash)).length > 0;
  const puller = new Puller('podloop', child.pid, socket, image, isRemoving);
  endings.defer(() => puller.close());
  await withDeadline('until podloop runtime answers', START_MS, signal, async (within) =>
    puller.untilUp(within),
  );
  return puller;
}

/** A side, and what it took so far. */
class Puller {
  readonly #name: string;
  readonly #pid: number;
  readonly #client: CriClient;
  readonly #image: string;
  /** Whether files of images that were removed are still there. */
  readonly #isRemoving: () => Promise<boolean>;
  readonly #coldMs: number[] = [];
  readonly #warmMs: number[] = [];
  readonly #peakMiB: number[] = [];

  constructor(
    name: string,
    pid: number,
    endpoint: string,
    image: string,
    isRemoving = async (): Promise<boolean> => Promise.resolve(false),
  ) {
    this.#name = name;
    this.#isRemoving = isRemoving;
    this.#pid = pid;
    this.#client = new CriClient({ endpoint });
    this.#image = image;
  }

  get side(): PullSide {
    const [coldMs, warmMs, peakMiB] = [this.#coldMs, this.#warmMs, this.#peakMiB];
    return { name: this.#name, coldMs, warmMs, peakMiB };
  }

  close(): void {
    this.#client.close();
  }

  async untilUp(signal: AbortSignal): Promise<void> {
    while ((await this.#client.version({}).catch(() => undefined)) === undefined)
      await sleep(POLL_MS, undefined, { signal });
  }

  /** Removes the image, pulls it, and pulls it again. */
  async pullBoth(signal: AbortSignal, counts: boolean): Promise<void> {
    await this.#client.removeImage({ image: { image: this.#image } });
    // containerd answers once its files are gone, podloop before.
    while (await this.#isRemoving()) await sleep(POLL_MS, undefined, { signal });
    // From here on the kernel counts the peak again.
    await writeFile(`/proc/${this.#pid}/clear_refs`, '5');
    const coldMs = await this.#pull(signal);
    const status = await readFile(`/proc/${this.#pid}/status`, 'latin1');
    const peakKiB = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]);
    const warmMs = await this.#pull(signal);
    if (!counts) return;
    this.#coldMs.push(coldMs);
    this.#warmMs.push(warmMs);
    this.#peakMiB.push(peakKiB / 1_024);
  }

  async #pull(signal: AbortSignal): Promise<number> {
    const began = performance.now();
    await withDeadline(`for ${this.#name} to pull`, PULL_MS, signal, async (within) =>
      this.#client.pullImage({ image: { image: this.#image } }, { signal: within }),
    );
    return performance.now() - began;
  }
}
