import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { DisposalStack } from '../../src/base/async/disposal-stack.js';
import {
  type Containerd,
  type ContainerdOptions,
  startContainerd,
} from '../containerd/harness/containerd.js';
import { type E2ePrograms } from './e2e-programs.js';
import { ImageRegistry } from './image-registry.js';
import { makeStandInImages, type StandInParts } from './stand-in-images.js';
import { listImages } from './suite-run.js';

/** What a {@link StandInContainerd} is made of. */
export interface StandInOptions {
  /** Absolute; made unless it is there. */
  readonly folder: string;
  readonly programs: E2ePrograms;
  readonly images: Pick<StandInParts, 'busybox' | 'lightPause'>;
  readonly containerd: Omit<ContainerdOptions, 'registryHosts'>;
}

/** A containerd that has an image for each that the suite uses, and a registry with the same for pods that insist on a pull. */
export class StandInContainerd implements AsyncDisposable {
  readonly containerd: Containerd;
  readonly #ends: DisposalStack;

  static async start({
    folder,
    programs,
    images,
    containerd: options,
  }: StandInOptions): Promise<StandInContainerd> {
    await mkdir(folder, { recursive: true });
    await using ends = new DisposalStack();
    const parts = { ...images, agnhost: programs.agnhost, searchPath: process.env['PATH'] ?? '' };
    const layout = await makeStandInImages(await listImages(programs), parts);
    const registry = ends.use(await ImageRegistry.start(layout));
    const registryHosts = path.join(folder, 'registry-hosts');
    await registry.writeHosts(registryHosts);
    const containerd = ends.use(await startContainerd({ ...options, registryHosts }));
    const archive = path.join(folder, 'images.tar');
    await writeFile(archive, layout.toTar());
    await containerd.ctr('images', 'import', archive);
    await rm(archive);
    return new StandInContainerd(containerd, ends.move());
  }

  private constructor(containerd: Containerd, ends: DisposalStack) {
    this.containerd = containerd;
    this.#ends = ends;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends[Symbol.asyncDispose]();
  }
}
