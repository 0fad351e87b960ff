import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { FakeRegistry } from '#support/fakes/fake-registry.js';
import { packPrograms } from '../../containerd/harness/image.js';
import { readInstalled } from '../../containerd/harness/installed.js';
import { ofTheNode } from './incident.js';
import { type IncidentNode } from './incident-node.js';

const run = promisify(execFile);
/** Pods of a round; of each fifth round, which come and go at once. */
const [FEW, MANY] = [10, 40];
const SLOW_DISK_MIB = 256;
/** Of pods that end by themselves, which a kubelet logs. */
const ENDS = 'sleep 5; exit 0';

/** What an hour or a minute of it gave. */
export interface ChurnResult {
  /** What was blamed, with the round. */
  readonly wrong: readonly string[];
  /** What was done, in words. */
  readonly said: string;
  /** How long the last examination took. */
  readonly tookMs: number;
}

/**
 * Lets pods come and go, by tens and each fifth round by forties, and as many that end by themselves, and examines the node
 * meanwhile. Each second round their image is pulled, each third one containerd is killed and started, each fourth one the
 * kubelet, each fifth one a disk is kept busy, and each sixth one both start together with pods waiting for them, as on a
 * node that has just been started.
 */
export async function churn(node: IncidentNode, minutes: number): Promise<ChurnResult> {
  const untilMs = performance.now() + minutes * 60_000;
  const wrong: string[] = [];
  const counts = { pods: 0, examinations: 0, pulls: 0, restarts: 0 };
  let tookMs = 0;
  await using registry = await FakeRegistry.start();
  const image = await serveImage(registry);
  for (let round = 1; round === 1 || performance.now() < untilMs; round++) {
    const examine = async (): Promise<void> => {
      const { findings, tookMs: took } = await node.examine();
      tookMs = took;
      counts.examinations++;
      wrong.push(...ofTheNode(findings).map(({ code, message }) => `round ${round}: ${code}: ${message}`));
    };
    const number = round % 5 === 0 ? MANY : FEW;
    const names = Array.from({ length: number }, (_, at) => `churn-${round}-${at}`);
    const container = round % 2 === 0 ? { image, imagePullPolicy: 'Always' } : {};
    const busy = round % 5 === 0 ? keepDiskBusy(node.containerd.folder) : undefined;
    if (round % 6 === 0) {
      await node.endKubelet('SIGKILL');
      await node.containerd.kill();
    }
    for (const name of names) await node.want({ name, container, spec: { hostNetwork: false } });
    const ending = names.map((name) => `${name}-ends`).slice(0, FEW);
    for (const name of ending) await node.want({ name, script: ENDS, spec: { restartPolicy: 'Never' } });
    counts.pods += number + ending.length;
    if (round % 2 === 0) counts.pulls += number;
    if (round % 6 === 0) {
      await node.containerd.start();
      const starting = node.startKubelet();
      await examine();
      await starting;
      counts.restarts += 2;
    }
    // While they are made, while they run, and while they are deleted.
    await examine();
    for (const name of names) await node.find(name);
    await examine();
    await node.unwantAll();
    await examine();
    for (const name of [...names, ...ending]) await node.gone(name);
    await busy;
    if (round % 3 === 0) {
      await node.containerd.killAndRestart();
      counts.restarts++;
    }
    if (round % 4 === 0) {
      await node.endKubelet('SIGTERM');
      await node.startKubelet();
      counts.restarts++;
    }
  }
  const { pods, examinations, pulls, restarts } = counts;
  return {
    ...{ wrong, tookMs },
    said: `${pods} pods made and deleted, ${pulls} of them with a pull, ${restarts} restarts of containerd or the kubelet, ${examinations} examinations`,
  };
}

/** Serves the programs' image from a registry; gives its name there. */
async function serveImage(registry: FakeRegistry): Promise<string> {
  const layers = [await packPrograms((await readInstalled()).busybox)];
  const { manifest } = registry.layout.addManifest({ layers, config: { Env: ['PATH=/bin'] } });
  registry.tag('churn:1', manifest);
  return `${registry.host}/churn:1`;
}

async function keepDiskBusy(folder: string): Promise<void> {
  const file = path.join(folder, 'busy');
  await run('dd', ['if=/dev/zero', `of=${file}`, 'bs=1M', `count=${SLOW_DISK_MIB}`, 'oflag=dsync']);
  await rm(file);
}
