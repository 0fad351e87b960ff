import { cri, CRI_METHODS, type CriClient } from '../cri/index.js';
import { isUnimplemented, messageOf, PodloopError } from '#base/errors/errors.js';
import { groupByPod, toFilesystemUsage, toPodUsage } from './convert-usage.js';
import { type FilesystemUsage, type PodUsage, type RuntimeMetrics, type RuntimeSample } from './pod-usage.js';
import { readPodSamples } from './read-pod-samples.js';
import { SliceYielder } from '#base/async/slices.js';

/** Options of {@link CriPodUsage}. */
export interface CriPodUsageOptions {
  readonly client: Pick<
    CriClient,
    | 'callForBytes'
    | 'newReader'
    | 'connectionGeneration'
    | 'countMalformedMessage'
    | 'imageFsInfo'
    | 'listMetricDescriptors'
  >;
  /** Deadline of each call, in milliseconds. */
  readonly timeoutMs: number;
}

/** Where the runtime stores images, and where it stores what containers write. */
export interface ImageFilesystems {
  readonly images: FilesystemUsage | undefined;
  readonly containers: FilesystemUsage | undefined;
}

type ListMethod = (typeof CRI_METHODS)[
  'listPodSandboxStats' | 'listContainerStats' | 'listPodSandboxMetrics'];
type Optional = 'ListPodSandboxStats' | 'ListPodSandboxMetrics';

/**
 * Reads from a runtime what pods use: one call for all pods for each kind of data.
 *
 * A method that the runtime does not implement is tried once per connection. Answers may be megabytes long,
 * so they are decoded in slices.
 */
export class CriPodUsage {
  readonly #options: CriPodUsageOptions;
  readonly #unimplementedIn = new Map<Optional, number>();

  constructor(options: CriPodUsageOptions) {
    this.#options = options;
  }

  /**
   * The usage of every sandbox, ended ones included.
   *
   * If the runtime has no pod statistics (containerd before 1.7): every pod that has a container, without
   * network.
   */
  async listPods(signal?: AbortSignal): Promise<readonly PodUsage[]> {
    const pods = await this.#unlessUnimplemented('ListPodSandboxStats', async () => {
      const found: PodUsage[] = [];
      await this.#list('ListPodSandboxStats', CRI_METHODS.listPodSandboxStats, signal, (reader) => {
        found.push(toPodUsage(cri.PodSandboxStats.decode(reader)));
      });
      return found;
    });
    if (pods !== undefined) return pods;
    const containers: cri.ContainerStats[] = [];
    await this.#list('ListContainerStats', CRI_METHODS.listContainerStats, signal, (reader) => {
      containers.push(cri.ContainerStats.decode(reader));
    });
    return groupByPod(containers);
  }

  /** The runtime's own metrics; undefined if it has none. */
  async listMetrics(signal?: AbortSignal): Promise<RuntimeMetrics | undefined> {
    const { client, timeoutMs } = this.#options;
    return await this.#unlessUnimplemented('ListPodSandboxMetrics', async () => {
      const { descriptors } = await client.listMetricDescriptors({}, { signal, timeoutMs });
      const answer = await this.#ask(CRI_METHODS.listPodSandboxMetrics, signal);
      return {
        descriptors: new Map(
          descriptors.map(({ name, help, labelKeys }) => [name, { help, labelKeys }] as const),
        ),
        readSamples: async (isWanted, reading) => {
          const samples: RuntimeSample[] = [];
          await this.#read('ListPodSandboxMetrics', answer, reading, (item) => {
            for (const sample of readPodSamples(client, item, isWanted)) samples.push(sample);
          });
          return samples;
        },
      };
    });
  }

  /** How much the file systems of images and containers contain. */
  async imageFilesystems(signal?: AbortSignal): Promise<ImageFilesystems> {
    const { client, timeoutMs } = this.#options;
    const { imageFilesystems, containerFilesystems } = await client.imageFsInfo({}, { signal, timeoutMs });
    return {
      images: toFilesystemUsage(imageFilesystems[0]),
      containers: toFilesystemUsage(containerFilesystems[0] ?? imageFilesystems[0]),
    };
  }

  async #unlessUnimplemented<T>(method: Optional, ask: () => Promise<T>): Promise<T | undefined> {
    const { connectionGeneration } = this.#options.client;
    if (connectionGeneration !== 0 && this.#unimplementedIn.get(method) === connectionGeneration)
      return undefined;
    try {
      return await ask();
    } catch (error) {
      if (!isUnimplemented(error)) throw error;
      this.#unimplementedIn.set(method, this.#options.client.connectionGeneration);
      return undefined;
    }
  }

  async #list(
    name: string,
    method: ListMethod,
    signal: AbortSignal | undefined,
    read: (reader: ReturnType<CriClient['newReader']>) => void,
  ): Promise<void> {
    const { client } = this.#options;
    const answer = await this.#ask(method, signal);
    await this.#read(name, answer, signal, (item) => read(client.newReader(item)));
  }

  async #ask(method: ListMethod, signal: AbortSignal | undefined): Promise<Buffer> {
    const { client, timeoutMs } = this.#options;
    // The three requests are all empty.
    const ask = method as (typeof CRI_METHODS)['listPodSandboxStats'];
    return await client.callForBytes(ask, {}, { signal, timeoutMs });
  }

  async #read(
    name: string,
    answer: Buffer,
    signal: AbortSignal | undefined,
    read: (item: Buffer) => void,
  ): Promise<void> {
    const { client } = this.#options;
    try {
      await forEachItem(client, answer, signal, read);
    } catch (error) {
      signal?.throwIfAborted();
      client.countMalformedMessage();
      const message = `the answer to ${name} cannot be decoded: ${messageOf(error)}`;
      throw new PodloopError('CRI_MALFORMED_RESPONSE', message, { cause: error });
    }
  }
}

/** How much of an answer is decoded between two turns of the event loop: about two milliseconds' worth. */
const BYTES_PER_SLICE = 64 * 1024;
const LIST_FIELD = 1;
const LENGTH_DELIMITED = 2;

/**
 * Calls `read` with the bytes of each item of a list answer (its field 1), with turns of the event loop
 * between.
 *
 * Other fields are skipped. Throws the decoder's error for bytes that are not a message.
 */
async function forEachItem(
  client: Pick<CriClient, 'newReader'>,
  answer: Buffer,
  signal: AbortSignal | undefined,
  read: (item: Buffer) => void,
): Promise<void> {
  const slices = new SliceYielder({ itemsPerSlice: BYTES_PER_SLICE });
  const reader = client.newReader(answer);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field !== LIST_FIELD || (wireType as number) !== LENGTH_DELIMITED) {
      reader.skip(wireType, field);
      continue;
    }
    const { length } = reader.bytes();
    read(answer.subarray(reader.pos - length, reader.pos));
    if (slices.isFull(length)) {
      await slices.nextSlice();
      signal?.throwIfAborted();
    }
  }
}
