import {
  type CallControl,
  type CallHandler,
  type CallHeaders,
  findHeader,
  type GrpcMessage,
  type SideMode,
  type SideName,
} from '../relay/index.js';
import { type ClockTimer } from '../util/clock.js';
import { formatGoDuration } from '../util/go-duration.js';
import { AnswerHistory } from './answer-history.js';
import { type ChaosContext } from './chaos-context.js';
import { EVENTS_METHOD, isCri, isUnary, tellsPods } from './cri-method.js';
import { describeCall } from './describe-call.js';
import { EventFaults } from './event-faults.js';
import { Gate } from './gate.js';
import { growList, type ListAnswer, truncateList } from './list-changes.js';
import { type Fault, hitsAnswer, isListFault } from './rule.js';
import { type ActiveRule, matchesNames, type Subject } from './rule-book.js';

const NO_REQUEST = Buffer.alloc(0);

/**
 * One call that rules may be about: holds its request until it is known which rule hits, then does what the rule says.
 *
 * ```
 *   request complete ─► no rule ────────────────► let both sides go
 *                    ├► delay, hang ────────────► the request goes on later, or when the rule is over
 *                    ├► error, reset ───────────► the runtime has seen no request
 *                    └► a rule of the answer ───► the request goes on, the answer is held, changed or replaced
 * ```
 */
export class ChaosCall implements CallHandler {
  readonly #context: ChaosContext;
  readonly #call: CallControl;
  readonly #method: string;
  readonly #requestGate = new Gate();
  readonly #responseGate = new Gate();
  readonly #sides: { readonly request: SideMode; readonly response: SideMode };
  #subject: Subject | undefined;
  #request: Buffer = NO_REQUEST;
  /** The rule that is to hit the answer. */
  #active: ActiveRule | undefined;
  #answer: GrpcMessage[] = [];
  #responseIsOurs: boolean;
  /** Of a stream of events: what becomes of each. */
  readonly #events: EventFaults | undefined;
  #timer: ClockTimer | undefined;
  #stopHolding: (() => void) | undefined;

  constructor(
    context: ChaosContext,
    call: CallControl,
    method: string,
    sides: { readonly request: SideMode; readonly response: SideMode },
  ) {
    this.#context = context;
    this.#call = call;
    this.#method = method;
    this.#sides = sides;
    this.#responseIsOurs = sides.response === 'take';
    if (method === EVENTS_METHOD && isCri(call.path)) {
      const send = (message: GrpcMessage): void => this.#responseGate.do(() => call.response.send(message));
      this.#events = new EventFaults({ context, call, send });
    }
  }

  onHeaders(side: SideName, headers: CallHeaders): void {
    if (side === 'request') {
      if (this.#sides.request === 'take')
        this.#requestGate.do(() => this.#call.request.forwardHeaders(headers));
      return;
    }
    if (headers.endStream) this.#events?.flush();
    if (headers.endStream) this.#finishAnswer(findHeader(headers.fields, 'grpc-status') === '0');
    if (!this.#responseIsOurs) return;
    // Those that begin an answer may go on at once, unless all of it is to be late.
    this.#beginAnswer();
    this.#responseGate.do(() => this.#call.response.forwardHeaders(headers));
  }

  onMessage(side: SideName, message: GrpcMessage): void {
    if (side === 'request') {
      const isFirst = this.#subject === undefined;
      if (isFirst) this.#decide(message);
      if (this.#sides.request === 'take') this.#requestGate.do(() => this.#call.request.send(message));
      return;
    }
    if (!this.#responseIsOurs) {
      this.#answer.push(message);
      return;
    }
    this.#beginAnswer();
    // Lists are changed as a whole, and sent when all of it is there.
    if (this.#active !== undefined && isListFault(this.#active.rule.fault.type)) this.#answer.push(message);
    else if (this.#events !== undefined) this.#events.take(message);
    else this.#responseGate.do(() => this.#call.response.send(message));
  }

  onEnd(side: SideName): void {
    if (side === 'request') {
      if (this.#subject === undefined) this.#decide(undefined);
      if (this.#sides.request === 'take') this.#requestGate.do(() => this.#call.request.end());
    } else if (this.#responseIsOurs) {
      // An answer without trailers is no list to change.
      for (const message of this.#answer.splice(0)) this.#call.response.send(message);
      this.#responseGate.do(() => this.#call.response.end());
    }
  }

  onReset(): void {
    this.#letGo();
  }

  onClosed(): void {
    this.#letGo();
  }

  /** The request is known: which rule hits? */
  #decide(message: GrpcMessage | undefined): void {
    const { book, directory, injections } = this.#context;
    const readable = message !== undefined && message.isReadable;
    this.#request = readable ? message.payload : NO_REQUEST;
    this.#subject = describeCall(this.#call.path, this.#request, directory);
    if (this.#sides.request !== 'take') return;
    const active = book.decideCall(this.#subject);
    const fault = active?.rule.fault;
    if (active === undefined || fault === undefined || !hitsAnswer(fault)) this.#releaseResponse();
    if (fault?.type !== 'error' && fault?.type !== 'reset') this.#events?.start();
    if (active === undefined || fault === undefined) return;
    if (hitsAnswer(fault)) {
      this.#active = active;
      return;
    }
    if (fault.type === 'delay') this.#delay(active, fault, this.#requestGate);
    else if (fault.type === 'hang') {
      injections.note(active.rule, this.#subject);
      this.#hold(active, this.#requestGate);
    } else if (fault.type === 'error') {
      injections.note(active.rule, this.#subject, fault.message);
      this.#call.fail(fault.code, fault.message);
    } else if (fault.type === 'reset') {
      injections.note(active.rule, this.#subject);
      this.#call.breakConnection();
    }
  }

  /** Whether its answer tells whose an id is, and a rule wants to know. */
  get #tellsPods(): boolean {
    return this.#context.book.needsNames && isCri(this.#call.path) && tellsPods(this.#method);
  }

  /** Nothing is to become of the answer; it is looked at only if something can be learned from it. */
  #releaseResponse(): void {
    if (!this.#responseIsOurs) return;
    const { book } = this.#context;
    if (this.#events !== undefined) return;
    const isTold = this.#tellsPods || book.concerns(this.#call.path).answersKept > 0;
    this.#responseIsOurs = !this.#call.releaseResponse(isTold ? 'tap' : 'pass');
  }

  /** The first of an answer that a rule hits has come. */
  #beginAnswer(): void {
    const active = this.#active;
    if (active === undefined || this.#responseGate.isClosed) return;
    const { fault } = active.rule;
    if (isListFault(fault.type)) return;
    this.#active = undefined;
    if (fault.type === 'delay') this.#delay(active, fault, this.#responseGate);
    else if (fault.type === 'hang') {
      this.#context.injections.note(active.rule, this.#subject);
      this.#hold(active, this.#responseGate);
    } else if (fault.type === 'error') {
      this.#context.injections.note(active.rule, this.#subject, fault.message);
      this.#call.fail(fault.code, fault.message, { letServerFinish: isUnary(this.#call.path) });
    }
  }

  /** The answer is complete: it is remembered, learned from, and changed if a rule says so. */
  #finishAnswer(succeeded: boolean): void {
    const answer = this.#answer;
    this.#answer = [];
    const { book, directory, history } = this.#context;
    if (succeeded && this.#tellsPods) {
      for (const message of answer) {
        ifReadable(() => directory.learn(this.#method, this.#request, message));
      }
    }
    const key = AnswerHistory.keyOf(this.#call.path, this.#request);
    const { answersKept } = book.concerns(this.#call.path);
    if (succeeded && answersKept > 0) history.add(key, answer, answersKept);
    if (this.#active === undefined || !this.#responseIsOurs) return;
    const active = this.#active;
    this.#active = undefined;
    const changed = succeeded ? ifReadable(() => this.#change(active, answer, key)) : undefined;
    for (const message of changed ?? answer) this.#call.response.send(message);
  }

  #change(active: ActiveRule, answer: ListAnswer, key: string): ListAnswer {
    const { injections, history } = this.#context;
    const { fault } = active.rule;
    if (!answer.every((message) => message.isReadable)) return answer;
    if (fault.type === 'truncate-list') {
      const truncated = truncateList(answer, fault.keep, (item) => this.#isChosen(active, item));
      const { leftOut, items } = truncated;
      if (leftOut > 0) injections.note(active.rule, this.#subject, `${leftOut} of ${items} items left out`);
      return truncated.answer;
    }
    if (fault.type === 'stale-list') {
      const old = history.find(key, fault.behind);
      if (old === undefined) return answer;
      injections.note(active.rule, this.#subject, `${fault.behind} behind`);
      return old;
    }
    if (fault.type === 'grow-list') {
      injections.note(active.rule, this.#subject, `${fault.toBytes} bytes`);
      return growList(answer, fault.toBytes);
    }
    return answer;
  }

  #isChosen({ rule }: ActiveRule, item: Buffer): boolean {
    const { pods, containers } = rule.match;
    if (pods === undefined && containers === undefined) return true;
    const { directory } = this.#context;
    const ofContainers = this.#method.endsWith('Containers');
    const known = ofContainers ? directory.learnContainer(item, 3, 8) : directory.learnSandbox(item);
    return matchesNames(rule, { method: this.#method, path: this.#call.path, known: () => known });
  }

  #delay(active: ActiveRule, { forMs, jitterMs }: Fault & { type: 'delay' }, gate: Gate): void {
    const delayMs = forMs + active.random() * jitterMs;
    this.#context.injections.note(active.rule, this.#subject, formatGoDuration(delayMs));
    gate.close();
    this.#timer = this.#context.clock.setTimer(delayMs, () => gate.open());
  }

  /** Until the client gives it up, or the rule is over. */
  #hold({ withdrawn }: ActiveRule, gate: Gate): void {
    gate.close();
    const open = (): void => gate.open();
    withdrawn.addEventListener('abort', open, { once: true });
    this.#stopHolding = () => withdrawn.removeEventListener('abort', open);
  }

  #letGo(): void {
    this.#events?.close();
    this.#timer?.cancel();
    this.#stopHolding?.();
    this.#requestGate.clear();
    this.#responseGate.clear();
  }
}

/** What cannot be read stays as it is: it is the client's to make sense of it. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
