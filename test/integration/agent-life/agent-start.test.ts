import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { KubeApiHarness } from '#support/harness/kube-api-harness.js';
import { type SpawnedSyntheticRuntime, spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';
import { Agent, type AgentPorts } from '../../../src/node/agent.js';
import { INLINE_PARSER } from '../../../src/node/desired/manifests/parse-manifest.js';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { resolveAgentOptions } from '../../../src/node/options/resolve-agent-options.js';
import { PODLOOP_MAIN } from '../podloop-process.js';
import { type Belongings, CountingClock, findCommands, findLeft, readBelongings } from './left-behind.js';

/** The life of an agent, as {@link Agent.start} and {@link Agent.run} begin it. */
const STARTING = [
  'requirements of the machine',
  'limits of the agent',
  'files of the servers',
  'connection to the cluster',
  'root folder',
  'identity of the node',
  'runtime',
  'claim of manifests',
  'pods',
  'listeners of the history',
  'metrics',
  'API',
  'parts of the cluster',
];
const RUNNING = [
  'first facts of the node',
  'history',
  'reports of failures',
  'observers',
  'subscriptions of events',
  'cgroups of pods',
  'records of pulls',
  'progress of pulls',
  'changes of the runtime',
  'memory of probes',
  'probes',
  'pod workers',
  'housekeeping',
  'Services',
  'deciders',
  'work in the background',
];

let runtime: SpawnedSyntheticRuntime;
let lab: KubeApiHarness;
let kubeconfig: string;
let folder: string;
let healthzPort: number;
let before: Belongings;

/** Of all agents. */
const clock = new CountingClock();

beforeAll(async () => {
  runtime = await spawnSyntheticRuntime({ pods: 2, containersPerPod: 1 });
  lab = await KubeApiHarness.open();
  lab.handler = (_, response) => {
    response.statusCode = 404;
    response.end('{}');
  };
  kubeconfig = await lab.writeKubeconfig();
  folder = await mkdtemp(join(tmpdir(), 'podloop-agent-start-'));
  await mkdir(join(folder, 'manifests'));
  healthzPort = await findFreePort();
  // What a process opens once and never closes (threads, random numbers) is there from now on.
  await lifeOf(STARTING.length + RUNNING.length);
  before = readBelongings(folder);
});

afterAll(async () => {
  await runtime.close();
  await lab[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const at = (name: string): string => join(folder, name);

function optionsOf(more: Partial<AgentOptions> = {}): AgentOptions {
  return resolveAgentOptions({
    ...{ podManifestPath: at('manifests'), rootDir: at('root'), podLogsDir: at('logs'), nodeName: 'test' },
    ...{ runtimeEndpoint: runtime.endpoint, readOnlyPort: 0, healthzPort, port: 0 },
    ...more,
  });
}

function portsOf(onStart?: (name: string) => void): AgentPorts {
  return {
    ...{ clock, logger: new LogRecorder(), stdin: new PassThrough() },
    ...{ podloopCommand: ['/nosuch'], manifestParser: INLINE_PARSER },
    ...(onStart && { onStart }),
  };
}

/** Lives through the first `parts` parts of a life, of which it returns the names; then it ends. */
async function lifeOf(
  parts: number,
  at: (name: string) => void = () => undefined,
  options = optionsOf(),
): Promise<string[]> {
  const names: string[] = [];
  const ended = new AbortController();
  const ports = portsOf((name) => {
    at(name);
    if (names.push(name) === parts) ended.abort();
  });
  await using agent = await Agent.start(options, ports, new AbortController().signal);
  await agent.run(ended.signal);
  return names;
}

async function expectNothingLeft(): Promise<void> {
  await expect.poll(() => findLeft(before, readBelongings(folder)), { timeout: 5_000 }).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
  const files = await readdir(at('root'), { recursive: true }).catch((): string[] => []);
  expect(files.filter((file) => file.endsWith('.sock'))).toEqual([]);
}

describe.each([
  ['by itself', () => ({})],
  ['as a node of a cluster', () => ({ kubeconfig })],
] as const)('an agent %s', (_, more) => {
  it('has these parts, in this order, and leaves nothing when it ends', async () => {
    expect(await lifeOf(STARTING.length + RUNNING.length, undefined, optionsOf(more()))).toEqual([
      ...STARTING,
      ...RUNNING,
    ]);
    await expectNothingLeft();
  });

  it.each([...STARTING, ...RUNNING])(
    'leaves nothing when "%s" does not start, and another can start',
    async (step) => {
      const failure = new Error(`${step} does not start`);
      const life = lifeOf(
        Infinity,
        (name) => {
          if (name === step) throw failure;
        },
        optionsOf(more()),
      );
      await expect(life).rejects.toBe(failure);
      await expectNothingLeft();
    },
  );

  it.each(STARTING)('leaves nothing when it is asked to end at "%s"', async (step) => {
    const asked = new AbortController();
    const ports = portsOf((name) => {
      if (name === step) asked.abort();
    });
    const life = async (): Promise<void> => {
      await using agent = await Agent.start(optionsOf(more()), ports, asked.signal);
      await agent.run(asked.signal);
    };
    await life().catch((error: unknown) => expect(error).toBe(asked.signal.reason));
    await expectNothingLeft();
  });
});

it('an embedded runtime ends by itself when the start that began it fails later', async () => {
  const runtimes = (): string[] => findCommands(join(at('embedded'), 'runtime'));
  let begun: string[] = [];
  const ports = {
    ...portsOf((name) => {
      if (name !== 'API') return;
      begun = runtimes();
      throw new Error('no API');
    }),
    podloopCommand: [process.execPath, PODLOOP_MAIN] as const,
    runtimeFlags: ['--isolation', 'none', '--network', 'none'],
  };
  const options = optionsOf({ rootDir: at('embedded'), runtimeEndpoint: 'embedded' });
  await expect(Agent.start(options, ports, new AbortController().signal)).rejects.toThrow('no API');
  expect(begun).not.toEqual([]);
  await expect.poll(runtimes).toEqual([]);
  await expect.poll(() => findLeft(before, readBelongings(folder))).toEqual([]);
});

describe('an agent that cannot start leaves nothing', () => {
  it('because another has its root folder, of which it is told before it asks the cluster', async () => {
    await using _ = await Agent.start(optionsOf({ healthzPort: 0 }), portsOf(), new AbortController().signal);
    const start = Agent.start(optionsOf({ kubeconfig }), portsOf(), new AbortController().signal);
    await expect(start).rejects.toMatchObject({ code: 'NODE_ROOT_IN_USE' });
  });

  it('because the runtime is not there', async () => {
    const life = lifeOf(Infinity, undefined, optionsOf({ runtimeEndpoint: `unix://${at('none.sock')}` }));
    await expect(life).rejects.toMatchObject({ code: 'ENDPOINT_NOT_FOUND' });
  });

  it('because a port is taken, when its socket is there already', async () => {
    const taken = createServer().listen(healthzPort, '127.0.0.1');
    await once(taken, 'listening');
    const life = lifeOf(Infinity, undefined, optionsOf({ kubeconfig }));
    await expect(life).rejects.toMatchObject({ code: 'PORT_UNUSABLE' });
    taken.close();
    await once(taken, 'close');
  });

  it('because others may write to the folder of its socket', async () => {
    await mkdir(at('shared'));
    await chmod(at('shared'), 0o777);
    const life = lifeOf(Infinity, undefined, optionsOf({ socket: join(at('shared'), 'podloop.sock') }));
    await expect(life).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });

  it('because of its taints, in a cluster', async () => {
    const options = { ...optionsOf({ kubeconfig }), registerWithTaints: ['nonsense'] };
    await expect(lifeOf(Infinity, undefined, options)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });

  it.each(['pods', 'api', 'probes', 'image-pulls', 'manifests-last-good'])(
    'because %s in its root folder is a file, if that is why',
    async (name) => {
      await rm(at('root'), { recursive: true, force: true });
      await mkdir(at('root'), { mode: 0o700 });
      await writeFile(at(`root/${name}`), '');
      // Some parts do without; what counts is that nothing is left either way.
      await lifeOf(STARTING.length + RUNNING.length, undefined, optionsOf({ kubeconfig })).catch(
        (error: unknown) => expect(error).toMatchObject({ code: expect.any(String) as string }),
      );
      await rm(at('root'), { recursive: true, force: true });
    },
  );

  afterEach(expectNothingLeft);
});
