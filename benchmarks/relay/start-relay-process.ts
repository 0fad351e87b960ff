import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What stands between client and runtime. */
export const RELAY_KINDS = ['pipe', 'relay', 'chaos', 'chaos by pod'] as const;
export type RelayKind = (typeof RELAY_KINDS)[number];

/** A process that was started for a benchmark. Disposing ends it. */
export interface RelayProcess extends AsyncDisposable {
  readonly socketPath: string;
  /** Milliseconds of CPU time that it has used so far. */
  cpuMs(): Promise<number>;
}

/** Starts one of a kind in front of `upstreamPath`, and resolves once it listens. */
export async function startRelayProcess(
  kind: RelayKind,
  upstreamPath: string,
  socketPath: string,
): Promise<RelayProcess> {
  const program = fileURLToPath(new URL('./relay-process.js', import.meta.url));
  const child = fork(program, [kind, upstreamPath, socketPath]);
  const exited = once(child, 'exit');
  const ready = await Promise.race([once(child, 'message').then(() => true), exited.then(() => false)]);
  if (!ready) throw new Error(`the process of the ${kind} ended before it listened`);
  return {
    socketPath,
    cpuMs: async () => {
      const answered = once(child, 'message');
      child.send('cpu');
      const [answer] = (await answered) as [{ cpuMs: number }];
      return answer.cpuMs;
    },
    [Symbol.asyncDispose]: async () => {
      child.disconnect();
      await exited;
    },
  };
}
