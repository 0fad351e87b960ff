import { type Clock } from '#base/time/clock.js';
import { failure } from '../../command-failure.js';
import { type AgentSession } from '../agent-session.js';
import { type FollowedObject, followObject } from './follow-object.js';

/** An object that is going. */
export interface GoingObject extends FollowedObject {
  /** Another of the same name is not waited for; undefined when it is not known. */
  readonly uid: string | undefined;
}

/**
 * Resolves once the object is gone, or another one has its name. Rejects with a CommandFailure after `timeoutMs`, for
 * ever when that is 0.
 */
export async function waitUntilGone(
  object: GoingObject,
  session: AgentSession,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<void> {
  const { type, name, uid } = object;
  const isGone = await followObject(object, session, {
    clock,
    timeoutMs: timeoutMs === 0 ? undefined : timeoutMs,
    isDone: (found) => !found.some(({ metadata }) => uid === undefined || metadata?.uid === uid),
  });
  if (!isGone) throw failure(`timed out waiting for the condition on ${type.plural}/${name}`);
}
