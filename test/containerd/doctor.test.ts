import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type DoctorOptions, type Finding, runDoctor } from '../../src/node/doctor/doctor-run.js';
import { ChaosProxy, parseRules } from '../../src/proxy/chaos/index.js';
import { SystemClock } from '#base/time/clock.js';
import { type Containerd, startContainerd } from './harness/containerd.js';
import { containerConfig, sandboxConfig } from './harness/pod-configs.js';

/** What others do to the machine that tests share. */
const OF_THE_MACHINE = [
  ...['CpuPressure', 'IoPressure', 'MemoryPressure', 'MemoryLow', 'DiskSlow', 'DiskFull', 'InodesUsedUp'],
  ...['TasksBlocked', 'Zombies'],
];

const optionsFor = (runtimeEndpoint: string): DoctorOptions => ({
  ...{ runtimeEndpoint, clock: new SystemClock(), signal: new AbortController().signal, hostRoot: '/' },
  ...{ timeoutMs: 2_000, watchMs: 1_000, events: 'auto', mayWrite: true, certificateFolders: [] },
  kubelet: { urls: [], healthzUrl: '', credentials: {} },
  readAgent: () => Promise.reject(new Error('there is none')),
  readAgentPods: () => Promise.reject(new Error('there is none')),
});
const ofTheRuntime = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ code }) => !OF_THE_MACHINE.includes(code));

async function runPod({ driver, names }: Containerd, name: string): Promise<void> {
  const sandbox = sandboxConfig({ name, cgroupParent: names.cgroupParent });
  const sandboxId = await driver.runSandbox(sandbox);
  const config = containerConfig(sandbox, { name: 'main', script: 'exec sleep 100000' });
  await driver.runContainer(sandboxId, config, sandbox);
}

it('blames nothing on a healthy containerd 2.1, and names the pod that hangs behind chaos', async () => {
  await using containerd = await startContainerd({ version: '2.1' });
  for (const name of ['web', 'db', 'cache']) await runPod(containerd, name);

  const healthy = await runDoctor(optionsFor(containerd.endpoint));
  expect(ofTheRuntime(healthy.findings)).toEqual([]);
  const { runtime, machine } = healthy.facts;
  expect(runtime).toMatchObject({ name: 'containerd', connection: { failures: 0 } });
  expect(runtime.inspections).toMatchObject({ known: true, value: { asked: 3, pods: 3, calls: 6 } });
  expect(runtime.events).toMatchObject({ known: true, value: { isSupported: true, missedCount: 0 } });
  expect(machine.shims).toMatchObject({ known: true, value: { count: 3, orphanCount: 0, goneCount: 0 } });
  expect(machine.fsync).toMatchObject({ known: true });

  const folder = await mkdtemp(join(tmpdir(), 'podloop-doctor-'));
  try {
    const rule =
      '{name: hung, match: {methods: [PodSandboxStatus], pods: [default/db]}, fault: {type: hang}}';
    await using chaos = await ChaosProxy.start({
      ...{ upstream: containerd.endpoint, listen: `unix://${folder}/chaos.sock`, seed: 1 },
      rules: parseRules(`rules:\n  - ${rule}\n`, 'rules.yaml'),
    });
    const sick = await runDoctor(optionsFor(chaos.endpoint));
    expect(ofTheRuntime(sick.findings)).toMatchObject([
      { code: 'PodHung', call: 'PodSandboxStatus', pod: { namespace: 'default', name: 'db' } },
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

it('takes no event from others on containerd 1.7, whatever it is told', async () => {
  await using containerd = await startContainerd({ version: '1.7' });
  const { facts, findings } = await runDoctor({ ...optionsFor(containerd.endpoint), events: 'always' });
  expect(ofTheRuntime(findings)).toEqual([]);
  expect(facts.runtime.events).toMatchObject({
    known: false,
    why: expect.stringContaining('to one reader alone') as unknown,
  });
});
