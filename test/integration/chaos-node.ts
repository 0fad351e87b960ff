import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ChaosProxy, type Injection, parseRules } from '../../src/proxy/chaos/index.js';
import {
  type SpawnedSyntheticRuntime,
  spawnSyntheticRuntime,
  type SyntheticControl,
  type SyntheticRuntimeOptions,
} from '#testing/synthetic-runtime/index.js';
import { PodloopProcess } from './podloop-process.js';

const SCENARIOS = fileURLToPath(new URL('../../examples/chaos/', import.meta.url));

/** The text of a scenario of examples/chaos, with some of its words replaced. */
export async function readScenario(
  name: string,
  replace: Readonly<Record<string, string>> = {},
): Promise<string> {
  let text = await readFile(join(SCENARIOS, `${name}.yaml`), 'utf8');
  for (const [from, to] of Object.entries(replace)) {
    if (!text.includes(from)) throw new Error(`the scenario ${name} has no ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** An event as `podloop watch -o json` prints it. */
export interface WatchedEvent {
  readonly time: string;
  readonly type: string;
  readonly kind?: string;
  readonly pod: { readonly uid: string; readonly namespace: string; readonly name: string };
  readonly containerId?: string;
  readonly exitCode?: number;
  readonly trigger: string;
  readonly folded?: number;
}

/** A synthetic runtime, chaos in front of it, and `podloop watch` before that. */
export class ChaosNode implements AsyncDisposable {
  readonly proxy: ChaosProxy;
  readonly injections: readonly Injection[];
  readonly #runtime: SpawnedSyntheticRuntime;
  readonly #folder: string;
  readonly #watchers: PodloopProcess[] = [];

  private constructor(
    proxy: ChaosProxy,
    injections: readonly Injection[],
    runtime: SpawnedSyntheticRuntime,
    folder: string,
  ) {
    this.proxy = proxy;
    this.injections = injections;
    this.#runtime = runtime;
    this.#folder = folder;
  }

  /** Without rules, until {@link replaceRules}. */
  static async start(options: SyntheticRuntimeOptions): Promise<ChaosNode> {
    const runtime = await spawnSyntheticRuntime(options);
    const folder = await mkdtemp(join(tmpdir(), 'podloop-chaos-'));
    const injections: Injection[] = [];
    const proxy = await ChaosProxy.start({
      upstream: runtime.endpoint,
      listen: `unix://${join(folder, 'chaos.sock')}`,
      rules: [],
      seed: 1,
      onInjection: (injection) => void injections.push(injection),
    });
    return new ChaosNode(proxy, injections, runtime, folder);
  }

  get control(): SyntheticControl {
    return this.#runtime.control;
  }

  /** Of the runtime itself, past chaos. */
  get runtimeEndpoint(): string {
    return this.#runtime.endpoint;
  }

  get folder(): string {
    return this.#folder;
  }

  replaceRules(text: string): void {
    this.proxy.replaceRules(parseRules(text, 'scenario.yaml'));
  }

  async writeRules(text: string): Promise<string> {
    const file = join(this.#folder, 'rules.yaml');
    await writeFile(file, text);
    return file;
  }

  /** `podloop watch -o json` on the other side of chaos. */
  watch(...flags: string[]): PodloopProcess {
    const watcher = new PodloopProcess([
      ...['watch', '--runtime-endpoint', this.proxy.endpoint, '-o', 'json'],
      ...flags,
    ]);
    this.#watchers.push(watcher);
    return watcher;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watcher of this.#watchers) await watcher[Symbol.asyncDispose]();
    await this.proxy.close();
    await this.#runtime.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const readSoFar = new WeakMap<PodloopProcess, WatchedEvent[]>();

/** What a watcher has printed so far. Each line is read once: some tests ask again and again about thousands. */
export function eventsOf(watcher: PodloopProcess): readonly WatchedEvent[] {
  const events = readSoFar.get(watcher) ?? [];
  readSoFar.set(watcher, events);
  for (const line of watcher.stdout.slice(events.length)) events.push(JSON.parse(line) as WatchedEvent);
  return events;
}

/** Ids of the containers that died, as printed; one that is told twice is there twice. */
export function deathsIn(watcher: PodloopProcess): string[] {
  return eventsOf(watcher)
    .filter(({ type, kind }) => type === 'ContainerDied' && kind === 'container')
    .map(({ containerId }) => containerId!);
}
