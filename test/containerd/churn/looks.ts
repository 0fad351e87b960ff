import { type Runtime } from '../../../src/watch/observed/runtime.js';
import { wallMs } from './story.js';

/** One completed answer to "what is there": of every pod, or of the pod with this uid. */
export interface Look {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly podUid: string | undefined;
}

/** The same runtime, with every list answer that it gave written down in `looks`. */
export function recordLooks(runtime: Runtime, looks: Look[]): Runtime {
  const record = async <T>(podUid: string | undefined, ask: () => Promise<T>): Promise<T> => {
    const fromMs = wallMs();
    const answer = await ask();
    looks.push({ fromMs, untilMs: wallMs(), podUid });
    return answer;
  };
  const watchEvents = runtime.watchEvents?.bind(runtime);
  return {
    listPods: (signal) => record(undefined, () => runtime.listPods(signal)),
    findPod: (uid, signal) => record(uid, () => runtime.findPod(uid, signal)),
    getPodStatus: (pod, signal) => runtime.getPodStatus(pod, signal),
    ...(watchEvents === undefined ? {} : { watchEvents }),
  };
}

/** Whether one of the looks at that pod lies wholly within the time. */
export function hasLookWithin(
  looks: readonly Look[],
  podUid: string,
  fromMs: number,
  untilMs: number,
): boolean {
  return looks.some(
    (look) =>
      (look.podUid === undefined || look.podUid === podUid) &&
      look.fromMs >= fromMs &&
      look.untilMs <= untilMs,
  );
}
