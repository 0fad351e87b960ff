import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CertificatePair, makeCertificate } from '../../node/api/tls/make-certificate.js';
import { KubeApiHarness } from '#support/harness/kube-api-harness.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { signRequest } from '#support/clients/request-signer.js';
import { SystemClock } from '#base/time/clock.js';
import {
  type ClientEnrollment,
  type ClientEnrollmentOptions,
  openClientEnrollment,
} from './client-enrollment.js';

const HOUR_MS = 3_600_000;
const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const clock = new SystemClock();
let lab: KubeApiHarness;
let folder: string;
let logger: LogRecorder;
let issuer: CertificatePair;
let ending: AbortController;
let running: Promise<void>[];
beforeEach(async () => {
  lab = await KubeApiHarness.open();
  folder = await mkdtemp(join(tmpdir(), 'podloop-enrollment-'));
  logger = new LogRecorder();
  issuer = await makeCertificate({ commonName: 'ca', purpose: 'authority', ...lifetime(-HOUR_MS, HOUR_MS) });
  [ending, running] = [new AbortController(), []];
});
afterEach(async () => {
  ending.abort();
  await Promise.all(running);
  await lab[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const at = (...names: string[]): string => join(folder, ...names);
function lifetime(fromMs: number, toMs: number): { validFrom: Date; validTo: Date } {
  return { validFrom: new Date(Date.now() + fromMs), validTo: new Date(Date.now() + toMs) };
}

async function open(more: Partial<ClientEnrollmentOptions> = {}): Promise<ClientEnrollment> {
  const enrollment = await openClientEnrollment({
    ...{ kubeconfig: at('etc', 'kubelet.conf'), bootstrapKubeconfig: '', certFolder: at('pki') },
    ...{ nodeName: 'here', isRotated: true, version: '1.2.3', environment: {}, clock, logger },
    ...{ rateLimit: { perSecond: Infinity, burst: 1 }, heartbeatTimeoutMs: 10_000, ...more },
  });
  ending.signal.addEventListener('abort', () => enrollment.clients.close());
  return enrollment;
}

function run(enrollment: ClientEnrollment): void {
  running.push(enrollment.run(ending.signal, () => undefined));
}

/** Answers requests for certificates as one that approves all of them. */
function signAll(): void {
  const kept = new Map<string, object>();
  lab.handler = ({ method, path, body }, response) => {
    if (method === 'POST' && path === PATH) {
      const object = JSON.parse(body) as { metadata: { name: string }; spec: { request: string } };
      const pem = Buffer.from(object.spec.request, 'base64').toString();
      void signRequest(pem, issuer, lifetime(-1_000, HOUR_MS)).then((cert) => {
        const certificate = Buffer.from(cert).toString('base64');
        kept.set(object.metadata.name, { ...object, status: { certificate } });
        response.end(body);
      });
    } else if (path.startsWith(PATH) && !path.includes('watch=')) {
      const name = /metadata\.name%3D([\w-]+)/.exec(path)?.[1] ?? '';
      response.end(JSON.stringify({ metadata: { resourceVersion: '7' }, items: [kept.get(name)] }));
    } else response.end('{}');
  };
}

async function writeBootstrap(): Promise<string> {
  await writeFile(at('bootstrap.conf'), await readFile(await lab.writeKubeconfig('{ token: abc.def }')));
  // Its authority lies beside it.
  await writeFile(at('ca.crt'), await readFile(lab.file('ca.crt')));
  return at('bootstrap.conf');
}

async function writeOwn(user: string): Promise<void> {
  await mkdir(at('etc'), { recursive: true });
  await writeFile(at('etc', 'kubelet.conf'), await readFile(await lab.writeKubeconfig(user)));
  await writeFile(at('etc', 'ca.crt'), await readFile(lab.file('ca.crt')));
}

async function aPair(commonName: string, fromMs: number, toMs: number): Promise<string> {
  const organization = 'system:nodes';
  const times = lifetime(fromMs, toMs);
  const { cert, key } = await makeCertificate({
    commonName,
    organization,
    purpose: 'client',
    issuer,
    ...times,
  });
  return cert + key;
}

const certificates = (pem: string): string => `{ client-certificate: ${pem}, client-key: ${pem} }`;
const asked = (): string[] => lab.requests.filter(({ method }) => method === 'POST').map(({ user }) => user);

describe('a node that is to be known to its cluster', () => {
  it('asks with its bootstrap kubeconfig, sends nothing before, and writes its kubeconfig then', async () => {
    signAll();
    const bootstrapKubeconfig = await writeBootstrap();
    const enrollment = await open({ bootstrapKubeconfig });
    const request = { method: 'GET', path: '/api/v1/nodes/here' } as const;
    await expect(enrollment.clients.api.request(request)).rejects.toThrow('no client certificate yet');
    expect(lab.requests).toEqual([]);
    run(enrollment);
    await enrollment.whenKnown(ending.signal);
    await enrollment.clients.api.request(request);
    expect(lab.requests[0]).toMatchObject({ method: 'POST', user: '' });
    expect(lab.requests[0]!.headers['authorization']).toBe('Bearer abc.def');
    expect(lab.requests.at(-1)).toMatchObject({ path: request.path, user: 'system:node:here' });
    expect(lab.requests.at(-1)!.headers['authorization']).toBeUndefined();
    expect((await stat(at('etc', 'kubelet.conf'))).mode & 0o777).toBe(0o600);
    // What was written is enough for the next one.
    await rm(bootstrapKubeconfig);
    const next = await open({ bootstrapKubeconfig });
    await next.whenKnown(ending.signal);
    await next.clients.api.request(request);
    expect(lab.requests.at(-1)).toMatchObject({ path: request.path, user: 'system:node:here' });
    expect(asked()).toHaveLength(1);
  });

  it('only writes its kubeconfig when it was killed before', async () => {
    const bootstrapKubeconfig = await writeBootstrap();
    await mkdir(at('pki'));
    await writeFile(
      at('pki', 'kubelet-client-current.pem'),
      await aPair('system:node:here', -1_000, HOUR_MS),
    );
    const enrollment = await open({ bootstrapKubeconfig });
    run(enrollment);
    await expect
      .poll(async () => readFile(at('etc', 'kubelet.conf'), 'utf8'))
      .toContain(at('pki', 'kubelet-client-current.pem'));
    expect(lab.requests).toEqual([]);
  });

  it('asks with it when its certificate has ended or is broken, and as itself without one', async () => {
    signAll();
    const bootstrapKubeconfig = await writeBootstrap();
    await writeOwn(certificates('node.pem'));
    for (const text of [await aPair('system:node:here', -2 * HOUR_MS, -HOUR_MS), 'nothing']) {
      await writeFile(at('etc', 'node.pem'), text);
      const enrollment = await open({ bootstrapKubeconfig, certFolder: at(`pki-${asked().length}`) });
      run(enrollment);
      await enrollment.whenKnown(ending.signal);
      await writeOwn(certificates('node.pem'));
    }
    expect(asked()).toEqual(['', '']);
    await writeFile(at('etc', 'node.pem'), await aPair('system:node:here', -2 * HOUR_MS, -HOUR_MS));
    const enrollment = await open({ certFolder: at('pki-alone') });
    run(enrollment);
    await enrollment.whenKnown(ending.signal);
    expect(asked().at(-1)).toBe('system:node:here');
    await writeFile(at('etc', 'node.pem'), 'nothing');
    await expect(open({ certFolder: at('none') })).rejects.toThrow(/client-certificate: .*holds no PEM/);
  });

  it('shows what is newer than the certificate in its kubeconfig', async () => {
    await writeOwn(certificates('node.pem'));
    await writeFile(at('etc', 'node.pem'), await aPair('system:node:here', -600_000, HOUR_MS));
    await mkdir(at('pki'));
    const newer = await aPair('system:node:here', -1_000, HOUR_MS);
    await writeFile(at('pki', 'kubelet-client-current.pem'), newer);
    const { clients } = await open();
    lab.handler = (_, response) => void response.end('{}');
    await clients.api.request({ method: 'GET', path: '/api/v1/nodes/here' });
    expect(
      logger.lines.filter(({ message }) => message === 'Certificate of the node as a client'),
    ).toHaveLength(1);
    expect(lab.requests).toMatchObject([{ user: 'system:node:here' }]);
  });

  it('goes by a token, and by the certificate of somebody else, as they are', async () => {
    const bootstrapKubeconfig = await writeBootstrap();
    await writeOwn('{ token: mine }');
    const request = { method: 'GET', path: '/api/v1/nodes/here' } as const;
    const plain = await open({ bootstrapKubeconfig });
    run(plain);
    await plain.whenKnown(ending.signal);
    await plain.clients.api.request(request);
    expect(lab.requests.at(-1)!.headers['authorization']).toBe('Bearer mine');
    await writeOwn(certificates('node.pem'));
    await writeFile(at('etc', 'node.pem'), await aPair('jane', -1_000, HOUR_MS));
    const other = await open({ bootstrapKubeconfig });
    await other.clients.api.request(request);
    expect(lab.requests.at(-1)).toMatchObject({ user: 'jane' });
    expect(asked()).toEqual([]);
  });

  it('overwrites no kubeconfig that it cannot read, and says which file is missing', async () => {
    const bootstrapKubeconfig = await writeBootstrap();
    await mkdir(at('etc'));
    await writeFile(at('etc', 'kubelet.conf'), 'apiVersion: v1\nkind: Confg\n');
    await expect(open({ bootstrapKubeconfig })).rejects.toMatchObject({ code: 'KUBECONFIG_INVALID' });
    await rm(at('etc', 'kubelet.conf'));
    await expect(open()).rejects.toThrow(/kubelet\.conf cannot be read/);
    await expect(open({ bootstrapKubeconfig: at('none.conf') })).rejects.toThrow(/none\.conf cannot be read/);
  });
});
