import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NodeFacts } from '../../../src/doctor/facts/node-facts.js';
import { type Finding } from '../../../src/doctor/finding.js';
import { type SyntheticRuntimeOptions } from '#testing/synthetic-runtime/index.js';
import { ChaosNode } from '../chaos-node.js';
import { runPodloop } from '../podloop-process.js';

/** What `podloop doctor -o json` prints. */
export interface PrintedDiagnosis {
  readonly time: string;
  readonly exitCode: number;
  readonly findings: readonly Finding[];
  readonly facts: NodeFacts;
}

/** What the doctor said, and with which exit code it ended. */
export interface DoctorRun {
  readonly code: number | null;
  readonly diagnosis: PrintedDiagnosis;
}

const QUIET =
  'some avg10=0.10 avg60=0.20 avg300=0.10 total=1\nfull avg10=0.00 avg60=0.10 avg300=0.10 total=1\n';

/** A node behind chaos whose machine is a folder, so that only what the test does to it is wrong with it. */
export class SickNode implements AsyncDisposable {
  readonly node: ChaosNode;
  readonly #root: string;

  static async start(options: SyntheticRuntimeOptions): Promise<SickNode> {
    const node = await ChaosNode.start(options);
    const sick = new SickNode(node, join(node.folder, 'root'));
    await sick.#furnish();
    return sick;
  }

  private constructor(node: ChaosNode, root: string) {
    this.node = node;
    this.#root = root;
  }

  /** Writes a file of the machine. */
  async write(path: string, text: string): Promise<void> {
    const file = join(this.#root, path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, text);
  }

  /** Runs the built `podloop doctor -o json` in front of chaos. */
  async examine(...flags: string[]): Promise<DoctorRun> {
    const { code, stdout, stderr } = await this.examineAsText('-o', 'json', ...flags);
    if (stdout === '') throw new Error(`the doctor said nothing: ${stderr}`);
    return { code, diagnosis: JSON.parse(stdout) as PrintedDiagnosis };
  }

  /** Runs the built `podloop doctor` in front of chaos. */
  async examineAsText(...flags: string[]): ReturnType<typeof runPodloop> {
    return await runPodloop([
      ...['doctor', '-r', this.node.proxy.endpoint, '--host-root', this.#root],
      ...['--timeout', '2s', '--for', '1s', '--events', 'always', '--no-disk-write'],
      ...['--kubelet-url', '', '--healthz-url', '', '--socket', join(this.#root, 'no.sock'), ...flags],
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
    await this.node[Symbol.asyncDispose]();
  }

  async #furnish(): Promise<void> {
    for (const name of ['cpu', 'io', 'memory']) await this.write(`proc/pressure/${name}`, QUIET);
    await this.write('proc/loadavg', '0.50 0.40 0.30 1/200 4242\n');
    await this.write('proc/stat', 'cpu  1 1 1\ncpu0 1 1 1\ncpu1 1 1 1\n');
    await this.write('proc/meminfo', 'MemTotal: 32000000 kB\nMemAvailable: 16000000 kB\n');
    await this.write('proc/sys/kernel/pid_max', '4194304\n');
    await this.write('proc/sys/kernel/threads-max', '250000\n');
  }
}
