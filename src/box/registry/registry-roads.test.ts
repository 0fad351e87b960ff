/** The ways to a registry: TLS with private authorities, mirrors, proxies, redirects. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConnectProxy } from '#support/clients/connect-proxy.js';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { SystemClock } from '#base/time/clock.js';
import { ImageStore } from '../images/image-store.js';
import { type Login } from './docker-logins.js';

const NEVER = new AbortController().signal;
const LOGIN: Login = { kind: 'password', username: 'ann', password: 'secret' };
let folder: string;
let environment: Record<string, string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-roads-'));
  environment = { HOME: folder };
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Pulls into a store of its own, and returns the image's id. */
async function pull(image: string, login?: Login): Promise<string> {
  const rootDir = await mkdtemp(join(folder, 'root-'));
  const registry = { configFolders: [join(folder, 'certs.d')], environment };
  const clock = new SystemClock();
  const store = await ImageStore.open({ rootDir, imageDirs: [], registry, logger: SILENT_LOGGER, clock });
  try {
    return (await store.pull(image, NEVER, { login })).id;
  } finally {
    await store.close();
  }
}

function add(registry: FakeRegistry, repository = 'app'): string {
  const made = registry.layout.addManifest({ layers: [[{ name: 'a', content: 'b' }]] });
  registry.tag(`${repository}:1`, made.manifest);
  return made.id;
}

async function configure(registry: string, text: string): Promise<void> {
  const place = join(folder, 'certs.d', registry);
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'hosts.toml'), text);
}

/** A certificate that is its own authority, for names and addresses. */
async function makeCertificate(name: string, names: string): Promise<{ cert: string; key: string }> {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const files = ['-keyout', key, '-out', cert];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, ...files, ...subject], { stdio: 'ignore' });
  return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
}

describe('TLS', () => {
  it('takes the authorities, the client certificates and the indifference that a file names, and nothing less', async () => {
    const own = await makeCertificate('registry', 'DNS:registry.lab,IP:127.0.0.1');
    const client = await makeCertificate('client', 'DNS:client.lab');
    const asks = { ...own, ca: client.cert, requestCert: true, rejectUnauthorized: true };
    await using registry = await FakeRegistry.start({ tls: own });
    await using strict = await FakeRegistry.start({ tls: asks });
    const id = add(registry);
    add(strict);
    const server = (host: string, more: string): string => `server = "https://${host}"\n${more}\n`;
    await configure('registry.lab', server(registry.host, ''));
    await expect(pull('registry.lab/app:1')).rejects.toThrow(
      /its certificate is of an authority that is not known here/,
    );
    await configure('registry.lab', server(registry.host, `ca = "${folder}/registry.crt"`));
    expect(await pull('registry.lab/app:1')).toBe(id);
    await configure('registry.lab', server(registry.host, 'skip_verify = true'));
    expect(await pull('registry.lab/app:1')).toBe(id);
    const files = `client = [["${folder}/client.crt", "${folder}/client.key"]]`;
    await configure('strict.lab', server(strict.host, `ca = "${folder}/registry.crt"`));
    await expect(pull('strict.lab/app:1')).rejects.toThrow('it wants a certificate of its clients');
    await configure('strict.lab', server(strict.host, `ca = "${folder}/registry.crt"\n${files}`));
    expect(await pull('strict.lab/app:1')).toBe(id);
    // On this machine any certificate will do, and none.
    expect(await pull(`${registry.host}/app:1`)).toBe(id);
  });

  it('is not left by a redirect', async () => {
    const own = await makeCertificate('registry', 'IP:127.0.0.1');
    await using registry = await FakeRegistry.start({ tls: own });
    await using plain = await FakeRegistry.start();
    add(registry);
    registry.answerers.push((request, response) => {
      response.writeHead(307, { location: `${plain.url}${request.url}` });
      response.end();
      return true;
    });
    await expect(pull(`${registry.host}/app:1`)).rejects.toThrow('redirects from https to http');
    expect(plain.requests).toEqual([]);
  });
});

describe('mirrors', () => {
  it('are asked before the registry, for its name, by what they are able to, and never get its login', async () => {
    await using origin = await FakeRegistry.start();
    await using mirror = await FakeRegistry.start();
    const id = add(mirror);
    add(origin);
    const host = `[host."${mirror.url}"]`;
    await configure('registry.lab', `server = "${origin.url}"\n${host}\ncapabilities = ["pull"]\n`);
    expect(await pull('registry.lab/app:1', LOGIN)).toBe(id);
    expect(origin.requests).toEqual(['HEAD /v2/app/manifests/1']);
    expect(mirror.count('?ns=registry.lab')).toBe(3);
    await configure('registry.lab', `server = "${origin.url}"\n${host}\n`);
    await pull('registry.lab/app:1', LOGIN);
    expect(origin.requests).toHaveLength(1);
    expect(mirror.headers.flatMap(({ authorization }) => authorization ?? [])).toEqual([]);
  });

  it.each<[string, (registry: FakeRegistry) => unknown]>([
    ['has not got the image', () => undefined],
    ['answers with errors', (mirror) => mirror.answerers.push((_, out) => (out.writeHead(403).end(), true))],
    ['is not there', async (mirror) => mirror[Symbol.asyncDispose]()],
    [
      'lies',
      (mirror) => {
        const made = mirror.layout.addManifest({ layers: [[{ name: 'a', content: 'b' }]] });
        mirror.tag('app:1', made.manifest);
        for (const path of mirror.layout.toFiles().keys())
          if (path.startsWith('blobs/'))
            mirror.layout.corruptBlob(path.slice(6).replace('/', ':'), Buffer.from('{}'));
      },
    ],
  ])('that %s does not matter', async (_, spoil) => {
    await using origin = await FakeRegistry.start();
    const mirror = await FakeRegistry.start();
    const id = add(origin);
    await configure('registry.lab', `server = "${origin.url}"\n[host."${mirror.url}"]\n`);
    await spoil(mirror);
    expect(await pull('registry.lab/app:1')).toBe(id);
    await mirror[Symbol.asyncDispose]().catch(() => undefined);
  });

  it('are none where their file is wrong: the registry is not asked instead', async () => {
    await configure('registry.lab', 'server = ');
    await expect(pull('registry.lab/app:1')).rejects.toThrow('hosts.toml is wrong');
  });

  it('get the headers of their file', async () => {
    await using mirror = await FakeRegistry.start();
    add(mirror);
    await configure('registry.lab', `[host."${mirror.url}"]\n[host."${mirror.url}".header]\nx-key = "k"\n`);
    await pull('registry.lab/app:1');
    expect(mirror.headers.every((headers) => headers['x-key'] === 'k')).toBe(true);
  });
});

describe('proxies', () => {
  it('connect to a registry with TLS, which they see nothing of', async () => {
    const own = await makeCertificate('registry', 'DNS:registry.lab');
    await using registry = await FakeRegistry.start({ tls: own });
    const id = add(registry);
    const { port } = new URL(registry.url);
    await using proxy = await ConnectProxy.open({ port: Number(port) });
    environment['HTTPS_PROXY'] = `http://ann:secret@127.0.0.1:${proxy.port}`;
    await configure('registry.lab', `server = "https://registry.lab"\nca = "${folder}/registry.crt"\n`);
    expect(await pull('registry.lab/app:1')).toBe(id);
    expect(new Set(proxy.asked.map(({ target }) => target))).toEqual(new Set(['registry.lab:443']));
    proxy.refusal = '403 Forbidden';
    await expect(pull('registry.lab/app:1')).rejects.toThrow('the proxy answers 403 Forbidden');
    environment['HTTPS_PROXY'] = 'http://ann:secret@127.0.0.1:1';
    await expect(pull('registry.lab/app:1')).rejects.toThrow(
      /: registry\.lab: the proxy 127\.0\.0\.1:1: nothing listens there \(ECONNREFUSED\)$/,
    );
  });

  it('send on requests to a registry without TLS', async () => {
    await using registry = await FakeRegistry.start();
    const id = add(registry);
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request.url ?? '');
      const { pathname, search } = new URL(request.url ?? '');
      const to = { method: request.method, headers: request.headers };
      httpRequest(`${registry.url}${pathname}${search}`, to, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      }).end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      environment['HTTP_PROXY'] = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      await configure('registry.lab', 'server = "http://registry.lab"');
      expect(await pull('registry.lab/app:1')).toBe(id);
      expect(asked[0]).toBe('http://registry.lab/v2/app/manifests/1');
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});
