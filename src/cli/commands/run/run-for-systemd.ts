import { type Agent, type AgentEnd } from '#node';
import { findSystemdNotifier } from '#base/proc/systemd-notifier.js';
import { type Logger } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';

/**
 * Runs the agent, and notifies systemd if it started the agent: ready, alive and stopping.
 *
 * The agent is ready once all its parts run, whatever the state of the runtime, as with a kubelet: a unit that waits
 * for this service may be the one that repairs the runtime. systemd ends an agent that is not ready within
 * TimeoutStartSec.
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
