import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type RestartPolicy } from '#kube/container/container.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { aSidecar, aBareContainer } from '#support/builders/pod-action-inputs.js';
import { type ModelContainer, PodModel, specContainersOf } from '#support/builders/pod-model.js';
import { computePodActions, isNothingToDo } from './compute-actions.js';
import { ContainerAges } from './container-ages.js';
import { containerHash, sandboxHash } from './container-hash.js';
import { type PodActions } from './pod-actions.js';
import { DEFAULT_RESTART_BACKOFF } from './restart-backoff.js';

const NAMES = ['one', 'mesh', 'two', 'a', 'b'] as const;
const HOUR_MS = 3_600_000;

type Happening =
  | { readonly type: 'end'; readonly name: string; readonly exitCode: number }
  | { readonly type: 'fail' | 'edit' | 'blur'; readonly name: string }
  | { readonly type: 'lose sandbox' | 'collect' | 'restart agent' | 'edit sandbox' }
  | { readonly type: 'pass'; readonly ms: number }
  | { readonly type: 'jump'; readonly ms: number }
  /** The agent dies after so many changes of the next sync. */
  | { readonly type: 'die'; readonly steps: number };

const nameOf = fc.constantFrom(...NAMES);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  fc.record({ type: fc.constant('end' as const), name: nameOf, exitCode: fc.constantFrom(0, 1, 137) }),
  fc.record({ type: fc.constantFrom('fail' as const, 'edit' as const, 'blur' as const), name: nameOf }),
  fc.record({ type: fc.constantFrom('lose sandbox' as const, 'collect' as const, 'edit sandbox' as const) }),
  fc.constant({ type: 'restart agent' as const }),
  fc.record({
    type: fc.constant('pass' as const),
    ms: fc.constantFrom(1_000, 9_999, 10_000, 60_000, 700_000),
  }),
  fc.record({ type: fc.constant('die' as const), steps: fc.nat(6) }),
);
const jump: fc.Arbitrary<Happening> = fc.record({
  type: fc.constant('jump' as const),
  ms: fc.constantFrom(HOUR_MS, -HOUR_MS),
});

function aModelPod(restartPolicy: RestartPolicy): NodePod {
  return aNodePod({
    spec: {
      restartPolicy,
      initContainers: [aBareContainer('one'), aSidecar('mesh', { livenessProbe: {} }), aBareContainer('two')],
      containers: [aBareContainer('a', { livenessProbe: {} }), aBareContainer('b', { livenessProbe: {} })],
    },
  });
}

/** An agent that syncs one pod of a {@link PodModel}, and holds each of its decisions against what must never be. */
class ModelAgent {
  readonly clock = new FakeClock();
  readonly model: PodModel;
  readonly failedLiveness = new Set<string>();
  #ages = new ContainerAges({ clock: this.clock });
  /** Definitions that have run, by name. */
  readonly #ran = new Map<string, Set<string>>();
  /** The last one of each name that ended. */
  readonly #lastEnds = new Map<string, ModelContainer>();
  readonly #watchesBackoff: boolean;
  #dieAfter: number | undefined;

  constructor(policy: RestartPolicy, watchesBackoff = true) {
    this.#watchesBackoff = watchesBackoff;
    this.model = new PodModel({ clock: this.clock, pod: aModelPod(policy) });
  }

  plan(): PodActions {
    const { model } = this;
    return computePodActions({
      pod: model.pod,
      observed: model.observed,
      probes: {
        hasFailedLiveness: (id) => this.failedLiveness.has(id),
        hasFailedStartup: () => false,
        hasStarted: () => true,
      },
      runTimes: this.#ages.observe(model.pod.metadata.uid, model.observed.containers),
    });
  }

  sync(): PodActions {
    const actions = this.plan();
    this.#check(actions);
    const { model } = this;
    model.apply(actions, this.#dieAfter);
    if (this.#dieAfter !== undefined) this.#ages = new ContainerAges({ clock: this.clock });
    this.#dieAfter = undefined;
    this.#remember();
    this.#checkWorld();
    return actions;
  }

  happen(event: Happening): void {
    const { model, clock } = this;
    switch (event.type) {
      case 'end':
        model.end(event.name, event.exitCode);
        break;
      case 'fail':
        for (const { status } of model.alive)
          if (status.name === event.name) this.failedLiveness.add(status.id);
        break;
      case 'blur':
        model.blur(event.name);
        break;
      case 'edit':
        model.pod = edited(model.pod, event.name);
        break;
      case 'edit sandbox':
        model.pod = {
          ...model.pod,
          spec: { ...model.pod.spec, subdomain: `${model.pod.spec.subdomain ?? ''}x` },
        };
        break;
      case 'lose sandbox':
        model.loseSandbox();
        break;
      case 'collect':
        model.collect();
        break;
      case 'restart agent':
        this.#ages = new ContainerAges({ clock });
        break;
      case 'pass':
        clock.stall(event.ms);
        break;
      case 'jump':
        clock.jumpWallClock(event.ms);
        break;
      case 'die':
        this.#dieAfter = event.steps;
    }
    this.#remember();
  }

  /** Syncs until nothing is left to do, while init containers end well; how often it had to. */
  settle(): number {
    for (let round = 1; ; round++) {
      if (round > 60) throw new Error(`no end: ${JSON.stringify(this.plan())}`);
      const { containersInBackoff, requeueAfterMs, ...actions } = this.sync();
      for (const name of ['one', 'two']) this.model.end(name, 0);
      this.#remember();
      if (containersInBackoff.length > 0) this.clock.stall(requeueAfterMs!);
      else if (
        isNothingToDo({ ...actions, containersInBackoff, requeueAfterMs }) &&
        isNothingToDo(this.plan())
      )
        return round;
    }
  }

  #check(actions: PodActions): void {
    const { model } = this;
    const doomed = new Set(
      actions.killPod
        ? model.alive.map(({ status }) => status.id)
        : actions.containersToKill.map(({ id }) => id),
    );
    const starts = [...actions.initContainersToStart, ...actions.containersToStart];
    for (const { container, hash, kind, createdId } of starts) {
      const alive = model.alive.filter(
        ({ status }) => status.name === container.name && !doomed.has(status.id),
      );
      expect(alive, `${container.name} is started while it runs`).toEqual([]);
      expect(hash).toBe(containerHash(container, model.pod.spec));
      if (model.pod.spec.restartPolicy === 'Never' && kind === 'regular' && createdId === undefined) {
        const isAnew =
          actions.createSandbox &&
          model.sandboxes[0]?.annotations['podloop.dev/sandbox-hash'] !== sandboxHash(model.pod);
        expect(
          !isAnew && this.#ran.get(container.name)?.has(hash),
          `${container.name} runs a second time`,
        ).not.toBe(true);
      }
      this.#checkBackoff(actions, container.name, hash);
    }
    if (!actions.killPod) for (const { id } of actions.containersToKill) this.#checkKill(id);
    for (const { delayMs, remainingMs } of actions.containersInBackoff) {
      expect(remainingMs).toBeGreaterThan(0);
      expect(remainingMs).toBeLessThanOrEqual(delayMs);
      expect(delayMs).toBeLessThanOrEqual(DEFAULT_RESTART_BACKOFF.maxMs);
    }
  }

  /** Whoever crashed waits, by the time that really went by. */
  #checkBackoff({ createSandbox }: PodActions, name: string, hash: string): void {
    const last = this.#lastEnds.get(name);
    const newest = this.model.containers.findLast(({ status }) => status.name === name);
    if (createSandbox || last === undefined || newest !== last || newest.start.hash !== hash) return;
    if (newest.status.sandboxId !== this.model.sandboxes[0]?.id) return;
    const { startedAtMs = 0, endedAtMs = 0, start } = newest;
    const ranWell = endedAtMs - startedAtMs >= DEFAULT_RESTART_BACKOFF.resetAfterMs;
    if (ranWell || !this.#watchesBackoff) return;
    expect(this.clock.monotonicMs() - endedAtMs, `${name} did not wait`).toBeGreaterThanOrEqual(
      start.restartDelayMs,
    );
  }

  /** What is well is left alone. */
  #checkKill(id: string): void {
    const { model } = this;
    const { status, start } = model.containers.find((each) => each.status.id === id)!;
    const spec = specContainersOf(model.pod).find(({ name }) => name === status.name)!;
    const isWell =
      status.state === 'running' &&
      start.hash === containerHash(spec, model.pod.spec) &&
      !this.failedLiveness.has(id) &&
      status.sandboxId === model.sandboxes[0]?.id;
    expect(isWell, `${id} was well`).toBe(false);
  }

  #checkWorld(): void {
    const { model } = this;
    for (const name of NAMES) {
      const alive = model.alive.filter(({ status }) => status.name === name);
      expect(alive.length, `${name} runs ${alive.length} times`).toBeLessThanOrEqual(1);
    }
    expect(model.sandboxes.filter(({ state }) => state === 'running').length).toBeLessThanOrEqual(1);
    const current = (name: string): ModelContainer | undefined =>
      model.containers.findLast(
        ({ status }) => status.name === name && status.sandboxId === model.sandboxes[0]?.id,
      );
    if (current('a')?.status.state === 'running' && !this.#isCollected('two')) {
      expect(current('two')?.status, 'a began before two was through').toMatchObject({
        state: 'exited',
        exitCode: 0,
      });
    }
  }

  #isCollected(name: string): boolean {
    return !this.model.containers.some(({ status }) => status.name === name);
  }

  #remember(): void {
    for (const each of this.model.containers) {
      const { name, state } = each.status;
      if (state === 'created') continue;
      this.#ran.set(name, (this.#ran.get(name) ?? new Set()).add(each.start.hash));
      if (state === 'exited') this.#lastEnds.set(name, each);
    }
  }
}

function edited(pod: NodePod, name: string): NodePod {
  const change = (containers: NodePod['spec']['containers']) =>
    containers.map((each) => (each.name === name ? { ...each, args: [...(each.args ?? []), 'x'] } : each));
  const { spec } = pod;
  return {
    ...pod,
    spec: { ...spec, containers: change(spec.containers), initContainers: change(spec.initContainers ?? []) },
  };
}

function isOver({ model }: ModelAgent): boolean {
  return model.alive.length === 0 && model.sandboxes.every(({ state }) => state === 'exited');
}

describe.each(['Always', 'OnFailure', 'Never'] as const)('a pod with restart policy %s', (policy) => {
  it('suffers nothing that it must not, whatever happens to it, and comes to rest', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), (events) => {
        const agent = new ModelAgent(policy);
        for (const event of events) {
          agent.happen(event);
          agent.sync();
        }
        agent.settle();
        const running = agent.model.alive.map(({ status }) => status.name);
        if (policy === 'Always') expect(running).toEqual(expect.arrayContaining(['mesh', 'a', 'b']));
        else if (!isOver(agent)) expect(running).toContain('mesh');
      }),
      { numRuns: 100 },
    );
  });

  it('waits as long as it must and no longer while the clock on the wall jumps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 2, arbitrary: happening }, { weight: 1, arbitrary: jump }), {
          maxLength: 30,
        }),
        (events) => {
          const agent = new ModelAgent(policy);
          // An agent that was away while the clock jumped has nothing to go by.
          for (const event of events.filter(({ type }) => type !== 'restart agent' && type !== 'die')) {
            agent.happen(event);
            agent.sync();
          }
          agent.settle();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('comes to rest although the clock on the wall jumps while no agent is there to see it', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(happening, jump), { maxLength: 30 }), (events) => {
        const agent = new ModelAgent(policy, false);
        for (const event of events) {
          agent.happen(event);
          agent.sync();
        }
        agent.settle();
      }),
      { numRuns: 60 },
    );
  });
});
