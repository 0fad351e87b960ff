import { type Agent, type AgentEnd } from '#node';
import { findSystemdNotifier } from '#base/proc/systemd-notifier.js';
import { type Logger } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';

/**
 * Runs the agent, and tells systemd how it is when that has started it: that it is ready once all its parts run, from
 * then on that it lives, and that it ends.
 *
 * As a kubelet it is ready whatever its runtime says of itself: what waits for this service may be what makes the runtime
 * well. Who never gets so far says nothing, and systemd ends it after TimeoutStartSec.
 *
 * Source: the kubelet's cmd/kubelet/app/server.go; https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html
 */
export async function runForSystemd(
  agent: Pick<Agent, 'run' | 'loopState'>,
  { env, pid, clock }: Pick<CliHost, 'env' | 'pid' | 'clock'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<AgentEnd> {
  const notifier = findSystemdNotifier({ env, pid, clock }, logger);
  if (notifier === undefined) return agent.run(signal);
  const { watchdogMs = Infinity } = notifier;
  const watching = new AbortController();
  const isAlive = (): boolean => {
    const { errors, lastActiveAgoMs = 0 } = agent.loopState();
    // While the runtime is not well the loop waits, and a restart of the agent would not mend that.
    return errors.length > 0 || lastActiveAgoMs < watchdogMs;
  };
  let telling: Promise<void> = Promise.resolve();
  let ending: Promise<void> = Promise.resolve();
  signal.addEventListener('abort', () => void (ending = notifier.stopping()), { once: true });
  try {
    return await agent.run(signal, () => {
      telling = notifier.ready('Keeps pods running').then(() => notifier.watch(isAlive, watching.signal));
    });
  } finally {
    watching.abort();
    await telling;
    await ending;
  }
}
