/**
 * Real probes of real servers, while this process stands still again and again.
 *
 * The servers are in a thread of their own: they answer at once, and hang up on who does not send for two seconds.
 */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { type Probe } from '#kube/container/container.js';
import { aProbe, aProbedPod } from '#support/harness/probe-harness.js';
import { SystemClock } from '#base/time/clock.js';
import { type ProbeEnd, probeEnded } from '#base/channels/probe-channels.js';
import { ProbeManager } from '../../src/node/probes/probe-manager.js';
import { probeRunner } from '../../src/node/probes/probe-runner.js';

const SERVERS = `
const { parentPort } = require('node:worker_threads');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const hurried = { headersTimeout: 2000, requestTimeout: 2000, connectionsCheckingInterval: 200 };
const servers = [
  http.createServer(hurried, (request, response) => response.end('ok')),
  http2.createServer().on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  }),
  net.createServer((socket) => socket.on('error', () => {}).resume()),
  net.createServer((socket) => socket.on('error', () => {})),
];
for (const server of servers) server.on('clientError', (error, socket) => socket.destroy());
Promise.all(servers.map((server) => new Promise((resolve) => {
  server.listen(0, '127.0.0.1', 256, () => resolve(server.address().port));
}))).then((ports) => parentPort.postMessage(ports));
`;

const cleanups = new DisposalStack();
afterEach(async () => {
  await cleanups[Symbol.asyncDispose]();
});

/** Blocks the event loop, as a long slice of work does. */
function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('fifty probed pods under an event loop that is blocked for 3 s again and again', () => {
  it('all live on, and a deaf one is found out once the loop is free', async () => {
    const thread = new Worker(SERVERS, { eval: true });
    cleanups.defer(() => thread.terminate());
    const [http, grpc, tcp, deaf] = await new Promise<number[]>((resolve) => thread.once('message', resolve));
    const handlers: Probe[] = [
      { httpGet: { port: http! } },
      { grpc: { port: grpc! } },
      { tcpSocket: { port: tcp! } },
    ];
    const clock = new SystemClock();
    const startedAtMs = clock.now();
    await using manager = new ProbeManager({
      clock,
      targets: {
        find: (podUid) => ({ containerId: podUid, state: 'running', startedAtMs, host: '127.0.0.1' }),
      },
      runProbe: probeRunner({ clock, commands: { execSync: () => Promise.reject(new Error('none')) } }),
    });
    const failed: string[] = [];
    const results = manager.subscribe();
    cleanups.defer(() => results.close());
    void (async () => {
      for await (const { podUid, type, result } of results)
        if (result === 'failure') failed.push(`${podUid} ${type}`);
    })();
    const ends: ProbeEnd[] = [];
    cleanups.defer(probeEnded.subscribe((end) => ends.push(end)));

    for (let index = 0; index < 50; index++) {
      const probe = {
        ...aProbe({ timeoutSeconds: 2 }),
        tcpSocket: undefined,
        ...handlers[index % handlers.length],
      } as Probe;
      manager.addPod(aProbedPod({ livenessProbe: probe, readinessProbe: probe }, { name: `pod-${index}` }));
    }
    const deafProbe: Probe = {
      ...aProbe(),
      tcpSocket: undefined,
      httpGet: { port: deaf! },
    };
    manager.addPod(aProbedPod({ livenessProbe: deafProbe }, { name: 'deaf' }));

    // At every stage of a probe: while it connects, waits for its turn, has been sent.
    for (const freeMs of [0, 1, 5, 20, 150]) {
      await later(freeMs);
      block(3_000);
    }
    const duringStalls = failed.filter((each) => !each.includes('deaf'));
    await expect.poll(() => failed, { timeout: 20_000 }).toContain('uid-deaf liveness');
    await expect
      .poll(
        () => new Set(ends.filter(({ outcome }) => outcome === 'success').map(({ podUid }) => podUid)).size,
        {
          timeout: 20_000,
        },
      )
      .toBe(50);
    expect(duringStalls).toEqual([]);
    expect(failed).toEqual(['uid-deaf liveness']);
    // Otherwise nothing was tried here.
    expect(ends.filter(({ stalledMs }) => stalledMs > 1_000).length).toBeGreaterThan(10);
    expect(ends.filter(({ outcome }) => outcome === 'void').length).toBe(manager.stats.voided);
  });
});
