import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type AgentClient } from './agent-client.js';

/** An agent has not answered whole within a limit; it may be busy, stopped, starting or ending. */
export class AgentSilent extends Error {
  override readonly name = 'AgentSilent';
}

/**
 * What an agent answers to GET, whole within the limit. Rejects with an Error that says why there is nothing: an
 * {@link AgentSilent} where the time was up.
 */
export async function askAgent(
  agent: AgentClient,
  path: string,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
): Promise<unknown> {
  const late = linkAbort(agent.signal);
  let silent: AgentSilent | undefined;
  const timer = clock.setTimer(limitMs, () => {
    silent = new AgentSilent(
      `the agent at ${agent.socketPath} did not answer whole within ${limitMs / 1000}s`,
    );
    late.abort(silent);
  });
  try {
    const { object } = await agent.send('GET', path, { signal: late.signal });
    return object;
  } catch (error) {
    if (silent !== undefined) throw silent;
    const reason: unknown = late.signal.aborted ? late.signal.reason : error;
    throw new Error(messageOf(reason).replace(/^error: /, ''), { cause: error });
  } finally {
    timer.cancel();
    late.unlink();
  }
}
