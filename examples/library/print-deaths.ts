// Prints every container that ends, with its exit code, until Ctrl-C. Plain JavaScript, and TypeScript as well.
import { Observer } from 'podloop';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

const observer = await Observer.connect({
  // Found by itself when empty: containerd, CRI-O, cri-dockerd.
  runtimeEndpoint: process.env['CONTAINER_RUNTIME_ENDPOINT'] ?? '',
});
try {
  const events = observer.subscribe();
  stop.signal.addEventListener('abort', () => events.close());
  const running = observer.run(stop.signal);
  for await (const event of events) {
    if (event.type !== 'ContainerDied' || event.kind !== 'container') continue;
    const { pod, containerName, exitCode, reason } = event;
    console.log(
      `${pod.namespace}/${pod.name}: ${containerName} ended with ${exitCode} (${reason})`,
    );
  }
  await running;
} finally {
  observer.close();
}
