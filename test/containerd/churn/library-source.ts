import { CriClient } from '../../../src/watch/cri/index.js';
import { type PodLifecycleEvent } from '../../../src/watch/pleg/pod-lifecycle-event.js';
import { Pleg } from '../../../src/watch/pleg/index.js';
import { CriRuntime } from '../../../src/watch/observed/index.js';
import { type EventSource, type PlegMode } from './event-source.js';
import { recordLooks, type Look } from './looks.js';
import { type SeenEvent } from './seen-event.js';

/** The generator as a library, on a client of its own. Resolves once it has looked for the first time. */
export async function openLibrarySource(endpoint: string, mode: PlegMode): Promise<EventSource> {
  const events: SeenEvent[] = [];
  const looks: Look[] = [];
  const client = new CriClient({ endpoint });
  const pleg = new Pleg({ runtime: recordLooks(new CriRuntime({ client }), looks), mode });
  const subscription = pleg.subscribe();
  const reading = (async () => {
    for await (const event of subscription) events.push(toSeenEvent(event));
  })();
  const stopping = new AbortController();
  const running = pleg.run(stopping.signal);
  await pleg.relist();
  return {
    events,
    looks,
    tellMore: () => JSON.stringify({ health: pleg.health(), state: pleg.state() }),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
      subscription.close();
      await reading;
      await client[Symbol.asyncDispose]();
    },
  };
}

function toSeenEvent(event: PodLifecycleEvent): SeenEvent {
  const base = { atMs: event.observedAtMs, type: event.type, trigger: event.trigger };
  const nothing = {
    folded: 0,
    kind: undefined,
    containerId: undefined,
    exitCode: undefined,
    reason: undefined,
  };
  switch (event.type) {
    case 'Resync':
      return { ...base, ...nothing, podUid: undefined, folded: event.folded };
    case 'PodSync':
      return { ...base, ...nothing, podUid: event.pod.uid, folded: event.folded };
    case 'ConditionMet':
      return { ...base, ...nothing, podUid: event.pod.uid };
    default:
      return {
        ...base,
        kind: event.kind,
        podUid: event.pod.uid,
        containerId: event.containerId,
        exitCode: event.exitCode,
        reason: event.reason,
        folded: 0,
      };
  }
}
