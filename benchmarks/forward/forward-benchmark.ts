/**
 * What connections through `podloop port-forward` cost, into a pod of the runtime in the box.
 *
 * In: an agent, its runtime, a pod that sends back what it gets, and the command, each a process of its own. Out: the time until all of
 * many connections that are opened at once have had an answer, direct to the pod's address and through the command. The
 * two take turns.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { abortable } from '#base/async/abortable.js';
import { findProgram } from '../../test/build-state.js';
import { BenchProcess } from '../agents/bench-process.js';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { type Progress } from '../progress.js';
import { makeRunFolder } from '../run-folder.js';
import { withDeadline } from '../with-deadline.js';
import { connectAtOnce, type EchoPlace } from './connect-at-once.js';
import { type ForwardFigures } from './judge-forward.js';

export interface ForwardBenchmarkOptions {
  readonly connections: number;
  readonly rounds: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

const POD = 'echo';
const PORT = 7_007;
const POLL_MS = 100;
const POD_MS = 120_000;
const ROUND_MS = 120_000;
/** Its backlog holds all connections at once. */
const SERVER = `require('node:net').createServer((socket) => socket.on('error', () => 0).pipe(socket)).listen({ host: '0.0.0.0', port: ${PORT}, backlog: 4096 })`;

/** Runs the benchmark. */
export async function runForwardBenchmark({
  connections,
  rounds,
  progress,
  signal,
}: ForwardBenchmarkOptions): Promise<ForwardFigures> {
  progress.begin(`forward: ${connections} connections at once`);
  await using endings = new DisposalStack();
  const folder = await makeRunFolder('forward');
  endings.use({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) });
  const manifests = path.join(folder, 'manifests');
  await mkdir(manifests);
  await writeFile(path.join(manifests, 'echo.json'), JSON.stringify(podOf()));
  const root = path.join(folder, 'root');
  const agent = await BenchProcess.start([
    ...['run', manifests, '--runtime-endpoint', 'embedded', '--root-dir', root, '--stop-pods'],
    ...['--pod-logs-dir', path.join(folder, 'logs'), '--node-name', 'bench', '--read-only-port', '0'],
  ]);
  endings.use(agent);
  const socket = path.join(root, 'podloop.sock');
  const direct = await withDeadline('until the pod runs', POD_MS, signal, async (within) =>
    untilServes(socket, within),
  );
  const { command, place } = await startForward(socket, signal);
  endings.use(command);
  const directMs: number[] = [];
  const forwardedMs: number[] = [];
  const measure = async (where: EchoPlace): Promise<number> =>
    await withDeadline(`for ${connections} answers`, ROUND_MS, signal, async (within) =>
      connectAtOnce(where, connections, within),
    );
  // What is loaded and started with the first connection is not judged.
  for (const where of [direct, place]) await measure(where);
  for (let round = 0; round < rounds; round++) {
    directMs.push(await measure(direct));
    forwardedMs.push(await measure(place));
    progress.step(round + 1, rounds, 'rounds');
  }
  return { connections, directMs, forwardedMs };
}

function podOf(): object {
  const command = [process.execPath, '-e', SERVER];
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: POD } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'podloop.local/host', command }],
    },
  };
}

/** The place of the pod, once it answers there. */
async function untilServes(socket: string, signal: AbortSignal): Promise<EchoPlace> {
  for (;;) {
    const host = await findPodIp(socket, signal);
    if (host !== '') {
      const place = { host, port: PORT };
      const answered = await connectAtOnce(place, 1, signal).catch(() => undefined);
      if (answered !== undefined) return place;
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Empty until it has one. */
async function findPodIp(socket: string, signal: AbortSignal): Promise<string> {
  const args = ['get', 'pod', POD, '--socket', socket, '-o', 'jsonpath={.status.podIP}'];
  const main = findProgram(process.cwd());
  const got = promisify(execFile)(process.execPath, [main, ...args], { signal });
  return await got.then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}

async function startForward(
  socket: string,
  signal: AbortSignal,
): Promise<{ readonly command: BenchProcess; readonly place: EchoPlace }> {
  let found: (port: number) => void = () => undefined;
  const port = new Promise<number>((resolve) => (found = resolve));
  const command = await BenchProcess.start(['port-forward', POD, `:${PORT}`, '--socket', socket], {
    onLine: (line) => {
      const local = /^Forwarding from .*:(\d+) -> /.exec(line)?.[1];
      if (local !== undefined) found(Number(local));
    },
  });
  try {
    const local = await withDeadline('until the port is forwarded', POD_MS, signal, async (within) =>
      abortable(port, within),
    );
    return { command, place: { host: '127.0.0.1', port: local } };
  } catch (error) {
    await command[Symbol.asyncDispose]();
    throw error;
  }
}
