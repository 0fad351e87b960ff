import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const MAX_TAR_BYTES = 256 * 1024 * 1024;

/** A packed layer, ready for any number of images. */
export interface Layer {
  readonly blob: BlobRef;
  /** The digest of the tar inside. */
  readonly diffId: string;
}

export interface BlobRef {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The part of the OCI image configuration that containers are started with. */
export interface ImageDefaults {
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
}

/**
 * An OCI image layout (image-spec 1.1) in the making: a folder with blobs, and an index that is written last, by
 * {@link close}. Names go into containerd's annotation, whole; one image may have several.
 */
export class ImageLayout {
  readonly #folder: string;
  readonly #manifests: object[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(folder: string): Promise<ImageLayout> {
    await mkdir(path.join(folder, 'blobs/sha256'), { recursive: true });
    return new ImageLayout(folder);
  }

  /** Packs a folder as it is, but owned by root, as a gzipped layer. */
  async addLayer(root: string): Promise<Layer> {
    // The form of GNU tar's own default: a reader has to know it anyway.
    const args = [
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mtime=@0',
      '--sort=name',
      '-C',
      root,
      '-c',
      '.',
    ];
    const { stdout } = await promisify(execFile)('tar', args, {
      encoding: 'buffer',
      maxBuffer: MAX_TAR_BYTES,
    });
    const blob = await this.#addBlob(gzipSync(stdout), 'application/vnd.oci.image.layer.v1.tar+gzip');
    return { blob, diffId: digestOf(stdout) };
  }

  /** Adds one image under all its names. */
  async addImage(names: readonly string[], layers: readonly Layer[], config: ImageDefaults): Promise<void> {
    const configRef = await this.#addJson('application/vnd.oci.image.config.v1+json', {
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    });
    const manifest = await this.#addJson('application/vnd.oci.image.manifest.v1+json', {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: configRef,
      layers: layers.map(({ blob }) => blob),
    });
    for (const name of names)
      this.#manifests.push({ ...manifest, annotations: { 'io.containerd.image.name': name } });
  }

  async close(): Promise<void> {
    await this.#write('oci-layout', { imageLayoutVersion: '1.0.0' });
    await this.#write('index.json', { schemaVersion: 2, manifests: this.#manifests });
  }

  async #write(name: string, value: object): Promise<void> {
    await writeFile(path.join(this.#folder, name), JSON.stringify(value));
  }

  async #addJson(mediaType: string, value: object): Promise<BlobRef> {
    return this.#addBlob(Buffer.from(JSON.stringify(value)), mediaType);
  }

  async #addBlob(content: Buffer, mediaType: string): Promise<BlobRef> {
    const digest = digestOf(content);
    await writeFile(path.join(this.#folder, 'blobs', digest.replace(':', '/')), content);
    return { mediaType, digest, size: content.length };
  }
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
