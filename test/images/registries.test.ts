/**
 * Pulls from real registries, Debian's docker-registry and distribution v3: plain, over TLS with a login, with tokens, and through
 * a mirror that fails in between. What comes is what was pushed, byte for byte.
 *
 * @module
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { createPrivateKey, randomBytes, sign, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { EmbeddedRuntime } from '../../src/box/index.js';
import { type CertificatePair, makeCertificate } from '../../src/node/api/tls/make-certificate.js';
import { CriClient } from '../../src/watch/cri/index.js';
import { findImagesCache } from './debian-images.js';
import { unpackDebianRegistry } from './debian-registry.js';

const run = promisify(execFile);
const CACHE = findImagesCache(process.env);
const DISTRIBUTION = 'github.com/distribution/distribution/v3/cmd/registry';
/** `user:secret`, as distribution reads it: with bcrypt. */
const HTPASSWD = 'user:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n';
const LOGIN = { username: 'user', password: 'secret' };
const isThere = (program: string, flag = '--version'): boolean =>
  spawnSync(program, [flag]).error === undefined;
const MISSING = ['skopeo', 'dpkg-deb'].filter((program) => !isThere(program));

/** The programs, each unpacked or built into the cache. */
const REGISTRIES: Readonly<Record<string, () => Promise<string>>> = {
  'docker-registry of Debian': async () => unpackDebianRegistry(CACHE),
  'distribution v3': async () => {
    const program = join(CACHE, 'distribution-v3');
    const build = ['build', '-C', join(import.meta.dirname, 'distribution'), '-mod=readonly'];
    await access(program).catch(async () => run('go', [...build, '-o', program, DISTRIBUTION]));
    return program;
  },
};

/** An authority, another one, and a server of 127.0.0.1. */
let authority: CertificatePair;
let stranger: CertificatePair;
let server: CertificatePair;

beforeAll(async () => {
  const now = Date.now();
  const life = { validFrom: new Date(now - 3_600_000), validTo: new Date(now + 86_400_000) };
  authority = await makeCertificate({ commonName: 'registry-test', purpose: 'authority', ...life });
  stranger = await makeCertificate({ commonName: 'stranger', purpose: 'authority', ...life });
  const hosts = ['127.0.0.1'];
  server = await makeCertificate({
    ...{ commonName: '127.0.0.1', hosts, purpose: 'server', issuer: authority, ...life },
  });
});

describe.skipIf(MISSING.length > 0).each(Object.keys(REGISTRIES))('a pull from %s', (name) => {
  const isBuildable = name !== 'distribution v3' || isThere('go', 'version');
  const endings = new DisposalStack();
  let folder: string;
  let program: string;
  let layout: OciLayout;
  let id: string;
  let client: CriClient;

  beforeAll(async () => {
    if (isBuildable) program = await REGISTRIES[name]!();
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-registries-'));
    await mkdir(join(folder, 'certs.d'));
    await writeFile(join(folder, 'authority.crt'), authority.cert);
    await writeFile(join(folder, 'stranger.crt'), stranger.cert);
    await writeFile(join(folder, 'server.crt'), server.cert);
    await writeFile(join(folder, 'server.key'), server.key);
    layout = new OciLayout();
    ({ id } = layout.addImage({
      ...{ names: ['example.test/app:1'], compression: 'gzip', config: { User: '7' } },
      layers: [
        [{ name: 'etc/' }, { name: 'etc/motd', content: 'hello'.repeat(100_000) }],
        [{ name: 'noise', content: randomBytes(600_000) }, { name: 'etc/.wh.motd' }],
      ],
    }));
    for (const [path, content] of layout.toFiles()) {
      await mkdir(dirname(join(folder, 'made', path)), { recursive: true });
      await writeFile(join(folder, 'made', path), content);
    }
  });
  afterEach(async () => {
    await endings[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Serves what all registries of a test store; gives its host. */
  async function serve(settings = '', scheme: 'http' | 'https' = 'http'): Promise<string> {
    const host = `127.0.0.1:${await findFreePort()}`;
    const config = join(folder, `${host.replace(':', '-')}.yml`);
    const tls = `, tls: { certificate: ${folder}/server.crt, key: ${folder}/server.key }`;
    await writeFile(
      config,
      `version: 0.1\nstorage: { filesystem: { rootdirectory: ${folder}/storage } }\n` +
        `http: { addr: "${host}"${scheme === 'https' ? tls : ''} }\n${settings}`,
    );
    const child = spawn(program, ['serve', config], { stdio: 'ignore' });
    const exited = once(child, 'exit');
    endings.defer(async () => {
      child.kill();
      await exited;
    });
    const [address, port] = host.split(':') as [string, string];
    // Bounded by the limit of this preparation.
    for (;;) {
      const answers = await run('bash', ['-c', `: < /dev/tcp/${address}/${port}`]).then(
        () => true,
        () => false,
      );
      if (answers) return host;
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
      await sleepFor(50);
    }
  }

  async function push(host: string): Promise<void> {
    const words = ['--insecure-policy', 'copy', '--dest-tls-verify=false'];
    await run('skopeo', [...words, `oci:${folder}/made`, `docker://${host}/team/app:1`]);
  }

  async function startRuntime(): Promise<void> {
    const listen = `unix://${folder}/cri.sock`;
    const registry = { configFolders: [join(folder, 'certs.d')], environment: { HOME: folder } };
    const runtime = await EmbeddedRuntime.start({ listen, rootDir: join(folder, 'root'), registry });
    endings.defer(async () => runtime.close());
    client = new CriClient({ endpoint: listen });
    endings.defer(() => client.close());
  }

  async function writeHosts(host: string, text: string): Promise<void> {
    const place = join(folder, 'certs.d', host);
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'hosts.toml'), text);
  }

  const trust = (host: string, file: string): Promise<void> =>
    writeHosts(host, `[host."https://${host}"]\n  ca = "${folder}/${file}"\n`);

  /** What is stored now is what was pushed. */
  async function expectWhole(): Promise<void> {
    const blobs = join(folder, 'root/images/blobs');
    const names = await readdir(blobs);
    expect(names).toHaveLength(4);
    for (const each of names) {
      const pushed = layout.toFiles().get(`blobs/${each.replace('-', '/')}`);
      expect((await readFile(join(blobs, each))).equals(pushed!), each).toBe(true);
    }
  }

  it.runIf(isBuildable)('gets the bytes that were pushed', async () => {
    const host = await serve();
    await push(host);
    await startRuntime();
    const { imageRef } = await client.pullImage({ image: { image: `${host}/team/app:1` } });
    expect(imageRef).toBe(id);
    await expectWhole();
    const missing = client.pullImage({ image: { image: `${host}/team/app:9` } });
    await expect(missing).rejects.toThrow(/has no such image \(404 Not Found/);
  });

  it.runIf(isBuildable)('goes over TLS of a private authority, with a login and not without', async () => {
    await push(await serve());
    await writeFile(join(folder, 'htpasswd'), HTPASSWD);
    const host = await serve(`auth: { htpasswd: { realm: test, path: ${folder}/htpasswd } }\n`, 'https');
    const image = { image: `${host}/team/app:1` };
    await startRuntime();
    // A registry on loopback needs no authority, but one that is named counts.
    await trust(host, 'stranger.crt');
    await expect(client.pullImage({ image, auth: LOGIN })).rejects.toThrow(/certificate|authority/);
    await trust(host, 'authority.crt');
    await expect(client.pullImage({ image })).rejects.toThrow('wants a login');
    await expect(client.pullImage({ image, auth: { ...LOGIN, password: 'x' } })).rejects.toThrow(/login|401/);
    expect((await client.pullImage({ image, auth: LOGIN })).imageRef).toBe(id);
    await expectWhole();
  });

  it.runIf(isBuildable)('asks for the token that it wants', async () => {
    await push(await serve());
    const tokens = new TokenServer();
    await tokens.listen();
    endings.use(tokens);
    const host = await serve(
      `auth: { token: { realm: "${tokens.url}", service: test, issuer: podloop, rootcertbundle: ${folder}/authority.crt } }\n`,
    );
    await startRuntime();
    const image = { image: `${host}/team/app:1` };
    expect((await client.pullImage({ image, auth: LOGIN })).imageRef).toBe(id);
    expect(tokens.asked).toEqual([
      { scope: 'repository:team/app:pull', authorization: `Basic ${btoa('user:secret')}` },
    ]);
    await expectWhole();
  });

  it.runIf(isBuildable)('goes on where a mirror has broken off', async () => {
    const host = await serve();
    await push(host);
    const mirror = new BreakingProxy(host);
    await mirror.listen();
    endings.use(mirror);
    await writeHosts('example.test', `server = "http://127.0.0.1:1"\n[host."${mirror.url}"]\n`);
    await startRuntime();
    expect((await client.pullImage({ image: { image: 'example.test/team/app:1' } })).imageRef).toBe(id);
    await expectWhole();
    expect(mirror.broken).toBeGreaterThan(0);
    expect(mirror.ranges).toBeGreaterThan(0);
  });
});

/** A server of this process on loopback. */
abstract class Listening implements AsyncDisposable {
  readonly #server = createServer((call, answer) => this.answer(call, answer));

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  protected abstract answer(call: IncomingMessage, answer: ServerResponse): void;
}

/** Gives tokens as distribution wants them: signed by a certificate of the authority, for what was asked. */
class TokenServer extends Listening {
  readonly asked: { readonly scope: string | null; readonly authorization: string | undefined }[] = [];

  protected answer({ url = '', headers }: IncomingMessage, answer: ServerResponse): void {
    const scope = new URL(url, 'http://token').searchParams.get('scope');
    this.asked.push({ scope, authorization: headers.authorization });
    const [type, path = '', actions = ''] = (scope ?? '').split(':');
    const seconds = Math.floor(Date.now() / 1_000);
    const header = {
      typ: 'JWT',
      alg: 'ES256',
      x5c: [new X509Certificate(server.cert).raw.toString('base64')],
    };
    const claims = {
      ...{ iss: 'podloop', sub: 'user', aud: 'test', jti: randomBytes(8).toString('hex') },
      ...{ iat: seconds, nbf: seconds - 60, exp: seconds + 300 },
      access: [{ type, name: path, actions: actions.split(',') }],
    };
    const text = [header, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const key = { key: createPrivateKey(server.key), dsaEncoding: 'ieee-p1363' } as const;
    const token = `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify({ token, expires_in: 300 }));
  }
}

/** A mirror that refuses each first question and breaks off each blob at its middle once. */
class BreakingProxy extends Listening {
  broken = 0;
  ranges = 0;
  readonly #seen = new Set<string>();
  readonly #host: string;

  constructor(host: string) {
    super();
    this.#host = host;
  }

  protected answer(call: IncomingMessage, answer: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = call;
    const isFirst = !this.#seen.has(url);
    this.#seen.add(url);
    if (headers.range !== undefined) this.ranges++;
    if (isFirst && url.includes('/manifests/')) {
      answer.writeHead(503, { 'retry-after': '0' }).end();
      return;
    }
    const { host: _, ...others } = headers;
    const path = url.replace(/[?&]ns=[^&]*/, '');
    const asked = request(`http://${this.#host}${path}`, { method, headers: others }, (response) => {
      answer.writeHead(response.statusCode ?? 500, response.headers);
      const size = Number(response.headers['content-length'] ?? 0);
      if (!isFirst || !url.includes('/blobs/') || size < 10_000) {
        response.pipe(answer);
        return;
      }
      this.broken++;
      let left = Math.floor(size / 2);
      response.on('data', (chunk: Buffer) => {
        answer.write(chunk.subarray(0, left), () => {
          if (left <= 0) answer.destroy();
        });
        left -= chunk.length;
        if (left <= 0) response.destroy();
      });
    });
    asked.on('error', () => answer.destroy());
    asked.end();
  }
}
