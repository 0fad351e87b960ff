import { fileURLToPath } from 'node:url';
import { ForkedProcess } from '../forked-process.js';

/** What stands between client and runtime. */
export const RELAY_KINDS = ['pipe', 'relay', 'chaos', 'chaos by pod'] as const;
export type RelayKind = (typeof RELAY_KINDS)[number];

/** A process that was started for a benchmark. Disposing ends it. */
export interface RelayProcess extends AsyncDisposable {
  /** Milliseconds of CPU time that it has used so far. */
  cpuMs(): Promise<number>;
}

/** Starts one of a kind in front of `upstreamPath`, and resolves once it listens. */
export async function startRelayProcess(
  kind: RelayKind,
  upstreamPath: string,
  socketPath: string,
  signal: AbortSignal,
): Promise<RelayProcess> {
  const program = fileURLToPath(new URL('./relay-process.js', import.meta.url));
  const forked = await ForkedProcess.start(program, {
    ...{ name: `the process of the ${kind}`, args: [kind, upstreamPath, socketPath], signal },
  });
  return {
    cpuMs: async () => ((await forked.ask('cpu')) as { readonly cpuMs: number }).cpuMs,
    [Symbol.asyncDispose]: () => forked[Symbol.asyncDispose](),
  };
}
