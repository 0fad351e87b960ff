/**
 * A whole node agent with probed pods on the embedded runtime, while the agent's process stands still again and again.
 *
 * The runtime is a process of its own, as it always is, and answers at once. A few pods and stalls in each run of the
 * tests; PODLOOP_SCALE=full for fifty. Needs root.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProbeEnd, probeEnded } from '#base/channels/probe-channels.js';
import { EmbeddedNode } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';
import { recordResult } from './results-page.js';

const FULL = process.env['PODLOOP_SCALE'] === 'full';
const PODS = FULL ? 50 : 9;
/** Of the event loop, with so much time free before each: probes are met while they connect, wait and read. */
const FREE_MS = FULL ? [0, 1, 5, 20, 150, 500, 1_000, 2_000] : [0, 5, 150];
const STALL_MS = 3_000;
/** A hang must fail; a machine that others keep busy takes its time for fifty pods. */
const LIMIT_MS = FULL ? 900_000 : 240_000;
const PORT = 8080;

describe.runIf(process.getuid?.() === 0)(
  `${PODS} probed pods of a whole agent that stands still for 3 s`,
  () => {
    const toDispose: (() => Promise<unknown>)[] = [];
    let node: AgentNode;
    const ends: ProbeEnd[] = [];

    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'podloop-stalls-'));
      toDispose.unshift(() => rm(folder, { recursive: true, force: true }));
      const images = join(folder, 'images');
      await writeProgramImage(images);
      const program = await RuntimeProgram.build();
      toDispose.unshift(() => program[Symbol.asyncDispose]());
      const runtime = await EmbeddedNode.prepare({
        isolation: 'namespaces',
        network: 'bridge',
        imageDirs: [images],
      });
      toDispose.unshift(() => runtime[Symbol.asyncDispose]());
      const child = await program.start(runtime);
      toDispose.unshift(() => end(child, 'SIGTERM'));
      await mkdir(join(folder, 'manifests'));
      for (let at = 0; at < PODS; at++)
        await writeFile(join(folder, 'manifests', `pod-${at}.json`), manifest(at));
      const stopListening = probeEnded.subscribe((probe) => ends.push(probe));
      toDispose.unshift(async () => stopListening());
      node = await AgentNode.start({ folder, endpoint: runtime.listen, agent: { stopPods: true } });
      toDispose.unshift(() => node.stop());
    }, LIMIT_MS);

    afterAll(async () => {
      for (const dispose of toDispose) await dispose();
    }, LIMIT_MS);

    /** Ids of the containers that are ready. */
    function readyIds(): string[] {
      const containers = node.agent.statuses().flatMap(({ status }) => status.containerStatuses);
      return containers
        .filter(({ ready }) => ready)
        .map(({ containerID }) => containerID!)
        .sort();
    }

    it(
      'lose no container, and are probed again afterwards',
      async () => {
        await expect.poll(readyIds, { timeout: LIMIT_MS, interval: 50 }).toHaveLength(PODS);
        const before = readyIds();
        ends.length = 0;
        for (const freeMs of FREE_MS) {
          await new Promise((resolve) => setTimeout(resolve, freeMs));
          block(STALL_MS);
        }
        const probesBefore = ends.length;
        // Whatever was decided on during the stalls would be done by the time at which every pod was probed once more.
        await expect
          .poll(() => new Set(wellProbed(ends.slice(probesBefore))).size, { timeout: LIMIT_MS, interval: 50 })
          .toBe(PODS);
        await expect.poll(readyIds, { timeout: LIMIT_MS, interval: 50 }).toEqual(before);
        const restarts = node.agent
          .statuses()
          .flatMap(({ status }) => status.containerStatuses.map(({ restartCount }) => restartCount));
        expect(restarts).toEqual(restarts.map(() => 0));
        expect(node.agent.podEvents().filter(({ reason }) => reason === 'Killing')).toEqual([]);
        // Otherwise nothing was tried here.
        const overlapping = ends.filter(({ stalledMs }) => stalledMs > 1_000);
        expect(overlapping.length).toBeGreaterThan(PODS / 3);
        if (!FULL) return;
        await recordResult('agent', 'The node agent', {
          name: `${PODS} probed pods, the event loop blocked for 3 s ${FREE_MS.length} times`,
          what: 'Exec, HTTP and TCP probes that fail a container at the first failure, with timeouts of less than a stall, on the embedded runtime.',
          values: {
            'probes run': ends.length,
            'probes that overlapped a stall': overlapping.length,
            'of them counted neither way': ends.filter(({ outcome }) => outcome === 'void').length,
            'containers restarted': 0,
          },
        });
      },
      LIMIT_MS,
    );
  },
);

/** Uids of pods with a probe that went well. */
function wellProbed(ends: readonly ProbeEnd[]): string[] {
  return ends
    .filter(({ outcome, type }) => outcome === 'success' && type === 'liveness')
    .map(({ podUid }) => podUid);
}

/** Blocks the event loop, as a long slice of work does. */
function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

function manifest(at: number): string {
  const handlers = [
    { httpGet: { port: PORT } },
    { tcpSocket: { port: PORT } },
    { exec: { command: ['true'] } },
  ];
  const isExec = at % handlers.length === 2;
  // A program takes longer to start than a server to answer, on a machine that is busy with fifty of them.
  const times = { periodSeconds: isExec ? 3 : 1, timeoutSeconds: 2, failureThreshold: 1 };
  const probe = { ...handlers[at % handlers.length], ...times };
  const container = {
    name: 'server',
    image: PROGRAM_IMAGE,
    command: isExec ? ['sleep', '100000'] : ['serve', String(PORT)],
    startupProbe: { ...probe, failureThreshold: 60 },
    livenessProbe: probe,
    readinessProbe: probe,
  };
  const spec = { terminationGracePeriodSeconds: 0, containers: [container] };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${at}` }, spec });
}
