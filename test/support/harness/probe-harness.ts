import { type Container, type Probe } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type RestartPolicy } from '#kube/container/container.js';
import { ProbeManager, type ProbeManagerOptions } from '../../../src/node/probes/probe-manager.js';
import {
  errored,
  failed,
  heldBack,
  type ProbeOutcome,
  silent,
  succeeded,
  unanswered,
} from '../../../src/node/probes/probe-outcome.js';
import { type ProbeResult } from '../../../src/node/probes/probe-result.js';
import { type ProbeTarget } from '../../../src/node/probes/probe-targets.js';
import { type ProbeRun } from '../../../src/node/probes/probe-worker.js';
import { FakeClock } from '#testing/fake-clock.js';

/** What a probe of the harness is to find: an outcome, or one for each run in turn (the last one stays). */
export type ScriptedOutcome =
  'success' | 'failure' | 'silence' | 'unanswered' | 'held back' | 'error' | 'hang';

/** A {@link ProbeManager} whose containers and outcomes the test sets, on a clock that the test moves. */
export class ProbeHarness implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly manager: ProbeManager;
  /** Every probe that was run: `main/liveness@id`. */
  readonly runs: string[] = [];
  /** When each of them began, in seconds after the harness did. */
  readonly runsAtSeconds: number[] = [];
  readonly results: ProbeResult[] = [];
  /** Probes that hang now. */
  hanging = 0;
  readonly #startMs: number;
  readonly #targets = new Map<string, ProbeTarget | 'unknown'>();
  readonly #script = new Map<string, ScriptedOutcome[]>();
  readonly #hung = new Set<(outcome: ProbeOutcome) => void>();

  constructor(options: Partial<ProbeManagerOptions> & { readonly clock?: FakeClock } = {}) {
    this.clock = options.clock ?? new FakeClock();
    this.#startMs = this.clock.monotonicMs();
    this.manager = new ProbeManager({
      targets: { find: (uid, name) => this.#targets.get(`${uid}/${name}`) ?? 'absent' },
      runProbe: (run, signal) => this.#run(run, signal),
      random: () => 0.5,
      ...options,
      clock: this.clock,
    });
    void this.#read();
  }

  /** What probes of that container and type find from now on: `main/liveness`. */
  script(probe: string, ...outcomes: ScriptedOutcome[]): void {
    this.#script.set(probe, outcomes);
  }

  /** A container as observed; running since now unless told. `id` undefined removes it, `unknown` is a look that failed. */
  observe(podUid: string, name: string, id: string | undefined, fields: Partial<ProbeTarget> = {}): void {
    const key = `${podUid}/${name}`;
    if (id === undefined) this.#targets.delete(key);
    else if (id === 'unknown') this.#targets.set(key, 'unknown');
    else {
      const startedAtMs = this.clock.now();
      this.#targets.set(key, {
        containerId: id,
        state: 'running',
        startedAtMs,
        host: '10.88.0.2',
        ...fields,
      });
    }
    this.manager.podChanged(podUid);
  }

  /** Lets what hangs end. */
  release(outcome: Exclude<ScriptedOutcome, 'hang'> = 'success'): void {
    for (const end of [...this.#hung]) end(toOutcome(outcome));
  }

  /** `type result` of every result so far, of all pods. */
  get verdicts(): string[] {
    return this.results.map(({ type, result, containerId }) => `${containerId} ${type} ${result}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.close();
  }

  async #read(): Promise<void> {
    for await (const result of this.manager.subscribe()) this.results.push(result);
  }

  async #run(run: ProbeRun, signal: AbortSignal): Promise<ProbeOutcome> {
    const probe = `${run.container.name}/${run.type}`;
    this.runs.push(`${probe}@${run.containerId}`);
    this.runsAtSeconds.push((this.clock.monotonicMs() - this.#startMs) / 1_000);
    const script = this.#script.get(probe) ?? ['success'];
    const outcome = script.length > 1 ? script.shift()! : script[0]!;
    if (outcome !== 'hang') return toOutcome(outcome);
    this.hanging++;
    try {
      return await new Promise<ProbeOutcome>((resolve, reject) => {
        this.#hung.add(resolve);
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    } finally {
      this.hanging--;
    }
  }
}

function toOutcome(outcome: Exclude<ScriptedOutcome, 'hang'>): ProbeOutcome {
  if (outcome === 'success') return succeeded('fine');
  if (outcome === 'failure') return failed('HTTP probe failed with statuscode: 500');
  if (outcome === 'unanswered') return unanswered('timed out', 12_000);
  if (outcome === 'held back') return heldBack('it has to wait');
  return outcome === 'silence' ? silent('i/o timeout') : errored('no such container');
}

/** A probe every second that takes a timeout of a second, and fails at the first failure. */
export function aProbe(fields: Partial<Probe> = {}): Probe {
  const often = { periodSeconds: 1, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 1 };
  return { tcpSocket: { port: 80 }, ...often, ...fields };
}

/** A pod `default/web` with one container `main` that has these fields. */
export function aProbedPod(
  container: Partial<Container>,
  fields: { readonly name?: string; readonly restartPolicy?: RestartPolicy } = {},
): NodePod {
  const { name = 'web', restartPolicy = 'Always' } = fields;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      restartPolicy,
      containers: [{ name: 'main', image: 'registry.example/app:1', ...container }],
    },
  };
}
