import { cri, CriClient, findEndpoint, LABELS, parseEndpoint, probeEndpoint } from '#watch';
import { type Clock } from '#base/time/clock.js';

/** An image of a runtime, as CRI lists it. */
export type RuntimeImage = Readonly<
  Pick<cri.Image, 'id' | 'repoTags' | 'repoDigests' | 'size' | 'uid' | 'username' | 'pinned'>
>;

/** A container that was made from an image. */
export interface ImageUser {
  /** Ids and references by which the runtime names the image. */
  readonly images: readonly string[];
  /** `container "main" of pod default/web`, for messages. */
  readonly name: string;
  /** Whether it was started and has not ended. */
  readonly isRunning: boolean;
}

/** The images of any runtime that speaks CRI, for commands. */
export class RuntimeImages implements Disposable {
  /** `unix:///path` */
  readonly endpoint: string;
  readonly runtimeName: string;
  readonly #client: CriClient;
  readonly #signal: AbortSignal;

  private constructor(endpoint: string, runtimeName: string, client: CriClient, signal: AbortSignal) {
    this.endpoint = endpoint;
    this.runtimeName = runtimeName;
    this.#client = client;
    this.#signal = signal;
  }

  /** An empty endpoint means the runtime that is found on the machine. Rejects with an ENDPOINT_… error. */
  static async connect(endpoint: string, clock: Clock, signal: AbortSignal): Promise<RuntimeImages> {
    const { url } = endpoint === '' ? await findEndpoint() : parseEndpoint(endpoint);
    const { runtimeName } = await probeEndpoint(url, { signal, clock });
    return new RuntimeImages(url, runtimeName, new CriClient({ endpoint: url, clock }), signal);
  }

  /** In the order of their first references. */
  async list(): Promise<readonly RuntimeImage[]> {
    const { images } = await this.#client.listImages({}, { signal: this.#signal });
    const key = ({ repoTags, repoDigests, id }: RuntimeImage): string => repoTags[0] ?? repoDigests[0] ?? id;
    return images.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  /** Undefined for one that is not there. With `verbose`, what the runtime says of it besides. */
  async find(
    image: string,
    verbose = false,
  ): Promise<{ readonly image: RuntimeImage; readonly info: Readonly<Record<string, string>> } | undefined> {
    const request = { image: { image }, verbose };
    const { image: found, info } = await this.#client.imageStatus(request, { signal: this.#signal });
    return found === undefined ? undefined : { image: found, info };
  }

  /** The id, or the reference, of what was pulled. */
  async pull(image: string, auth?: Partial<cri.AuthConfig>): Promise<string> {
    const request = { image: { image }, ...(auth !== undefined && { auth }) };
    return (await this.#client.pullImage(request, { signal: this.#signal })).imageRef;
  }

  /** By an id with all names. By a name that name alone, and the image with its last one; containerd removes all names. */
  async remove(image: string): Promise<void> {
    await this.#client.removeImage({ image: { image } }, { signal: this.#signal });
  }

  /** All containers, with what they were made from. */
  async listUsers(): Promise<readonly ImageUser[]> {
    const { containers } = await this.#client.listContainers({}, { signal: this.#signal });
    return containers.map(({ id, imageRef, imageId, image, labels, metadata, state }) => {
      const pod = `${labels[LABELS.podNamespace] ?? ''}/${labels[LABELS.podName] ?? ''}`;
      const known = pod === '/' ? id.slice(0, 13) : `"${metadata?.name ?? ''}" of pod ${pod}`;
      return {
        images: [imageRef, imageId, image?.image ?? ''].filter((each) => each !== ''),
        name: `container ${known}`,
        isRunning: state === cri.ContainerState.CONTAINER_RUNNING,
      };
    });
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** The containers that were made from an image. */
export function findImageUsers(image: RuntimeImage, users: readonly ImageUser[]): readonly ImageUser[] {
  const names = new Set([image.id, ...image.repoTags, ...image.repoDigests]);
  return users.filter(({ images }) => images.some((each) => names.has(each)));
}
