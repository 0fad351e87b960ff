import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { type JournalEntry } from '#history';
import { readJournal } from '../../integration/observe/read-journal.js';
import { PodloopProcess } from '../../integration/podloop-process.js';
import { type IncidentNode } from './incident-node.js';

/** An observer lists every ten seconds at least. */
const ONE_MORE_LIST_MS = 12_000;

/** Deaths in a kubelet's log and on an observer's record, as ids of sandboxes and containers. */
export interface ComparedDeaths {
  /** In the kubelet's log, each once. */
  readonly deaths: number;
  /** Of these, the ones without a record. */
  readonly missing: readonly string[];
  /** The ones with more than one record, whoever has them. */
  readonly twice: readonly string[];
}

/** `podloop observe` beside a node. */
export class NodeWitness implements AsyncDisposable {
  readonly #node: IncidentNode;
  readonly #root: string;
  readonly #observer: PodloopProcess;
  readonly #logBefore: number;

  private constructor(node: IncidentNode, root: string, observer: PodloopProcess, logBefore: number) {
    this.#node = node;
    this.#root = root;
    this.#observer = observer;
    this.#logBefore = logBefore;
  }

  static async start(node: IncidentNode, root: string): Promise<NodeWitness> {
    const { url, healthzUrl } = node.kubeletUrls;
    const observer = new PodloopProcess([
      ...[
        'observe',
        '--runtime-endpoint',
        node.containerd.endpoint,
        '--root-dir',
        root,
        '--node-name',
        'test',
      ],
      ...['--metrics-bind-address', '0', '--kubelet-url', url, '--healthz-url', healthzUrl],
    ]);
    await observer.line('stderr', /Starting to listen".*socket/);
    const { log } = await node.readTraces();
    return new NodeWitness(node, root, observer, log.length);
  }

  /** Ends it, and holds its history against the kubelet's log. */
  async compareDeaths(): Promise<ComparedDeaths> {
    await sleep(ONE_MORE_LIST_MS);
    const { log } = await this.#node.readTraces();
    expect(await this.#observer.end('SIGTERM')).toEqual({ code: 0, signal: null });
    return compareDeaths(log.slice(this.#logBefore), await readJournal(this.#root));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#observer[Symbol.asyncDispose]();
  }
}

/** Pure. `log`: what the kubelet wrote while the observer ran. */
export function compareDeaths(
  log: string,
  records: readonly Pick<JournalEntry, 'reason' | 'details'>[],
): ComparedDeaths {
  const lines = log.matchAll(/"SyncLoop \(PLEG\): event for pod".*"Type":"ContainerDied","Data":"(\w+)"/g);
  // A kubelet that was started again finds the dead ones once more.
  const died = new Set([...lines].map(([, id]) => id!));
  const counts = new Map<string, number>();
  for (const { reason, details } of records) {
    if (reason !== 'ContainerDied') continue;
    const id = String(details?.['containerId']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return {
    deaths: died.size,
    missing: [...died].filter((id) => !counts.has(id)),
    twice: [...counts].filter(([, count]) => count > 1).map(([id]) => id),
  };
}
