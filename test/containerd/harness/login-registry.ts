import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type ImageToMake, OciLayout } from '#support/fakes/oci-layout.js';

/** The password of user `me`. */
export const REGISTRY_PASSWORD = 'correct horse:battery';

/** A registry on loopback with one image, `team/app:1`, for one who knows the password. */
export class LoginRegistry implements AsyncDisposable {
  readonly #server: Server;
  readonly #files = new Map<string, { readonly type: string; readonly content: Buffer }>();

  static async start(image: Pick<ImageToMake, 'layers' | 'config'>): Promise<LoginRegistry> {
    const registry = new LoginRegistry(image);
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  private constructor(image: Pick<ImageToMake, 'layers' | 'config'>) {
    const layout = new OciLayout();
    const { manifest } = layout.addImage({ names: ['app'], ...image });
    for (const [name, content] of layout.toFiles()) {
      const digest = name.replace(/^blobs\/sha256\//, 'sha256:');
      this.#files.set(`/v2/team/app/blobs/${digest}`, { type: 'application/octet-stream', content });
      if (digest !== manifest.digest) continue;
      for (const reference of ['1', digest])
        this.#files.set(`/v2/team/app/manifests/${reference}`, { type: manifest.mediaType, content });
    }
    const expected = `Basic ${Buffer.from(`me:${REGISTRY_PASSWORD}`).toString('base64')}`;
    this.#server = createServer((request, response) => {
      if (request.headers.authorization !== expected) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
        return;
      }
      const file = this.#files.get(request.url?.split('?')[0] ?? '');
      if (file === undefined) response.writeHead(request.url === '/v2/' ? 200 : 404).end();
      else {
        const headers = { 'content-type': file.type, 'content-length': file.content.byteLength };
        response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : file.content);
      }
    });
  }

  /** Its address, `127.0.0.1:PORT`. */
  get place(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
