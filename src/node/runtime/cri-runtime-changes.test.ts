import { beforeEach, describe, expect, it } from 'vitest';
import { cri } from '../../watch/cri/index.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { FakeClock } from '#testing/index.js';
import { type ErrorCode, PodloopError } from '#base/errors/errors.js';
import { type ChangingClient } from './changing-client.js';
import { CriRuntimeChanges } from './cri-runtime-changes.js';
import { ANNOTATIONS, LABELS } from '../../watch/observed/labels.js';

/** A runtime behind CRI that does what was asked before it fails, if it is to fail. */
class FakeClient {
  readonly calls: string[] = [];
  readonly sandboxes: cri.PodSandbox[] = [];
  readonly containers: cri.Container[] = [];
  readonly #failures = new Map<string, Error[]>();
  readonly #hangs = new Map<string, Promise<void>>();

  failNext(method: string, ...errors: Error[]): void {
    this.#failures.set(method, errors);
  }

  hang(method: string): () => void {
    let release: () => void = () => undefined;
    this.#hangs.set(method, new Promise((resolve) => (release = resolve)));
    return () => {
      this.#hangs.delete(method);
      release();
    };
  }

  async #answer<T>(method: string, answer: () => T): Promise<T> {
    this.calls.push(method);
    await this.#hangs.get(method);
    const result = answer();
    const failure = this.#failures.get(method)?.shift();
    if (failure !== undefined) throw failure;
    return result;
  }

  get client(): ChangingClient {
    const methods = {
      runPodSandbox: ({ config }: { config: cri.PodSandboxConfig }) =>
        this.#answer('run', () => {
          const id = `sandbox-${this.sandboxes.length}`;
          const { metadata, labels } = config;
          const state = cri.PodSandboxState.SANDBOX_READY;
          this.sandboxes.push(
            cri.PodSandbox.fromPartial({ id, ...(metadata && { metadata }), labels, state }),
          );
          return { podSandboxId: id };
        }),
      createContainer: ({ podSandboxId, config }: { podSandboxId: string; config: cri.ContainerConfig }) =>
        this.#answer('create', () => {
          const { metadata, labels, annotations } = config;
          const id = `container-${this.containers.length}`;
          const named = { ...(metadata && { metadata }), labels, annotations };
          this.containers.push(cri.Container.fromPartial({ id, podSandboxId, ...named }));
          return { containerId: id };
        }),
      startContainer: ({ containerId }: { containerId: string }) =>
        this.#answer('start', () => this.#set(containerId, cri.ContainerState.CONTAINER_RUNNING)),
      stopContainer: ({ timeout }: { timeout: bigint }) => this.#answer(`stop ${timeout}`, () => ({})),
      removeContainer: ({ containerId }: { containerId: string }) =>
        this.#answer('remove', () => {
          const index = this.containers.findIndex(({ id }) => id === containerId);
          this.containers.splice(index, 1);
          return {};
        }),
      listPodSandbox: () => this.#answer('list sandboxes', () => ({ items: this.sandboxes })),
      listContainers: ({ filter }: { filter: { labelSelector: Record<string, string> } }) =>
        this.#answer('list containers', () => ({
          containers: this.containers.filter(({ labels }) =>
            Object.entries(filter.labelSelector).every(([name, value]) => labels[name] === value),
          ),
        })),
      containerStatus: ({ containerId }: { containerId: string }) =>
        this.#answer('status', () => ({ status: this.containers.find(({ id }) => id === containerId) })),
      stopPodSandbox: () => this.#answer('stop sandbox', () => ({})),
      execSync: ({ cmd }: { cmd: string[] }) =>
        this.#answer(`exec ${cmd.join(' ')}`, () => ({ stdout: '', stderr: '', exitCode: 0 })),
    };
    return methods as unknown as ChangingClient;
  }

  #set(containerId: string, state: cri.ContainerState): object {
    const container = this.containers.find(({ id }) => id === containerId)!;
    container.state = state;
    return {};
  }
}

const labels = { [LABELS.podUid]: 'u1', [LABELS.nodeInstance]: 'me', [LABELS.containerName]: 'app' };
const sandboxConfig = cri.PodSandboxConfig.fromPartial({
  metadata: { name: 'web', namespace: 'default', uid: 'u1', attempt: 0 },
  labels,
});
function containerConfig(hash: string, attempt = 0): cri.ContainerConfig {
  const annotations = { [ANNOTATIONS.hash]: hash };
  return cri.ContainerConfig.fromPartial({ metadata: { name: 'app', attempt }, labels, annotations });
}
const failed = (code: ErrorCode, message = 'it failed'): PodloopError => new PodloopError(code, message);

let clock: FakeClock;
let runtime: FakeClient;
let changes: CriRuntimeChanges;
let logger: LogRecorder;
beforeEach(() => {
  clock = new FakeClock();
  runtime = new FakeClient();
  logger = new LogRecorder();
  changes = new CriRuntimeChanges({ client: runtime.client, clock, logger, bound: { initial: 2, least: 2 } });
});
const create = (hash = 'a', attempt = 0): Promise<string> =>
  changes.createContainer('sandbox-0', containerConfig(hash, attempt), sandboxConfig);

describe('a container whose creation was not heard of', () => {
  it.each<ErrorCode>(['CRI_DEADLINE_EXCEEDED', 'CRI_UNAVAILABLE', 'CRI_MALFORMED_RESPONSE'])(
    'is taken up by the next try after %s',
    async (code) => {
      runtime.failNext('create', failed(code));
      await expect(create()).rejects.toMatchObject({ code });
      expect(changes.facts.unsettled).toBe(1);
      expect(await create()).toBe('container-0');
      expect(runtime.calls).toEqual(['create', 'list containers']);
      expect(changes.facts).toMatchObject({ unsettled: 0, takenUp: 1 });
      const { uid, namespace, name } = sandboxConfig.metadata!;
      expect(logger.lines).toMatchObject([{ fields: { pod: { uid, namespace, name } } }]);
    },
  );

  it('is taken up when the runtime says that its name is reserved, also by an agent that knows nothing', async () => {
    await create();
    const message =
      'create_container: rpc error: code = Unknown desc = failed to reserve container name "app_web_default_u1_0": name "app_web_default_u1_0" is reserved for "container-0"';
    runtime.failNext('create', failed('CRI_UNKNOWN', message));
    runtime.containers.length = 1;
    const anew = new CriRuntimeChanges({ client: runtime.client, clock });
    expect(await anew.createContainer('sandbox-0', containerConfig('a'), sandboxConfig)).toBe('container-0');
  });

  it('makes room when the manifest has changed meanwhile', async () => {
    runtime.failNext('create', failed('CRI_DEADLINE_EXCEEDED'));
    await expect(create('a')).rejects.toThrow();
    await create('b');
    expect(runtime.calls).toEqual(['create', 'list containers', 'remove', 'create']);
    expect(runtime.containers.map(({ annotations }) => annotations[ANNOTATIONS.hash])).toEqual(['b']);
  });

  it('is not looked for when another attempt is made', async () => {
    runtime.failNext('create', failed('CRI_DEADLINE_EXCEEDED'));
    await expect(create('a', 0)).rejects.toThrow();
    await create('a', 1);
    expect(runtime.calls).toEqual(['create', 'create']);
  });

  it('stays marked while nobody can look', async () => {
    runtime.failNext('create', failed('CRI_UNAVAILABLE'));
    await expect(create()).rejects.toThrow();
    runtime.failNext('list containers', failed('CRI_UNAVAILABLE'));
    await expect(create()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect(await create()).toBe('container-0');
    expect(runtime.calls.filter((call) => call === 'create')).toHaveLength(1);
  });

  it('whose name is taken by what no list shows yet is reported, and searched at the next try', async () => {
    const taken = () => Promise.reject(failed('CRI_ALREADY_EXISTS'));
    const client = { ...runtime.client, createContainer: taken };
    const refused = new CriRuntimeChanges({ client, clock });
    const tryIt = () => refused.createContainer('sandbox-0', containerConfig('a'), sandboxConfig);
    await expect(tryIt()).rejects.toMatchObject({ code: 'CHANGE_UNSETTLED', retryable: true });
    // The runtime has come to the end of it.
    await create();
    expect(await tryIt()).toBe('container-0');
  });

  it('is not taken up when it bears the mark of another node', async () => {
    await create();
    runtime.containers[0]!.labels[LABELS.nodeInstance] = 'somebody else';
    const client = { ...runtime.client, createContainer: () => Promise.reject(failed('CRI_ALREADY_EXISTS')) };
    const refused = new CriRuntimeChanges({ client, clock });
    await expect(
      refused.createContainer('sandbox-0', containerConfig('a'), sandboxConfig),
    ).rejects.toMatchObject({ code: 'CHANGE_UNSETTLED' });
  });
});

describe('a sandbox whose creation was not heard of', () => {
  it('is taken up', async () => {
    runtime.failNext('run', failed('CRI_DEADLINE_EXCEEDED'));
    await expect(changes.runPodSandbox(sandboxConfig)).rejects.toThrow();
    expect(await changes.runPodSandbox(sandboxConfig)).toBe('sandbox-0');
    expect(runtime.calls).toEqual(['run', 'list sandboxes']);
  });

  it('is not taken up unless it is ready', async () => {
    runtime.failNext('run', failed('CRI_DEADLINE_EXCEEDED'));
    await expect(changes.runPodSandbox(sandboxConfig)).rejects.toThrow();
    runtime.sandboxes[0]!.state = cri.PodSandboxState.SANDBOX_NOTREADY;
    expect(await changes.runPodSandbox(sandboxConfig)).toBe('sandbox-1');
  });
});

describe('a start', () => {
  beforeEach(async () => {
    await create();
  });

  it('that was not heard of is not repeated once it shows', async () => {
    runtime.failNext('start', failed('CRI_DEADLINE_EXCEEDED'));
    await expect(changes.startContainer('container-0')).rejects.toThrow();
    await changes.startContainer('container-0');
    expect(runtime.calls).toEqual(['create', 'start', 'status']);
  });

  it('that is refused because the container runs has succeeded', async () => {
    runtime.failNext('start', failed('CRI_UNKNOWN', 'container is in CONTAINER_RUNNING state'));
    await changes.startContainer('container-0');
  });

  it('that fails says so', async () => {
    runtime.failNext('start', failed('CRI_UNKNOWN', 'no such file'));
    runtime.containers[0]!.state = cri.ContainerState.CONTAINER_EXITED;
    const client = {
      ...runtime.client,
      startContainer: () => Promise.reject(failed('CRI_UNKNOWN', 'no such file')),
    };
    const other = new CriRuntimeChanges({ client, clock });
    await expect(other.startContainer('container-0')).rejects.toThrow('no such file');
  });
});

describe('changes that are under way', () => {
  it('are waited for although their caller’s signal has aborted', async () => {
    const release = runtime.hang('create');
    const stop = new AbortController();
    const config = containerConfig('a');
    const made = changes.createContainer('sandbox-0', config, sandboxConfig, { signal: stop.signal });
    await clock.settle();
    stop.abort(new Error('killed'));
    await clock.settle();
    release();
    expect(await made).toBe('container-0');
    await expect(
      changes.createContainer('sandbox-0', config, sandboxConfig, { signal: stop.signal }),
    ).rejects.toThrow('killed');
    expect(runtime.calls).toEqual(['create']);
  });

  it('hold up no stop', async () => {
    const release = runtime.hang('create');
    const waiting = [create('a', 0), create('a', 1), create('a', 2)];
    await clock.settle();
    expect(changes.facts.changes).toMatchObject({ inside: 2, waiting: 1 });
    await changes.stopContainer('container-9', 7.2);
    expect(runtime.calls.at(-1)).toBe('stop 8');
    release();
    await Promise.all(waiting);
  });

  it('go before removals that can wait, and after those that cannot', async () => {
    const release = runtime.hang('create');
    const under = [create('a', 0), create('a', 1)];
    await clock.settle();
    const waiting = [
      changes.removeContainer('container-7', { canWait: true }),
      changes.runPodSandbox(sandboxConfig),
      changes.removeContainer('container-8'),
    ];
    await clock.settle();
    release();
    await Promise.all([...under, ...waiting]);
    expect(runtime.calls.slice(2).map((call) => call.split(' ')[0])).toEqual(['remove', 'run', 'remove']);
  });

  it('make room for others when they hang', async () => {
    const release = runtime.hang('create');
    const hung = [create('a', 0), create('a', 1)];
    const sandbox = changes.runPodSandbox(sandboxConfig);
    await clock.advance(10_000);
    expect(await sandbox).toBe('sandbox-0');
    expect(changes.facts.changes).toMatchObject({ outside: 2 });
    release();
    await Promise.all(hung);
  });

  it('settle before settled() does, a stop that was overtaken included', async () => {
    const release = runtime.hang('stop 30');
    const stop = new AbortController();
    const long = changes.stopContainer('c', 30, { signal: stop.signal });
    await clock.settle();
    stop.abort(new Error('shorter'));
    await expect(long).rejects.toThrow('shorter');
    let settled = false;
    const waiting = changes.settled().then(() => (settled = true));
    await changes.stopContainer('c', 2);
    await clock.settle();
    expect(settled).toBe(false);
    release();
    await waiting;
    expect(runtime.calls).toEqual(['stop 30', 'stop 2']);
  });
});

describe('commands that hang', () => {
  it.each([
    ['of a hook', 0, false, 3_000],
    ['of a hook with a time', 30, false, 3_000],
    ['of a probe', 1, true, 0],
  ])('%s hold the end up for a moment at most', async (_, timeoutSeconds, mayBeCut, expectedMs) => {
    runtime.hang('exec check');
    const leave = new AbortController();
    const options = { mayBeCut, signal: leave.signal };
    changes.execSync('c', ['check'], timeoutSeconds, options).catch(() => undefined);
    await clock.settle();
    leave.abort(new Error('the agent ends'));
    const startMs = clock.monotonicMs();
    let settledMs: number | undefined;
    void changes.settled().then(() => (settledMs = clock.monotonicMs() - startMs));
    for (let step = 0; step < 40; step++) await clock.advance(100);
    expect(settledMs).toBe(expectedMs);
  });

  it('of a hook that ends meanwhile are waited for', async () => {
    const release = runtime.hang('exec check');
    const hook = changes.execSync('c', ['check'], 0);
    await clock.settle();
    let isSettled = false;
    const waiting = changes.settled().then(() => (isSettled = true));
    await clock.advance(1_000);
    expect(isSettled).toBe(false);
    release();
    await hook;
    await waiting;
  });
});

it('counts what is gone as stopped', async () => {
  runtime.failNext('stop 1', failed('CRI_NOT_FOUND'));
  await changes.stopContainer('gone', 1);
  runtime.failNext('stop sandbox', failed('CRI_NOT_FOUND'));
  await changes.stopPodSandbox('gone');
  runtime.failNext('stop sandbox', failed('CRI_INTERNAL'));
  await expect(changes.stopPodSandbox('stuck')).rejects.toMatchObject({ code: 'CRI_INTERNAL' });
});
