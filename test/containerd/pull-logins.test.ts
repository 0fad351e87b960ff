/**
 * Images of a registry that asks who it is: a registry on loopback, a real containerd, and the Secrets of a pod.
 *
 * @module
 */
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/cri/index.js';
import { ImageManager } from '../../src/images/image-manager.js';
import { type Secret } from '../../src/model/config-object.js';
import { CriRuntimeChanges } from '../../src/runtime/cri-runtime-changes.js';
import { aNodePod, aSpecContainer } from '../../src/testing/node-pods.js';
import { OciLayout } from '../../src/testing/oci-layout.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { RELEASES } from './harness/installed.js';
import { findLeftovers } from './harness/leftovers.js';

const PASSWORD = 'correct horse:battery';
const NEVER = new AbortController().signal;

/** A registry with one small image, for one who knows the password. */
class Registry implements AsyncDisposable {
  readonly #server: Server;
  readonly #files = new Map<string, { readonly type: string; readonly content: Buffer }>();

  constructor() {
    const layout = new OciLayout();
    const image = layout.addImage({ names: ['app'], layers: [[{ name: 'motd', content: 'hello' }]] });
    for (const [name, content] of layout.toFiles()) {
      const digest = name.replace(/^blobs\/sha256\//, 'sha256:');
      this.#files.set(`/v2/team/app/blobs/${digest}`, { type: 'application/octet-stream', content });
      if (digest !== image.manifest.digest) continue;
      const manifest = { type: image.manifest.mediaType, content };
      for (const reference of ['1', digest]) this.#files.set(`/v2/team/app/manifests/${reference}`, manifest);
    }
    const expected = `Basic ${Buffer.from(`me:${PASSWORD}`).toString('base64')}`;
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

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe.each(RELEASES)('images of a registry that asks for a login, on containerd %s', (release) => {
  let containerd: Containerd;
  let client: CriClient;
  let registry: Registry;
  let place: string;
  beforeAll(async () => {
    registry = new Registry();
    place = await registry.listen();
    containerd = await startContainerd({ version: release });
    client = new CriClient({ endpoint: containerd.endpoint });
  });
  afterAll(async () => {
    client.close();
    await containerd[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    expect(await findLeftovers(containerd.names)).toEqual([]);
  });

  let told: string[];
  let secrets: Secret[];
  let images: ImageManager;
  beforeEach(() => {
    [told, secrets] = [[], []];
    images = new ImageManager({
      changes: new CriRuntimeChanges({ client }),
      events: { record: (_pod, { reason, message }) => void told.push(`${reason}: ${message}`) },
      objects: { findSecret: (_pod, name) => secrets.find(({ metadata }) => metadata.name === name) },
    });
  });

  const secretOf = (name: string, logins: Readonly<Record<string, string>>): Secret => {
    const auths = Object.entries(logins).map(([at, password]) => [at, { username: 'me', password }] as const);
    const text = JSON.stringify({ auths: Object.fromEntries(auths) });
    return {
      ...{ kind: 'Secret', metadata: { name, namespace: 'default' }, type: 'kubernetes.io/dockerconfigjson' },
      data: new Map([['.dockerconfigjson', Buffer.from(text)]]),
    };
  };
  const ensure = async (): Promise<string> => {
    const pod = aNodePod();
    const spec = { ...pod.spec, imagePullSecrets: [{ name: 'wrong' }, { name: 'right' }] };
    const container = aSpecContainer({ image: `${place}/team/app:1`, imagePullPolicy: 'Always' });
    const outcome = await images.ensureImage(container, { ...pod, spec }, NEVER);
    return outcome.isPresent ? 'present' : `${outcome.reason}: ${outcome.message}`;
  };

  it('are refused without the right one, and fetched with it', async () => {
    expect(await ensure()).toMatch(/^ErrImagePull: .*(401 Unauthorized|authorization failed)/s);
    secrets = [secretOf('wrong', { [place]: 'guessed', 'elsewhere.test': PASSWORD })];
    expect(await ensure()).toMatch(/^ErrImagePull: .*(401 Unauthorized|authorization failed)/s);
    secrets.push(secretOf('right', { [`http://${place}/team`]: PASSWORD }));
    expect(await ensure()).toBe('present');
    secrets = [
      secretOf('wrong', { [`${place}/team/app`]: 'guessed' }),
      secretOf('right', { [place]: PASSWORD }),
    ];
    expect(await ensure()).toBe('present');
    for (const line of told) for (const word of [PASSWORD, 'guessed']) expect(line).not.toContain(word);
  });
});
