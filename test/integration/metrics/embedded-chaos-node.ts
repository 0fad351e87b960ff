import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChaosProxy, parseRules } from '../../../src/proxy/chaos/index.js';
import { PodloopProcess } from '../podloop-process.js';
import { untilNobodyNames } from '../processes-naming.js';
import { type AlertsNode } from './alerts-harness.js';

/** The runtime in the box, which starts containers, and chaos in front of it. */
export class EmbeddedChaosNode implements AlertsNode {
  readonly folder: string;
  readonly proxy: ChaosProxy;
  readonly #runtime: PodloopProcess;

  private constructor(folder: string, proxy: ChaosProxy, runtime: PodloopProcess) {
    this.folder = folder;
    this.proxy = proxy;
    this.#runtime = runtime;
  }

  static async start(): Promise<EmbeddedChaosNode> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-alerts-'));
    const endpoint = `unix://${join(folder, 'cri.sock')}`;
    const runtime = new PodloopProcess([
      ...['runtime', '--listen', endpoint, '--root', join(folder, 'runtime'), '--stop-pods'],
      ...['--isolation', 'none', '--network', 'host'],
    ]);
    await runtime.line('stderr', /Listening/);
    const listen = `unix://${join(folder, 'chaos.sock')}`;
    const proxy = await ChaosProxy.start({ upstream: endpoint, listen, rules: [], seed: 1 });
    return new EmbeddedChaosNode(folder, proxy, runtime);
  }

  replaceRules(text: string): void {
    this.proxy.replaceRules(parseRules(text, 'scenario.yaml'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.close();
    this.#runtime.child.kill('SIGTERM');
    await this.#runtime.ended;
    await untilNobodyNames(this.folder);
    await rm(this.folder, { recursive: true, force: true });
  }
}
