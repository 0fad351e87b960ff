import { type CallControl, type GrpcMessage } from '../../relay/index.js';
import { type ClockTimer } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type ChaosContext } from '../chaos-context.js';
import { describeEvent } from '../describe-event.js';
import { guardDeferred } from './guard-deferred.js';
import { type Fault } from '../chaos-rule.js';
import { type ActiveRule } from '../rule-book.js';
import { streamSubject, type Subject } from '../subject.js';

/** What an {@link EventFaults} needs. */
export interface EventFaultsOptions {
  readonly context: ChaosContext;
  readonly call: CallControl;
  /** Sends an event to the client. */
  readonly send: (event: GrpcMessage) => void;
}

/** Events that wait at most; more go on at once. */
const MAX_WAITING = 100_000;

/** Events of one stream that are held until there are enough to mix. */
interface Mixture {
  readonly active: ActiveRule;
  readonly events: GrpcMessage[];
  readonly timer: ClockTimer;
}

/** What becomes of each event of one stream of GetContainerEvents. */
export class EventFaults {
  readonly #options: EventFaultsOptions;
  /** Events that wait for their time, in the order in which they came. */
  readonly #late = new Map<ClockTimer, GrpcMessage>();
  readonly #mixtures = new Map<string, Mixture>();
  #endTimer: ClockTimer | undefined;
  #ended = false;

  constructor(options: EventFaultsOptions) {
    this.#options = options;
  }

  /** The stream opens. */
  start(): void {
    const { context, call } = this.#options;
    const active = context.book.decideStream(streamSubject(call.path));
    const fault = active?.rule.fault;
    if (active === undefined || fault?.type !== 'end-stream' || fault.openForMs === undefined) return;
    this.#endTimer = this.#setTimer(fault.openForMs, () =>
      this.#end(active, fault.code, streamSubject(call.path)),
    );
  }

  /** An event has come. */
  take(event: GrpcMessage): void {
    if (this.#ended) return;
    const { context, call, send } = this.#options;
    const subject = event.isReadable
      ? describeEvent(call.path, event.payload, context.directory)
      : streamSubject(call.path);
    // Calls about the event's subject may follow at once.
    if (context.book.needsNames) subject.known?.();
    const active = context.book.decideEvent(subject);
    if (active === undefined) {
      send(event);
      return;
    }
    const { fault } = active.rule;
    const note = (detail?: string): void => context.injections.note(active.rule, subject, detail);
    switch (fault.type) {
      case 'drop-events':
        note();
        break;
      case 'duplicate-events':
        note(`${fault.copies} more`);
        for (let copy = 0; copy <= fault.copies; copy++) send(event);
        break;
      case 'delay-events':
        this.#delay(event, active, fault, note);
        break;
      case 'reorder-events':
        note();
        this.#mix(event, active, fault);
        break;
      case 'end-stream':
        this.#end(active, fault.code, subject);
        break;
      default:
        send(event);
    }
  }

  /** Sends at once what waits: the runtime has ended the stream. */
  flush(): void {
    const { send } = this.#options;
    for (const [timer, event] of this.#late) {
      timer.cancel();
      send(event);
    }
    this.#late.clear();
    for (const name of [...this.#mixtures.keys()]) this.#pour(name);
  }

  /** Drops what waits: nobody reads any more. */
  close(): void {
    this.#ended = true;
    this.#endTimer?.cancel();
    for (const timer of this.#late.keys()) timer.cancel();
    for (const { timer } of this.#mixtures.values()) timer.cancel();
    this.#late.clear();
    this.#mixtures.clear();
  }

  #end({ rule }: ActiveRule, code: number, subject: Subject): void {
    const { context, call } = this.#options;
    context.injections.note(rule, subject);
    this.close();
    call.fail(code, code === 0 ? '' : 'the event stream was ended by podloop chaos');
  }

  #delay(
    event: GrpcMessage,
    active: ActiveRule,
    { forMs, jitterMs }: Fault & { type: 'delay-events' },
    note: (detail: string) => void,
  ): void {
    const { send } = this.#options;
    if (this.#late.size >= MAX_WAITING) {
      note('not delayed: too many wait');
      send(event);
      return;
    }
    const delayMs = forMs + active.random() * jitterMs;
    note(formatGoDuration(delayMs));
    const timer = this.#setTimer(delayMs, () => {
      this.#late.delete(timer);
      send(event);
    });
    this.#late.set(timer, event);
  }

  #mix(event: GrpcMessage, active: ActiveRule, { among, waitMs }: Fault & { type: 'reorder-events' }): void {
    const { name } = active.rule;
    let mixture = this.#mixtures.get(name);
    if (mixture === undefined) {
      const timer = this.#setTimer(waitMs, () => this.#pour(name));
      mixture = { active, events: [], timer };
      this.#mixtures.set(name, mixture);
    }
    mixture.events.push(event);
    if (mixture.events.length >= among) this.#pour(name);
  }

  #setTimer(delayMs: number, act: () => void): ClockTimer {
    const { context, call } = this.#options;
    return context.clock.setTimer(delayMs, guardDeferred(context.logger, call, act));
  }

  /** Sends the events of a mixture in an order that chance makes. */
  #pour(name: string): void {
    const mixture = this.#mixtures.get(name);
    if (mixture === undefined) return;
    this.#mixtures.delete(name);
    mixture.timer.cancel();
    const { events, active } = mixture;
    for (let left = events.length; left > 0; left--) {
      const [event] = events.splice(Math.floor(active.random() * left), 1);
      this.#options.send(event!);
    }
  }
}
