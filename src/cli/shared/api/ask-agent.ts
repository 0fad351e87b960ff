import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { failure } from '../../command-failure.js';
import { type AgentClient } from './agent-client.js';

/** What an agent answers to GET, whole within the limit. Rejects with an Error that says why there is nothing. */
export async function askAgent(
  agent: AgentClient,
  path: string,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
): Promise<unknown> {
  const late = linkAbort(agent.signal);
  const timer = clock.setTimer(limitMs, () =>
    late.abort(failure(`the agent at ${agent.socketPath} did not answer whole within ${limitMs / 1000}s`)),
  );
  try {
    const { object } = await agent.send('GET', path, { signal: late.signal });
    return object;
  } catch (error) {
    const reason: unknown = late.signal.aborted ? late.signal.reason : error;
    throw new Error(messageOf(reason).replace(/^error: /, ''), { cause: error });
  } finally {
    timer.cancel();
    late.unlink();
  }
}
