import { PassThrough } from 'node:stream';
import { type CliHost } from '../../../src/cli/cli-host.js';
import { LineOutput } from '../../../src/cli/line-output.js';
import { runProgram } from '../../../src/cli/program.js';
import { FakeAgentServer } from '../fakes/fake-agent-server.js';
import { FakeClock } from '#testing/fake-clock.js';

/** The path of the default namespace's pods on an agent. */
export const PODS_PATH = '/api/v1/namespaces/default/pods';
/** When the clock of a {@link AgentCommandHarness} stands. */
const NOW = '2026-01-01T00:10:00Z';

/** How a command ended. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that was started. */
export interface Running {
  readonly ended: Promise<Ran>;
  /** As Ctrl-C does. */
  readonly interrupt: () => void;
  /** Resolves once its output has the text. */
  readonly sees: (text: string) => Promise<void>;
}

/** Commands of podloop in the test's own process, and a fake agent that they find. */
export class AgentCommandHarness implements AsyncDisposable {
  private constructor(readonly agent: FakeAgentServer) {}

  /** With an agent that answers nothing yet. */
  static async open(): Promise<AgentCommandHarness> {
    return new AgentCommandHarness(await FakeAgentServer.start());
  }

  /**
   * Starts podloop with these arguments (default: its environment names the agent's socket); `more` replaces parts of
   * its host.
   */
  start(
    args: readonly string[],
    {
      env,
      stdin,
      more,
    }: { env?: Record<string, string>; stdin?: string | Uint8Array; more?: Partial<CliHost> } = {},
  ): Running {
    const output = { stdout: '', stderr: '' };
    const looks = new Set<() => void>();
    const collect = (name: 'stdout' | 'stderr'): LineOutput => {
      const stream = new PassThrough();
      stream.on('data', (chunk) => {
        output[name] += String(chunk);
        for (const look of looks) look();
      });
      return new LineOutput(stream);
    };
    const input = new PassThrough();
    input.end(stdin ?? '');
    const interrupted = new AbortController();
    const host: CliHost = {
      ...{ env: env ?? { PODLOOP_SOCKET: this.agent.socketPath }, pid: 1, selfCommand: ['podloop'] },
      clock: new FakeClock({ nowMs: Date.parse(NOW) }),
      ...{ stdin: input, stdout: collect('stdout'), stderr: collect('stderr') },
      listenForInterrupts: () => interrupted.signal,
      onUserSignal: () => () => undefined,
      ...more,
    };
    return {
      ended: runProgram(args, host).then((code) => ({ code, ...output })),
      interrupt: () => interrupted.abort(),
      sees: (text) =>
        new Promise((resolve) => {
          const look = (): void => {
            if (output.stdout.includes(text)) resolve();
          };
          looks.add(look);
          look();
        }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
  }
}

/** A pod that runs, as an agent's API shows it. */
export function aKubePod(name: string, extra: object = {}): object {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:09:00Z',
    },
    spec: { containers: [{ name: 'main', image: 'i' }], nodeName: 'n1' },
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'main', ready: true, restartCount: 0, state: { running: {} } }],
    },
    ...extra,
  };
}

/** A list of pods, as an agent's API answers it. */
export function aKubeList(...items: object[]): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items };
}
