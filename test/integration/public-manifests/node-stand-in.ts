import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { writeProgramImage } from '../program-image.js';

/** A profile that forbids nothing. */
const SECCOMP_PROFILE = JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW' });

/** What stand-ins want of their node, made below one folder: its paths and sockets, images for volumes, seccomp profiles. */
export class NodeStandIn implements AsyncDisposable {
  /** The root folder of the agent. */
  readonly rootDir: string;
  /** For `--image-dir`. */
  readonly imageDir: string;
  readonly #host: string;
  readonly #sockets = new Map<string, Server>();
  #images = 0;

  private constructor(folder: string) {
    this.rootDir = join(folder, 'node');
    this.imageDir = join(folder, 'images');
    this.#host = join(folder, 'host');
  }

  static async make(folder: string): Promise<NodeStandIn> {
    const node = new NodeStandIn(folder);
    await mkdir(node.imageDir);
    await writeProgramImage(node.imageDir);
    return node;
  }

  /** Makes what a hostPath of this type leads to, and returns where it is: each owner has paths of its own. */
  async addPath(owner: string, wanted: string, type: string): Promise<string> {
    const path = join(this.#host, owner, wanted);
    const isFolder = type !== 'Socket' && !type.startsWith('File');
    await mkdir(isFolder ? path : dirname(path), { recursive: true }).catch(() => undefined);
    if (type.startsWith('File')) await writeFile(path, '').catch(() => undefined);
    if (type === 'Socket') await this.#listen(path);
    return path;
  }

  /** Makes an image with these folders, and returns its name. */
  async addImage(folders: readonly string[]): Promise<string> {
    const name = `podloop.test/files:${++this.#images}`;
    const layout = new OciLayout();
    layout.addImage({ names: [name], layers: [['files', ...folders].map((each) => ({ name: `${each}/` }))] });
    for (const [file, content] of layout.toFiles()) {
      const path = join(this.imageDir, String(this.#images), file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
    }
    return name;
  }

  /** Makes a seccomp profile of this name. */
  async addSeccompProfile(name: string): Promise<void> {
    const path = join(this.rootDir, 'seccomp', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, SECCOMP_PROFILE);
  }

  async #listen(path: string): Promise<void> {
    if (this.#sockets.has(path)) return;
    const server = createServer((socket) => socket.destroy());
    this.#sockets.set(path, server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#sockets.values())
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
  }
}
