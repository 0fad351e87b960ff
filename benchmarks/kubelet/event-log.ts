import { createInterface } from 'node:readline';
import { type Readable } from 'node:stream';

/** A line about an event of the generator, in the words that podloop shares with the kubelet. */
export interface LoggedEvent {
  /** Wall-clock milliseconds, to the microsecond. */
  readonly atMs: number;
  readonly type: string;
  readonly containerId: string;
}

const LINE =
  /^[IWE](\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})\.(\d{6}) .*"SyncLoop \(PLEG\): event for pod".* event=(\{.*?\})/;

/** What an agent has logged of ends of containers: when each was told of first, and how often. */
export class EventLog {
  readonly #deaths = new Map<string, { readonly atMs: number; times: number }>();

  /** Reads klog's text to its end. */
  read(stream: Readable): void {
    createInterface({ input: stream }).on('line', (line) => {
      const event = parseEventLine(line, new Date().getFullYear());
      if (event?.type !== 'ContainerDied') return;
      const known = this.#deaths.get(event.containerId);
      if (known === undefined) this.#deaths.set(event.containerId, { atMs: event.atMs, times: 1 });
      else known.times++;
    });
  }

  /** When the end of a container was told of, wall-clock milliseconds, and how often; undefined when it was not. */
  findDeath(containerId: string): { readonly atMs: number; readonly times: number } | undefined {
    return this.#deaths.get(containerId);
  }
}

/** Reads one line; undefined when it is about anything else. klog leaves out the year, and writes local time. */
export function parseEventLine(line: string, year: number): LoggedEvent | undefined {
  const [, month, day, hours, minutes, seconds, microseconds, event] = LINE.exec(line) ?? [];
  if (event === undefined) return undefined;
  const { Type: type, Data: containerId } = JSON.parse(event) as { Type: string; Data: string };
  const date = new Date(
    year,
    Number(month) - 1,
    Number(day),
    Number(hours),
    Number(minutes),
    Number(seconds),
  );
  return { atMs: date.getTime() + Number(microseconds) / 1_000, type, containerId };
}
