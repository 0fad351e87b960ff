import { describe, expect, it } from 'vitest';
import { type ObservedContainer } from '../watch/observed/runtime.js';
import { FakeClock } from './fake-clock.js';
import { FakeRuntime } from './fake-runtime.js';
import { RUNTIME_CONFORMANCE, type RuntimeDriver } from './runtime-conformance/index.js';

/** Does to a fake runtime what CRI calls do to a real one. */
class FakeDriver implements RuntimeDriver {
  readonly #clock = new FakeClock();
  readonly #exitCodes = new Map<string, number>();
  readonly #uidOf = new Map<string, string>();
  readonly runtime: FakeRuntime;
  readonly podsHaveAddresses = true;
  #addresses = 0;
  #containers = 0;

  constructor({ openSilently = false } = {}) {
    this.runtime = new FakeRuntime({ clock: this.#clock, announce: true });
    this.runtime.events.announceOpening(!openSilently);
  }

  async runSandbox(pod: Parameters<RuntimeDriver['runSandbox']>[0]): Promise<string> {
    const { uid, namespace, name, labels, annotations } = pod;
    this.runtime.setPod({ uid, namespace, name, owner: 'kubernetes', sandboxes: [], containers: [] });
    const ips = [`10.0.0.${++this.#addresses}`];
    const { id } = this.runtime.setSandbox(uid, 'running', { ips, labels, annotations });
    this.#uidOf.set(id, uid);
    return id;
  }

  async createContainer(container: Parameters<RuntimeDriver['createContainer']>[0]): Promise<string> {
    const { pod, sandboxId, name, attempt, program } = container;
    const taken = await this.runtime.findPod(pod.uid);
    if (taken!.containers.some((other) => other.name === name && other.attempt === attempt))
      throw new Error(`the name ${name} is taken`);
    const id = `${pod.uid}-${name}-${++this.#containers}`;
    this.runtime.setContainer(pod.uid, name, 'created', { id, attempt, sandboxId });
    this.#uidOf.set(id, pod.uid);
    if (program !== 'runsOn') this.#exitCodes.set(id, program.exitsWith);
    return id;
  }

  async startContainer(id: string): Promise<void> {
    const { containers, sandboxes } = (await this.runtime.findPod(this.#uidOf.get(id)!))!;
    const { state, sandboxId } = containers.find((container) => container.id === id)!;
    const sandbox = sandboxes.find((other) => other.id === sandboxId);
    if (state !== 'created' || sandbox?.state !== 'running') throw new Error(`${id} cannot be started`);
    this.runtime.setContainer(this.#uidOf.get(id)!, id, 'running');
    const exitCode = this.#exitCodes.get(id);
    if (exitCode !== undefined) this.#end(id, exitCode);
  }

  async killContainer(id: string): Promise<void> {
    const found = await this.#find(id);
    if (found?.state === 'running') this.#end(id, 137);
  }

  async removeContainer(id: string): Promise<void> {
    if ((await this.#find(id)) === undefined) return;
    await this.killContainer(id);
    this.runtime.removeContainer(this.#uidOf.get(id)!, id);
  }

  async stopSandbox(id: string): Promise<void> {
    const uid = this.#uidOf.get(id)!;
    const pod = await this.runtime.findPod(uid);
    if (pod?.sandboxes[0]?.state !== 'running') return;
    for (const container of pod.containers) if (container.state === 'running') this.#end(container.id, 137);
    this.runtime.setSandbox(uid, 'exited', { id, ips: [] });
  }

  async removeSandbox(id: string): Promise<void> {
    const uid = this.#uidOf.get(id)!;
    if ((await this.runtime.findPod(uid)) !== undefined) this.runtime.removePod(uid);
  }

  async pause(): Promise<void> {
    await this.#clock.advance(10);
  }

  async #find(id: string): Promise<ObservedContainer | undefined> {
    const pod = await this.runtime.findPod(this.#uidOf.get(id)!);
    return pod?.containers.find((container) => container.id === id);
  }

  #end(id: string, exitCode: number): void {
    this.runtime.setContainer(this.#uidOf.get(id)!, id, 'exited', { exitCode });
  }
}

describe.each([{ openSilently: false }, { openSilently: true }])('the fake runtime, %o', (options) => {
  it.each(RUNTIME_CONFORMANCE)('$title', async (conformance) => {
    const driver = new FakeDriver(options);
    await conformance.run(driver, AbortSignal.timeout(20_000));
    expect(await driver.runtime.listPods()).toEqual([]);
    expect(driver.runtime.eventReaders).toBe(0);
  });
});

it('a case gives up when its signal aborts, and says what it waited for', async () => {
  const driver = new FakeDriver();
  driver.killContainer = async () => undefined;
  const killed = RUNTIME_CONFORMANCE.find(({ title }) => title.includes('killed program'))!;
  await expect(killed.run(driver, AbortSignal.timeout(100))).rejects.toThrow(
    'gave up waiting: uid-conformance',
  );
  expect(await driver.runtime.listPods()).toEqual([]);
});
