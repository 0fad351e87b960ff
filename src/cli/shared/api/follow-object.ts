import { type Clock } from '#base/time/clock.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type AgentSession } from '../agent-session.js';
import { pathOf, PODS, type ResourceType } from './resource-type.js';
import { watchObjects } from './watch-objects.js';

/** Which object is followed. */
export interface FollowedObject {
  readonly type: ResourceType;
  readonly namespace: string;
  /** As the agent has it, not as its manifest. */
  readonly name: string;
}

/** How {@link followObject} waits. */
export interface FollowOptions {
  readonly clock: Clock;
  /** In milliseconds; 0 for a single look, undefined for ever. */
  readonly timeoutMs: number | undefined;
  /** Whether this is what was waited for. Pods of one name may be several for a moment, as one ends; none is there before and after. */
  readonly isDone: (objects: readonly KubeObject[]) => boolean;
}

/** How often the object is read again when the agent ends a watch early, or has none for its kind. */
const READ_AGAIN_MS = 500;

/** Follows one object. Resolves with true once it is as wanted, with false when the time is over before. */
export async function followObject(
  { type, namespace, name }: FollowedObject,
  { client, signal }: AgentSession,
  { clock, timeoutMs, isDone }: FollowOptions,
): Promise<boolean> {
  const late = new AbortController();
  const timer = timeoutMs === undefined ? undefined : clock.setTimer(timeoutMs, () => late.abort());
  const waiting = AbortSignal.any([signal, late.signal]);
  const path = pathOf(type, namespace);
  const query = { fieldSelector: `metadata.name=${name}` };
  const toKind = (object: KubeObject): KubeObject => ({ apiVersion: 'v1', kind: type.kind, ...object });
  try {
    for (;;) {
      const list = await client.get(path, query);
      const found = (list.items ?? []).filter(({ metadata }) => metadata?.name === name);
      const present = new Map(found.map((object) => [object.metadata?.uid, toKind(object)]));
      if (isDone([...present.values()])) return true;
      if (timeoutMs === 0) return false;
      if (type === PODS) {
        const since = { ...query, resourceVersion: list.metadata?.resourceVersion };
        for await (const { type: change, object } of watchObjects(client, path, {
          query: since,
          signal: waiting,
        })) {
          if (change === 'DELETED') present.delete(object.metadata?.uid);
          else present.set(object.metadata?.uid, toKind(object));
          if (isDone([...present.values()])) return true;
        }
      }
      await clock.sleep(READ_AGAIN_MS, waiting);
    }
  } catch (error) {
    if (!late.signal.aborted) throw error;
    return false;
  } finally {
    timer?.cancel();
  }
}
