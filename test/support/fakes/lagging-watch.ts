import { type WatchEvent, type WatchRequest } from '../../../src/cluster/client/kube-client.js';
import { type ClusterPodsHarness } from '../harness/cluster-pods-harness.js';

/** Lets a test delay what the watch of pods delivers. */
export function laggingWatch({ api }: ClusterPodsHarness) {
  const real = api.watch.bind(api);
  const waiting: (() => void)[] = [];
  let isHeld = false;
  api.watch = async function* <T>(request: WatchRequest): AsyncGenerator<WatchEvent<T>, void> {
    for await (const event of real<T>(request)) {
      while (isHeld && request.path === '/api/v1/pods') {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      yield event;
    }
  };
  return {
    hold: () => void (isHeld = true),
    letGo: () => {
      isHeld = false;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}
