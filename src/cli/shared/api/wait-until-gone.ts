import { type Clock } from '#base/time/clock.js';
import { type AgentSession } from '../../shared/agent-session.js';
import { pathOf, type ResourceType } from '../../shared/api/resource-type.js';
import { watchObjects } from '../../shared/api/watch-objects.js';
import { failure } from '../../command-failure.js';

/** An object that is going. */
export interface GoingObject {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly name: string;
  /** Another of the same name is not waited for; undefined when it is not known. */
  readonly uid: string | undefined;
}

/** How often the objects are listed again when the agent ends a watch early. */
const LOOK_AGAIN_MS = 500;

/**
 * Resolves once the object is gone, or another one has its name. Rejects with a CommandFailure after `timeoutMs`, for
 * ever when that is 0.
 */
export async function waitUntilGone(
  { type, namespace, name, uid }: GoingObject,
  { client, signal }: AgentSession,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<void> {
  const late = new AbortController();
  const timer = timeoutMs > 0 ? clock.setTimer(timeoutMs, () => late.abort()) : undefined;
  const path = pathOf(type, namespace);
  const query = { fieldSelector: `metadata.name=${name}` };
  const isIt = (other: string | undefined): boolean => uid === undefined || other === uid;
  const waiting = AbortSignal.any([signal, late.signal]);
  try {
    while (!waiting.aborted) {
      const list = await client.get(path, query);
      if (!(list.items ?? []).some(({ metadata }) => metadata?.name === name && isIt(metadata.uid))) return;
      const since = { ...query, resourceVersion: list.metadata?.resourceVersion };
      for await (const event of watchObjects(client, path, { query: since, signal: waiting })) {
        if (event.type === 'DELETED' && isIt(event.object.metadata?.uid)) return;
      }
      await clock.sleep(LOOK_AGAIN_MS, waiting);
    }
  } catch (error) {
    if (!late.signal.aborted) throw error;
  } finally {
    timer?.cancel();
  }
  if (late.signal.aborted) throw failure(`timed out waiting for the condition on ${type.plural}/${name}`);
}
