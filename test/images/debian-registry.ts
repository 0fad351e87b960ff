import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, type ReadStream } from 'node:fs';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { unpackDebianPackage } from '../critest/debian-package.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { type BuiltImage } from './debian-images.js';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';

/** The program of Debian's docker-registry, unpacked into the cache unless it is there. */
export async function unpackDebianRegistry(cache: string): Promise<string> {
  const unpacked = join(cache, 'docker-registry');
  const program = join(unpacked, 'usr/bin/docker-registry');
  await access(program).catch(async () => unpackDebianPackage('docker-registry', unpacked));
  return program;
}

/** Debian's docker-registry, unpacked and not installed, on a port of loopback. */
export class DebianRegistry implements AsyncDisposable {
  readonly host: string;
  readonly #process: ChildProcess;

  private constructor(host: string, process: ChildProcess) {
    this.host = host;
    this.#process = process;
  }

  /** `folder`: for what it stores; `cache`: for its program. */
  static async start(folder: string, cache: string): Promise<DebianRegistry> {
    const program = await unpackDebianRegistry(cache);
    const host = `127.0.0.1:${await findFreePort()}`;
    await mkdir(folder, { recursive: true });
    const config = join(folder, 'config.yml');
    const storage = `storage: { filesystem: { rootdirectory: ${join(folder, 'storage')} } }`;
    await writeFile(config, `version: 0.1\n${storage}\nhttp: { addr: "${host}" }\n`);
    const child = spawn(program, ['serve', config], { stdio: 'ignore' });
    const registry = new DebianRegistry(host, child);
    // Bounded by the limit of the test's preparation.
    while ((await fetch(`http://${host}/v2/`).catch(() => undefined))?.ok !== true) {
      if (child.exitCode !== null) throw new Error(`docker-registry ended with ${child.exitCode}`);
      await sleepFor(50);
    }
    return registry;
  }

  /** Pushes an image as `NAME:1`. */
  async push({ name, config, layers }: BuiltImage): Promise<void> {
    for (const { digest, file, size } of layers)
      await this.#pushBlob(name, { digest, size, open: () => createReadStream(file) });
    const content = Buffer.from(config);
    const ref = { mediaType: CONFIG, digest: digestOf(content), size: content.length };
    await this.#pushBlob(name, { ...ref, open: () => content });
    const manifest = {
      ...{ schemaVersion: 2, mediaType: MANIFEST, config: ref },
      layers: layers.map(({ digest, size }) => ({ mediaType: LAYER, digest, size })),
    };
    const body = Buffer.from(JSON.stringify(manifest));
    await this.#send('PUT', `/v2/${name}/manifests/1`, {
      type: MANIFEST,
      size: body.length,
      open: () => body,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill();
    await exited;
  }

  async #pushBlob(name: string, blob: { readonly digest: string } & Omit<Body, 'type'>): Promise<void> {
    const path = `/v2/${name}/blobs/${blob.digest}`;
    const { ok } = await fetch(`http://${this.host}${path}`, { method: 'HEAD' });
    if (ok) return;
    const begun = await fetch(`http://${this.host}/v2/${name}/blobs/uploads/`, { method: 'POST' });
    const place = new URL(begun.headers.get('location') ?? '', `http://${this.host}`);
    place.searchParams.set('digest', blob.digest);
    await this.#send('PUT', `${place.pathname}${place.search}`, {
      ...blob,
      type: 'application/octet-stream',
    });
  }

  async #send(method: string, path: string, { type, size, open }: Body): Promise<void> {
    const headers = { 'content-type': type, 'content-length': size };
    const call = request(`http://${this.host}${path}`, { method, headers });
    const content = open();
    if (Buffer.isBuffer(content)) call.end(content);
    else content.pipe(call);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const said = await text(response);
    if (response.statusCode !== 201) throw new Error(`${method} ${path}: ${response.statusCode} ${said}`);
  }
}

interface Body {
  readonly type: string;
  readonly size: number;
  readonly open: () => Buffer | ReadStream;
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
