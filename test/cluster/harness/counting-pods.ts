import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAnswer, type KubeClient } from '../../../src/cluster/client/kube-client.js';
import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { HOST_IMAGE } from './cluster-agent.js';

/** What {@link CountingPods} are made with. */
export interface CountingPodsOptions {
  /** Who may do anything. */
  readonly admin: KubeClient;
  readonly nodeName: string;
  /** Where they count; on the machine of the node. */
  readonly folder: string;
}

const PODS = '/api/v1/namespaces/default/pods';

/** Pods of one node that count in files of their names, so that their lives show. */
export class CountingPods {
  readonly #options: CountingPodsOptions;

  constructor(options: CountingPodsOptions) {
    this.#options = options;
  }

  /** Has the API server make one; it may not run yet. */
  async make(name: string): Promise<void> {
    const { admin, nodeName } = this.#options;
    const file = this.fileOf(name);
    const count = `n=$((n+1)); echo $n >${file}.new; mv ${file}.new ${file}; sleep 0.2`;
    const script = `trap "exit 0" TERM; n=0; while :; do ${count}; done`;
    const containers = [{ name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] }];
    const spec = { nodeName, terminationGracePeriodSeconds: 2, containers };
    await admin.request({ method: 'POST', path: PODS, body: { metadata: { name }, spec } });
  }

  async get(name: string): Promise<Pod> {
    return await this.#options.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` });
  }

  async delete(name: string): Promise<void> {
    await this.#options.admin.request({ method: 'DELETE', path: `${PODS}/${name}` });
  }

  /** Whether the API server says that there is none of this name. */
  async isGone(name: string): Promise<boolean> {
    return await this.get(name).then(
      () => false,
      (error: unknown) => isAnswer(error, 404),
    );
  }

  /** How far it has counted since its container began; 0 while there is no file. */
  async countOf(name: string): Promise<number> {
    return Number(await readFile(this.fileOf(name), 'utf8').catch(() => '0'));
  }

  fileOf(name: string): string {
    return join(this.#options.folder, name);
  }
}
