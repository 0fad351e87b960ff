import { connect } from 'node:net';
import { type Clock } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { type DialAddress, outcomeOfSocketError } from './socket-error.js';
import { type ProbeOutcome, silent, succeeded } from './probe-outcome.js';

/** Options of {@link probeByTcp}. */
export interface TcpProbe {
  readonly clock: Clock;
  readonly address: DialAddress;
  readonly timeoutMs: number;
}

/** Opens a connection and closes it: success as soon as it is established. */
export async function probeByTcp(probe: TcpProbe, signal: AbortSignal): Promise<ProbeOutcome> {
  const { clock, address, timeoutMs } = probe;
  signal.throwIfAborted();
  const socket = connect(address);
  const onAbort = (): unknown => socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<ProbeOutcome>((resolve, reject) => {
      const deadline = startFairDeadline({
        clock,
        deadlineMs: timeoutMs,
        onExpired: () => resolve(silent(`dial tcp ${joinHostPort(address)}: i/o timeout`)),
      });
      socket.once('connect', () => resolve(succeeded('')));
      socket.on('error', (error) => {
        if (signal.aborted) reject(error);
        else resolve(outcomeOfSocketError(error, address, ''));
      });
      socket.once('close', () => deadline.cancel());
    });
  } finally {
    signal.removeEventListener('abort', onAbort);
    socket.destroy();
  }
}
