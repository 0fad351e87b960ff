import { createPrivateKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CertificatePair, makeCertificate } from '../../node/api/tls/make-certificate.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { RequestSigner } from '#support/clients/request-signer.js';
import { untilTrue } from '#support/until-true.js';
import {
  nodeCertificateFailed,
  type NodeCertificateHeld,
  nodeCertificateHeld,
} from '#base/channels/certificate-channels.js';
import { type NodeAddress } from '../node/node-object.js';
import { type NodeEvent } from '../node/node-ports.js';
import { CertificateManager, type CertificateManagerOptions } from './certificate-manager.js';
import { CertificateStore } from './certificate-store.js';
import { nodeSubject } from './certificate-subject.js';
import { type NodeCertificate } from './node-certificate.js';
import { openServingCertificate } from './serving-certificate.js';
import { makeSigningRequest } from './signing-request.js';

const HOUR_MS = 3_600_000;
const TIMES = { validFrom: new Date(0), validTo: new Date(2.4e12) };
const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
let folder: string;
let clock: FakeClock;
let logger: LogRecorder;
let api: InMemoryApi;
let signer: RequestSigner;
let issuer: CertificatePair;
let events: NodeEvent[];
let asked: (string | undefined)[];
let ending: AbortController;
let running: Promise<void>[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-certificates-'));
  [clock, logger] = [new FakeClock(), new LogRecorder()];
  api = new InMemoryApi({ clock });
  issuer = await makeCertificate({ commonName: 'ca', purpose: 'authority', ...TIMES });
  signer = new RequestSigner(api, issuer, clock);
  [events, asked, running] = [[], [], []];
  ending = new AbortController();
});
afterEach(async () => {
  await end();
  await rm(folder, { recursive: true });
});

async function end(): Promise<void> {
  ending.abort();
  await Promise.all(running.splice(0));
  ending = new AbortController();
}

function clientManager(more: Partial<CertificateManagerOptions> = {}): CertificateManager {
  const store = new CertificateStore({ folder, prefix: 'kubelet-client', clock, logger });
  return new CertificateManager({
    ...{ use: 'client', store, isRotated: true, clock, logger, random: () => 0 },
    find: async () => store.find(),
    subject: () => nodeSubject('here'),
    connect: async (good) => {
      asked.push(good?.name);
      return Promise.resolve({ client: api, close: () => undefined });
    },
    onEvent: (event) => events.push(event),
    ...more,
  });
}

function start(manager: CertificateManager): CertificateManager {
  running.push(manager.run(ending.signal));
  return manager;
}

/** Waits for the request that is made next, and gives its name. */
async function nextRequest(before: number): Promise<string> {
  await untilTrue(() => signer.asked.length > before);
  return signer.asked[before]!;
}

async function held(manager: CertificateManager, before?: NodeCertificate): Promise<NodeCertificate> {
  await untilTrue(() => manager.held !== undefined && manager.held !== before);
  return manager.held!;
}

/** Lets what waits for the clock find that so much time has gone by, and what waits for the disk go on. */
async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('the client certificate of a node', () => {
  it('is asked for in the way of a kubelet, and is there once somebody has approved it', async () => {
    const manager = start(clientManager());
    const name = await nextRequest(0);
    expect(signer.specOf(name)).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    });
    await untilTrue(() => api.openWatches === 1);
    expect(manager.held).toBeUndefined();
    await signer.approve(name, HOUR_MS);
    await manager.whenGood(ending.signal);
    expect(manager.held).toMatchObject({ name: 'O=system:nodes, CN=system:node:here' });
    expect(manager.held!.toMs - clock.now()).toBe(HOUR_MS);
    expect([asked, events, signer.asked]).toEqual([[undefined], [], [name]]);
    await untilTrue(() => api.openWatches === 0);
  });

  it('is said to be waited for, and how to end that', async () => {
    const manager = start(clientManager());
    const name = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    expect(manager.findProblem()).toContain('kubectl get csr');
    await clock.advance(60_000);
    expect(logger.lines.filter(({ message }) => message.includes('waits for approval'))).toMatchObject([
      { fields: { request: name, waited: '10s', remedy: `kubectl certificate approve ${name}` } },
      { fields: { waited: '40s' } },
    ]);
    api.change(`${PATH}/${name}`, (request) => ({
      ...request,
      status: { conditions: [{ type: 'Approved', status: 'True' }] },
    }));
    await clock.advance(120_000);
    expect(logger.lines.at(-1)).toMatchObject({
      message: 'Request for a certificate is approved and waits for its signer',
    });
  });

  it('is waited for by the next agent when one is killed, with the same key and request', async () => {
    start(clientManager());
    const name = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    await end();
    const manager = start(clientManager());
    expect(await nextRequest(1)).toBe(name);
    await signer.approve(name, HOUR_MS);
    await held(manager);
    expect(signer.asked).toEqual([name, name]);
  });

  it('is taken up by the next agent when it was signed while none ran', async () => {
    start(clientManager());
    const name = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    await end();
    await signer.approve(name, HOUR_MS);
    const manager = start(clientManager());
    await held(manager);
    expect(events).toEqual([]);
  });

  it('is renewed after 70 to 90 % of its life with another key, and held until the next one is there', async () => {
    const told: NodeCertificateHeld[] = [];
    const leave = nodeCertificateHeld.subscribe((each) => told.push(each));
    const manager = start(clientManager());
    const first = await nextRequest(0);
    await signer.approve(first, HOUR_MS);
    const before = await held(manager);
    await pass(0.7 * HOUR_MS - 31_000);
    expect(signer.asked).toEqual([first]);
    await pass(32_000);
    const second = await nextRequest(1);
    expect(second).not.toBe(first);
    expect(manager.held).toBe(before);
    await signer.approve(second, HOUR_MS);
    const after = await held(manager, before);
    leave();
    expect(after.key).not.toBe(before.key);
    expect(asked).toEqual([undefined, before.name]);
    expect(
      told.map(({ endsAtMs, renewedFromMs, replacedAgeMs }) => [
        (renewedFromMs - endsAtMs) / HOUR_MS,
        Math.round((replacedAgeMs ?? 0) / 60_000),
      ]),
    ).toEqual([
      [expect.closeTo(-0.3), 0],
      [expect.closeTo(-0.3), 42],
    ]);
  });

  it('is not renewed in time where that is not wanted, but when it has ended', async () => {
    const manager = start(clientManager({ isRotated: false }));
    await signer.approve(await nextRequest(0), HOUR_MS);
    const before = await held(manager);
    await pass(0.99 * HOUR_MS);
    expect(signer.asked).toHaveLength(1);
    await pass(0.02 * HOUR_MS);
    await signer.approve(await nextRequest(1), HOUR_MS);
    await held(manager, before);
    expect(asked).toEqual([undefined, undefined]);
  });

  it('that is not rotated is looked at as seldom after that time as before', async () => {
    let looks = 0;
    const store = new CertificateStore({ folder, prefix: 'kubelet-client', clock, logger });
    const find = async () => {
      looks++;
      return store.find();
    };
    start(clientManager({ isRotated: false, find }));
    await signer.approve(await nextRequest(0), HOUR_MS);
    await untilTrue(() => looks > 1);
    await pass(0.95 * HOUR_MS);
    const before = looks;
    for (let seconds = 0; seconds < 60; seconds++) await pass(1_000);
    expect(looks - before).toBeLessThanOrEqual(3);
  });

  it('is asked for without it when the machine has slept for longer than it was good', async () => {
    const manager = start(clientManager());
    await signer.approve(await nextRequest(0), HOUR_MS);
    const before = await held(manager);
    clock.jumpWallClock(3 * HOUR_MS);
    expect(manager.held).toBe(before);
    await pass(31_000);
    await signer.approve(await nextRequest(1), HOUR_MS);
    await held(manager, before);
    expect(asked).toEqual([undefined, undefined]);
  });

  it.each([
    ['nobody can be asked for another one', false],
    ['another one waits to be approved', true],
  ])('is gone by once a clock that was ahead is set right, while %s', async (_, isServerThere) => {
    const first = start(clientManager());
    await signer.approve(await nextRequest(0), HOUR_MS);
    await held(first);
    await end();
    clock.jumpWallClock(3 * HOUR_MS);
    if (!isServerThere) api.stop();
    const told: NodeCertificate[] = [];
    const onHeld = (good: NodeCertificate): Promise<void> => {
      told.push(good);
      return Promise.resolve();
    };
    const manager = clientManager({ onHeld });
    await manager.open();
    start(manager);
    const seen = { isGood: false };
    manager.whenGood(ending.signal).then(
      () => (seen.isGood = true),
      () => undefined,
    );
    if (isServerThere) {
      await nextRequest(1);
      await untilTrue(() => api.openWatches === 1);
    }
    await pass(61_000);
    expect([seen.isGood, told]).toEqual([false, []]);
    clock.jumpWallClock(-3 * HOUR_MS);
    for (let look = 0; look < 20 && !seen.isGood; look++) await pass(30_000);
    expect([seen.isGood, told]).toEqual([true, [manager.held]]);
    expect(new Set(asked)).toEqual(new Set([undefined]));
    await pass(61_000);
    expect(told).toHaveLength(1);
  });

  it('is asked for again, later and later, while nobody can be asked, and told of once', async () => {
    let failures = 0;
    const leave = nodeCertificateFailed.subscribe(() => failures++);
    api.stop();
    const manager = start(clientManager());
    for (let time = 0; time < 20; time++) await pass(30_000);
    expect(manager.findProblem()).toBe('connect ECONNREFUSED (in memory)');
    expect(failures).toBeGreaterThan(5);
    expect(failures).toBeLessThan(12);
    expect(events).toEqual([
      {
        ...{ type: 'Warning', reason: 'CertificateNotRenewed' },
        message:
          'Certificate of the node as a client cannot be had (there is none yet): connect ECONNREFUSED (in memory)',
      },
    ]);
    api.start();
    await pass(5 * 60_000);
    await untilTrue(() => api.find(`${PATH}/${signer.asked.at(-1)}`) !== undefined);
    // One key for all of them.
    expect(new Set(signer.asked).size).toBe(1);
    await signer.approve(signer.asked[0]!, HOUR_MS);
    await held(manager);
    expect(manager.findProblem()).toBeUndefined();
    leave();
  });

  it('is asked for with another key when a request was denied', async () => {
    const manager = start(clientManager());
    const first = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    signer.deny(first, 'who are you?');
    await untilTrue(() => events.length === 1);
    expect(events[0]!.message).toContain(`${first} was denied: KubectlDeny: who are you?`);
    await pass(2_000);
    const second = await nextRequest(1);
    expect(second).not.toBe(first);
    await signer.approve(second, HOUR_MS);
    await held(manager);
  });

  it('is asked for again when its request was cleared away, or nobody has looked at it for long', async () => {
    const manager = start(clientManager());
    const name = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    signer.drop(name);
    await untilTrue(() => events.length === 1);
    expect(events[0]!.message).toContain('was deleted before it was answered');
    await pass(2_000);
    expect(await nextRequest(1)).toBe(name);
    await untilTrue(() => api.openWatches === 1);
    await pass(15 * 60_000);
    await untilTrue(() => events.length === 2);
    expect(events[1]!.message).toContain('was neither approved nor denied within 15m0s');
    await pass(4_000);
    expect(await nextRequest(2)).toBe(name);
    await signer.approve(name, HOUR_MS);
    await held(manager);
  });

  it('is asked for with longer and longer pauses when each is due as soon as it is signed, and that is told of once', async () => {
    const manager = start(clientManager());
    let isAhead = true;
    let signed = 0;
    // Signed by a clock that is two hours behind this one.
    const answer = async (): Promise<void> => {
      if (signer.asked.length === signed) return;
      const name = signer.asked[signed++]!;
      if (isAhead) clock.jumpWallClock(-2 * HOUR_MS);
      const signing = signer.approve(name, HOUR_MS);
      if (isAhead) clock.jumpWallClock(2 * HOUR_MS);
      await signing;
      await untilTrue(() => api.openWatches === 0);
    };
    await nextRequest(0);
    for (let second = 0; second < 1_200; second += 10) {
      await answer();
      await pass(10_000);
    }
    expect(signed).toBeGreaterThan(5);
    expect(signed).toBeLessThan(15);
    expect(events.map(({ reason }) => reason)).toEqual(['CertificateDueAtOnce']);
    expect(events[0]!.message).toMatch(
      /^Certificate of the node as a client is due for renewal as soon as it is signed: it is good from .*, and it is .* here; the clock of this machine may be ahead/,
    );
    isAhead = false;
    const before = manager.held;
    await pass(5 * 60_000);
    await nextRequest(signed);
    await answer();
    await held(manager, before);
    await pass(60_000);
    expect(signer.asked).toHaveLength(signed);
    expect(events).toHaveLength(1);
  });

  it('that somebody else has put there is taken up', async () => {
    const manager = start(clientManager());
    await signer.approve(await nextRequest(0), HOUR_MS);
    const before = await held(manager);
    await pass(60_000);
    const pair = await makeCertificate({
      ...{ commonName: 'system:node:here', organization: 'system:nodes', purpose: 'client', issuer },
      ...{ validFrom: new Date(clock.now()), validTo: new Date(clock.now() + HOUR_MS) },
    });
    const other = new CertificateStore({ folder, prefix: 'kubelet-client', clock, logger });
    const { cert } = await other.put(pair.cert, createPrivateKey(pair.key));
    await pass(31_000);
    expect((await held(manager, before)).cert).toBe(cert);
  });
});

describe('the certificate of a node as a server', () => {
  let addresses: NodeAddress[];
  beforeEach(() => {
    addresses = [];
  });
  const open = (): CertificateManager =>
    openServingCertificate({
      ...{ certFolder: folder, nodeName: 'here', client: api, clock, logger, random: () => 0 },
      addresses: () => addresses,
      onEvent: (event) => events.push(event),
    });

  it('is asked for once the node has an address', async () => {
    const manager = start(open());
    await pass(5_000);
    expect(signer.asked).toEqual([]);
    addresses = [
      { type: 'InternalIP', address: '192.0.2.7' },
      { type: 'Hostname', address: 'here' },
    ];
    await pass(1_000);
    const name = await nextRequest(0);
    expect(signer.specOf(name)).toMatchObject({
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    });
    await signer.approve(name, HOUR_MS);
    expect((await held(manager)).x509.subjectAltName).toBe('DNS:here, IP Address:192.0.2.7');
  });

  it('is asked for anew when an address has come, not when one has gone, and also while it is waited for', async () => {
    addresses = [{ type: 'InternalIP', address: '192.0.2.7' }];
    const manager = start(open());
    const first = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    addresses = [...addresses, { type: 'InternalIP', address: '2001:db8::7' }];
    await pass(31_000);
    const second = await nextRequest(1);
    expect(second).not.toBe(first);
    expect(events).toEqual([]);
    await signer.approve(second, HOUR_MS);
    const before = await held(manager);
    addresses = addresses.slice(1);
    await pass(61_000);
    expect(signer.asked).toHaveLength(2);
    addresses = [{ type: 'InternalIP', address: '192.0.2.9' }];
    await pass(31_000);
    await signer.approve(await nextRequest(2), HOUR_MS);
    expect((await held(manager, before)).x509.subjectAltName).toBe('IP Address:192.0.2.9');
  });

  it('is not asked for again and again when its signer leaves names out', async () => {
    addresses = [{ type: 'InternalIP', address: '192.0.2.7' }];
    const manager = start(open());
    const name = await nextRequest(0);
    await untilTrue(() => api.openWatches === 1);
    const pem = makeSigningRequest(
      nodeSubject('here'),
      await new CertificateStore({ folder, prefix: 'kubelet-server', clock, logger }).pendingKey(),
    );
    await signer.approve(name, HOUR_MS, pem);
    expect((await held(manager)).x509.subjectAltName).toBeUndefined();
    await pass(95_000);
    expect(signer.asked).toEqual([name]);
  });
});
