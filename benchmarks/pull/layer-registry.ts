/**
 * A registry with one image of many layers, whose bytes are the same each time.
 *
 * In: a folder, and how large the layers are to be. Out: an address that both sides pull from. The layers are files that
 * gzip halves, as it does programs and libraries, and are sent from the disk.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { packTar } from '#support/builders/pack-tar.js';
import { createRandom } from '../stats.js';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const FILE_BYTES = 64 * 1024;
const WORDS = 'the quick brown fox jumps over the lazy dog. ';

interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly file: string;
}

/** See the module. */
export class LayerRegistry implements AsyncDisposable {
  /** The size of all layers, as they are sent. */
  readonly bytes: number;
  readonly #server: Server;

  private constructor(server: Server, bytes: number) {
    this.#server = server;
    this.bytes = bytes;
  }

  /** Makes the image: `layers` of them, together about `bytes` once they are compressed. */
  static async start(
    folder: string,
    { layers, bytes }: { readonly layers: number; readonly bytes: number },
    onLayer: (done: number) => void,
  ): Promise<LayerRegistry> {
    const blobs = new Map<string, Blob>();
    const add = async (content: Buffer): Promise<Blob> => {
      const digest = digestOf(content);
      const file = path.join(folder, digest.replace(':', '-'));
      await writeFile(file, content);
      const blob = { digest, size: content.length, file };
      blobs.set(digest, blob);
      return blob;
    };
    const made: Blob[] = [];
    const diffIds: string[] = [];
    for (let layer = 0; layer < layers; layer++) {
      const tar = makeLayer(layer, bytes / layers);
      diffIds.push(digestOf(tar));
      made.push(await add(await promisify(gzip)(tar)));
      onLayer(layer + 1);
    }
    const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
    const rootfs = { type: 'layers', diff_ids: diffIds };
    const config = await add(
      Buffer.from(JSON.stringify({ architecture, os: 'linux', config: { Cmd: ['/x'] }, rootfs })),
    );
    const manifest = await add(
      Buffer.from(
        JSON.stringify({
          ...{ schemaVersion: 2, mediaType: MANIFEST },
          config: refTo(config, 'application/vnd.oci.image.config.v1+json'),
          layers: made.map((blob) => refTo(blob, 'application/vnd.oci.image.layer.v1.tar+gzip')),
        }),
      ),
    );
    const server = createServer((request, response) => void answer(request, response, blobs, manifest));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new LayerRegistry(
      server,
      made.reduce((sum, { size }) => sum + size, 0),
    );
  }

  /** What is to be pulled. */
  get image(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}/bench:1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Files of which one half is noise and the other is words. */
function makeLayer(layer: number, bytes: number): Buffer {
  const random = createRandom(layer + 1);
  const words = Buffer.alloc(FILE_BYTES / 2, WORDS);
  const files = Math.max(1, Math.round(bytes / (FILE_BYTES / 2)));
  return packTar(
    Array.from({ length: files }, (_, at) => {
      const noise = Buffer.alloc(FILE_BYTES / 2);
      for (let place = 0; place < noise.length; place += 4)
        noise.writeUInt32LE(Math.floor(random() * 2 ** 32), place);
      return { name: `l${layer}/d${at % 20}/f${at}`, content: Buffer.concat([noise, words]) };
    }),
  );
}

async function answer(
  { url = '', method }: IncomingMessage,
  response: ServerResponse,
  blobs: ReadonlyMap<string, Blob>,
  manifest: Blob,
): Promise<void> {
  const [, kind, reference = ''] = /^\/v2\/bench\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
  const blob = kind === 'manifests' && reference === '1' ? manifest : blobs.get(reference);
  if (kind === undefined || blob === undefined) {
    response.writeHead(url === '/v2/' ? 200 : 404).end();
    return;
  }
  const { size } = await stat(blob.file);
  response.writeHead(200, {
    'content-length': size,
    'content-type': kind === 'manifests' ? MANIFEST : 'application/octet-stream',
    'docker-content-digest': blob.digest,
  });
  if (method === 'HEAD') response.end();
  else createReadStream(blob.file, { highWaterMark: 256 * 1024 }).pipe(response);
}

function refTo({ digest, size }: Blob, mediaType: string): object {
  return { mediaType, digest, size };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
