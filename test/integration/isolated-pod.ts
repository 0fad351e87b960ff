import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ContainerParts, EmbeddedNode, logLines } from './embedded-node.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';

type SecurityContext = NonNullable<NonNullable<ContainerParts['linux']>['securityContext']>;

/** Images besides {@link PROGRAM_IMAGE} that a test brings: a layer over that one, by name. */
export type MoreImages = Parameters<typeof writeProgramImage>[1][];

/** A pod in namespaces, for tests that attack from inside of a container. */
export class IsolatedPod implements AsyncDisposable {
  readonly node: EmbeddedNode;
  readonly sandbox: string;
  readonly #images: string;
  #count = 0;

  private constructor(node: EmbeddedNode, sandbox: string, images: string) {
    this.node = node;
    this.sandbox = sandbox;
    this.#images = images;
  }

  static async start(more: MoreImages = []): Promise<IsolatedPod> {
    const images = await mkdtemp(join(tmpdir(), 'podloop-images-'));
    await writeProgramImage(images);
    for (const image of more) await writeProgramImage(images, image);
    const node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none', imageDirs: [images] });
    const names = [PROGRAM_IMAGE, ...more.map((image) => image!.name)];
    for (const image of names) await node.client.pullImage({ image: { image } });
    return new IsolatedPod(node, await node.runPod('pod'), images);
  }

  /** Starts a container with a script as its program. */
  start(script: string, parts: ContainerParts = {}): Promise<string> {
    return this.node.run(this.sandbox, `c${this.#count++}`, script, {
      image: { image: PROGRAM_IMAGE },
      ...parts,
    });
  }

  /** Runs a script to its end, and returns the lines that it wrote. */
  async run(script: string, parts: ContainerParts = {}): Promise<string[]> {
    const name = `c${this.#count}`;
    const containerId = await this.start(script, parts);
    await this.node.exited(containerId);
    await this.remove(containerId);
    return logLines(await this.node.log(name)).map((line) => line.replace(/^std(out|err) [FP] /, ''));
  }

  /** Runs a script beside the program of a container that runs. */
  async exec(containerId: string, script: string): Promise<string[]> {
    const cmd = ['sh', '-c', `{ ${script}\n} 2>&1`];
    const { stdout } = await this.node.client.execSync({ containerId, cmd, timeout: 60n });
    return Buffer.from(stdout).toString().split('\n').slice(0, -1);
  }

  async remove(containerId: string): Promise<void> {
    await this.node.client.removeContainer({ containerId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
    await rm(this.#images, { recursive: true, force: true });
  }
}

/** What a container asks for by its security context alone. */
export function secured(securityContext: SecurityContext): ContainerParts {
  return { linux: { securityContext } };
}
