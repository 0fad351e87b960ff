import { readFile } from 'node:fs/promises';

/** A CRI call as podloop saw it, its transport included; wall-clock milliseconds. */
export interface TracedCall {
  readonly method: string;
  readonly podUid: string | undefined;
  readonly containerId: string | undefined;
  readonly beganMs: number;
  readonly endedMs: number;
}

/** An event of the runtime, when podloop had it; wall-clock milliseconds. */
export interface TracedEvent {
  readonly type: string;
  readonly containerId: string;
  readonly atMs: number;
}

/** What a process of podloop asked and heard of the runtime, in the order of the answers. */
export interface CallTrace {
  readonly calls: readonly TracedCall[];
  readonly events: readonly TracedEvent[];
}

/** What to give to node before the program, for {@link readTrace} to have something to read once it has ended. */
export function traceFlags(file: string): string[] {
  const url = new URL('./call-trace.js', import.meta.url);
  url.searchParams.set('file', file);
  return ['--import', url.href];
}

/** The trace of a process that has ended; throws when it was killed. */
export async function readTrace(file: string): Promise<CallTrace> {
  return JSON.parse(await readFile(file, 'utf8')) as CallTrace;
}
