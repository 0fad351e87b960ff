import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import path from 'node:path';

import { type OciLayout } from '#support/fakes/oci-layout.js';

/** The parts of a layout's index that are read here. */
interface LayoutIndex {
  readonly manifests: readonly {
    readonly mediaType: string;
    readonly digest: string;
    readonly annotations?: Readonly<Record<string, string>>;
  }[];
}

/**
 * A registry on loopback with the images of a layout, under whatever registries' names they have: for pods that insist
 * on a pull. containerd says in `?ns=` which registry it means.
 */
export class ImageRegistry implements AsyncDisposable {
  readonly #server: Server;
  readonly #files: ReadonlyMap<string, Buffer>;
  readonly #index: LayoutIndex;

  static async start(layout: OciLayout): Promise<ImageRegistry> {
    const registry = new ImageRegistry(layout);
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  private constructor(layout: OciLayout) {
    this.#files = layout.toFiles();
    this.#index = JSON.parse(this.#files.get('index.json')!.toString()) as LayoutIndex;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /** Writes, for each registry that an image is named after, that this one is to be asked instead. */
  async writeHosts(folder: string): Promise<void> {
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    const names = this.#index.manifests.flatMap(({ annotations }) => Object.values(annotations ?? {}));
    for (const host of new Set(names.map((name) => name.slice(0, name.indexOf('/'))))) {
      await mkdir(path.join(folder, host), { recursive: true });
      const text = `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;
      await writeFile(path.join(folder, host, 'hosts.toml'), text);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://registry');
    const asked = /^\/v2\/(?<name>.+)\/(?<kind>manifests|blobs)\/(?<reference>[^/]+)$/.exec(url.pathname);
    if (asked?.groups === undefined) {
      response.writeHead(url.pathname === '/v2/' ? 200 : 404).end();
      return;
    }
    const { name, kind, reference } = asked.groups as Record<'name' | 'kind' | 'reference', string>;
    const whole = `${url.searchParams.get('ns') ?? ''}/${name}:${reference}`;
    const manifest =
      kind === 'manifests'
        ? this.#index.manifests.find(
            ({ annotations = {}, digest }) =>
              digest === reference || Object.values(annotations).includes(whole),
          )
        : undefined;
    const digest = manifest?.digest ?? reference;
    const content = this.#files.get(`blobs/${digest.replace(':', '/')}`);
    if (content === undefined || (kind === 'manifests' && manifest === undefined)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'content-type': manifest?.mediaType ?? 'application/octet-stream',
      'content-length': content.length,
      'docker-content-digest': digest,
    });
    response.end(request.method === 'HEAD' ? undefined : content);
  }
}
