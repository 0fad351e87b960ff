import { type ServerWritableStream, status } from '@grpc/grpc-js';
import {
  type ContainerEventResponse,
  type GetEventsRequest,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { type FaultGate } from './fault-gate.js';

/** One reader of GetContainerEvents. */
export type EventReader = ServerWritableStream<GetEventsRequest, ContainerEventResponse>;

/** Sends every event to every reader, bent as the faults say. */
export class EventStreams {
  readonly #gate: FaultGate;
  readonly #readers = new Set<EventReader>();
  #made = 0;
  sent = 0;
  dropped = 0;

  constructor(gate: FaultGate) {
    this.#gate = gate;
  }

  /** Takes a reader; `ended` is called once it is gone. */
  open(reader: EventReader, ended: () => void): void {
    this.#readers.add(reader);
    const leave = (): void => {
      this.#readers.delete(reader);
      ended();
    };
    reader.on('cancelled', leave);
    reader.on('close', leave);
    reader.on('error', leave);
  }

  /** An event of the node: may be lost or doubled on the way. It is made only if somebody reads. */
  publish(make: () => ContainerEventResponse): void {
    const { dropEvery, duplicateEvery } = this.#gate.faults;
    this.#made++;
    if (dropEvery > 0 && this.#made % dropEvery === 0) {
      this.dropped++;
      return;
    }
    if (this.#readers.size === 0) return;
    const event = make();
    this.send(event);
    if (duplicateEvery > 0 && this.#made % duplicateEvery === 0) this.send(event);
  }

  /** An event that goes out as it is. */
  send(event: ContainerEventResponse): void {
    for (const reader of this.#readers) {
      reader.write(event);
      this.sent++;
    }
  }

  /** Ends every stream with Unavailable. */
  breakAll(): void {
    for (const reader of [...this.#readers]) {
      this.#readers.delete(reader);
      reader.emit('error', { code: status.UNAVAILABLE, details: 'the event stream was broken on purpose' });
    }
  }
}
