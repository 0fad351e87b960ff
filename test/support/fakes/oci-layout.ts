import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { packTar, type TarMember } from '../builders/pack-tar.js';

/** An image that a test wants. */
export interface ImageToMake {
  /** Its names: `io.containerd.image.name` of one entry of the index each. None: it is there by digest alone. */
  readonly names?: readonly string[];
  /** From the lowest to the highest: members, or an archive as it is. */
  readonly layers: readonly (readonly TarMember[] | Buffer)[];
  /** As it stands in the config: `{ Entrypoint, Cmd, Env, User, WorkingDir … }`. */
  readonly config?: object;
  /** Default: this machine's; null for a layout without it. */
  readonly architecture?: string | null;
  readonly compression?: 'none' | 'gzip';
}

/** A pointer to a blob, as it stands in an index or a manifest. */
export interface BlobRef {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: object;
}

/** What {@link OciLayout.addImage} made. */
export interface MadeImage {
  /** The digest of its config: the id that a runtime gives it. */
  readonly id: string;
  readonly manifest: BlobRef;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * Puts OCI image layouts together, in memory and without asking anybody.
 *
 * ```ts
 * const layout = new OciLayout();
 * layout.addImage({ names: ['example.test/a:1'], layers: [[{ name: 'etc/motd', content: 'hello' }]] });
 * await writeFile('a.tar', layout.toTar());
 * ```
 */
export class OciLayout {
  readonly #blobs = new Map<string, Buffer>();
  readonly #entries: BlobRef[] = [];

  /** Adds an image with its blobs, and an entry of the index for each of its names. */
  addImage(image: ImageToMake): MadeImage {
    const { names = [] } = image;
    const made = this.addManifest(image);
    if (names.length === 0) this.addEntry(made.manifest);
    for (const name of names)
      this.addEntry({ ...made.manifest, annotations: { 'io.containerd.image.name': name } });
    return made;
  }

  /** Adds an image's blobs, and no entry of the index. */
  addManifest({ layers, config = {}, architecture, compression = 'none' }: ImageToMake): MadeImage {
    const archives = layers.map((layer) => (Buffer.isBuffer(layer) ? layer : packTar(layer)));
    const configRef = this.addJson('application/vnd.oci.image.config.v1+json', {
      ...(architecture === null
        ? {}
        : { architecture: architecture ?? ARCHITECTURES[process.arch] ?? process.arch, os: 'linux' }),
      config,
      rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
    });
    const layerRefs = archives.map((archive) =>
      compression === 'gzip'
        ? this.addBlob('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(archive))
        : this.addBlob('application/vnd.oci.image.layer.v1.tar', archive),
    );
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const manifest = this.addJson(mediaType, {
      schemaVersion: 2,
      mediaType,
      config: configRef,
      layers: layerRefs,
    });
    return { id: configRef.digest, manifest };
  }

  /** Adds an index blob (of several platforms, say), and no entry of the index of the layout. */
  addIndex(manifests: readonly BlobRef[]): BlobRef {
    const mediaType = 'application/vnd.oci.image.index.v1+json';
    return this.addJson(mediaType, { schemaVersion: 2, mediaType, manifests });
  }

  /** Adds an entry of the index of the layout. */
  addEntry(entry: BlobRef): void {
    this.#entries.push(entry);
  }

  addBlob(mediaType: string, content: Buffer): BlobRef {
    const digest = digestOf(content);
    this.#blobs.set(digest, content);
    return { mediaType, digest, size: content.length };
  }

  addJson(mediaType: string, value: object): BlobRef {
    return this.addBlob(mediaType, Buffer.from(JSON.stringify(value)));
  }

  /** Puts other bytes under a digest: for layouts that lie. */
  corruptBlob(digest: string, content: Buffer): void {
    this.#blobs.set(digest, content);
  }

  /** The files of the layout, by path relative to its folder. */
  toFiles(): Map<string, Buffer> {
    const json = (value: object) => Buffer.from(JSON.stringify(value));
    return new Map([
      ['oci-layout', json({ imageLayoutVersion: '1.0.0' })],
      ['index.json', json({ schemaVersion: 2, manifests: this.#entries })],
      ...[...this.#blobs].map(([digest, content]): [string, Buffer] => [
        `blobs/${digest.replace(':', '/')}`,
        content,
      ]),
    ]);
  }

  /** The layout as a tar, as `ctr images import` and `docker load` take it. */
  toTar(): Buffer {
    return packTar([...this.toFiles()].map(([name, content]) => ({ name, content, mode: 0o644 })));
  }
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
