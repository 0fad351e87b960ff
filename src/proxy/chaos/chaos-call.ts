import {
  type CallControl,
  type CallHandler,
  type CallHeaders,
  findHeader,
  type GrpcMessage,
  type SideMode,
  type SideName,
} from '../relay/index.js';
import { type ClockTimer } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { AnswerHistory } from './faults/answer-history.js';
import { type ChaosContext } from './chaos-context.js';
import { EVENTS_METHOD, isCri, isUnary, shortMethod, subjectOf } from './cri-method.js';
import { EventFaults } from './faults/event-faults.js';
import { Gate } from './faults/gate.js';
import { guardDeferred } from './faults/guard-deferred.js';
import { applyListFault } from './faults/list-faults.js';
import { applyNotReady } from './faults/not-ready.js';
import { type ListScanner } from './faults/list-scanner.js';
import { findBytes, ifReadable, readString } from '#base/wire/protobuf-fields.js';
import { changesAnswer, type Fault, hitsAnswer } from './chaos-rule.js';
import { type ActiveRule } from './rule-book.js';
import { lookUpOnce, type Subject } from './subject.js';
import {
  CONTAINER_CONFIG_FIELDS,
  CONTAINER_METADATA_FIELDS,
  CREATE_CONTAINER_REQUEST_FIELDS,
  RUN_SANDBOX_REQUEST_FIELDS,
  SUBJECT_REQUEST_FIELDS,
} from './cri-fields.js';
import { type KnownId, type PodDirectory, readPodOfConfig } from './pod-directory.js';

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
  #scanner: ListScanner | undefined;
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

  /** Of an answer that passes, and is a list: looked at once the bytes have gone on, and not kept. */
  onBytes(_side: SideName, bytes: Buffer): void {
    this.#scanner ??= this.#context.directory.createScanner(this.#method);
    const scanner = this.#scanner;
    this.#call.afterForwarding(() => scanner?.push(bytes));
  }

  onMessage(side: SideName, message: GrpcMessage): void {
    if (side === 'request') {
      const isFirst = this.#subject === undefined;
      if (isFirst) this.#decide(message);
      if (this.#sides.request === 'take') this.#requestGate.do(() => this.#call.request.send(message));
      return;
    }
    this.#learn(message);
    if (this.#keepsAnswer) this.#answer.push(message);
    if (!this.#responseIsOurs) return;
    this.#beginAnswer();
    // An answer is changed as a whole, and sent when all of it is there.
    if (this.#changesAnswer) return;
    if (this.#events !== undefined) this.#events.take(message);
    else this.#responseGate.do(() => this.#call.response.send(message));
  }

  onEnd(side: SideName): void {
    if (side === 'request') {
      if (this.#subject === undefined) this.#decide(undefined);
      if (this.#sides.request === 'take') this.#requestGate.do(() => this.#call.request.end());
    } else if (this.#responseIsOurs) {
      // An answer without trailers is none to change.
      if (this.#changesAnswer) this.#sendAll(this.#answer.splice(0));
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

  /** Whether the answer is held as a whole, for a rule to change it. */
  get #changesAnswer(): boolean {
    return this.#active !== undefined && changesAnswer(this.#active.rule.fault.type);
  }

  get #answersKept(): number {
    return this.#context.book.concerns(this.#call.path).answersKept;
  }

  get #keepsAnswer(): boolean {
    return this.#changesAnswer || this.#answersKept > 0;
  }

  #learn(message: GrpcMessage): void {
    if (!this.#context.book.wantsNamesOf(this.#call.path)) return;
    ifReadable(() => this.#context.directory.learn(this.#method, this.#request, message));
  }

  /** Nothing is to become of the answer; it is looked at only if something can be learned from it. */
  #releaseResponse(): void {
    if (!this.#responseIsOurs) return;
    if (this.#events !== undefined) return;
    this.#responseIsOurs = !this.#call.releaseResponse(this.#context.book.chooseLook(this.#call.path));
  }

  /** The first of an answer that a rule hits has come. */
  #beginAnswer(): void {
    const active = this.#active;
    if (active === undefined || this.#responseGate.isClosed) return;
    const { fault } = active.rule;
    if (changesAnswer(fault.type)) return;
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

  /** The answer is complete: it is remembered, and changed if a rule says so. */
  #finishAnswer(succeeded: boolean): void {
    const answer = this.#answer.splice(0);
    const { history } = this.#context;
    const { path } = this.#call;
    const kept = this.#answersKept;
    if (succeeded && kept > 0) history.add(AnswerHistory.keyOf(path, this.#request), answer, kept);
    const active = this.#active;
    if (active === undefined || !this.#changesAnswer || !this.#responseIsOurs) return;
    this.#active = undefined;
    const subject = this.#subject ?? { method: this.#method, path };
    if (!succeeded) this.#sendAll(answer);
    else if (active.rule.fault.type === 'not-ready') {
      this.#sendAll(applyNotReady(this.#context.injections, active.rule, subject, answer));
    } else this.#sendAll(applyListFault(this.#context, active, subject, this.#request, answer));
  }

  #sendAll(answer: readonly GrpcMessage[]): void {
    for (const message of answer) this.#call.response.send(message);
  }

  #delay(active: ActiveRule, { forMs, jitterMs }: Fault & { type: 'delay' }, gate: Gate): void {
    const delayMs = forMs + active.random() * jitterMs;
    this.#context.injections.note(active.rule, this.#subject, formatGoDuration(delayMs));
    gate.close();
    this.#timer = this.#context.clock.setTimer(
      delayMs,
      this.#later(() => gate.open()),
    );
  }

  /** Until the client gives it up, or the rule is over. */
  #hold({ withdrawn }: ActiveRule, gate: Gate): void {
    gate.close();
    const open = this.#later(() => gate.open());
    withdrawn.addEventListener('abort', open, { once: true });
    this.#stopHolding = () => withdrawn.removeEventListener('abort', open);
  }

  #later(act: () => void): () => void {
    return guardDeferred(this.#context.logger, this.#call, act);
  }

  #letGo(): void {
    this.#events?.close();
    this.#timer?.cancel();
    this.#stopHolding?.();
    this.#requestGate.clear();
    this.#responseGate.clear();
  }
}

/** What a call is about, by its request. A request that cannot be read is about nothing in particular. */
function describeCall(path: string, request: Buffer, directory: PodDirectory): Subject {
  const method = shortMethod(path);
  const subject = { method, path };
  if (!isCri(path)) return subject;
  try {
    if (method === 'RunPodSandbox') {
      const pod = readPodOfConfig(findBytes(request, RUN_SANDBOX_REQUEST_FIELDS.config));
      return { ...subject, known: () => pod && { pod } };
    }
    const kind = subjectOf(method);
    if (kind === undefined) return subject;
    const id = readString(request, SUBJECT_REQUEST_FIELDS.id);
    if (kind === 'container')
      return { ...subject, containerId: id, known: lookUpOnce(() => directory.findContainer(id)) };
    if (method !== 'CreateContainer')
      return { ...subject, sandboxId: id, known: lookUpOnce(() => directory.findSandbox(id)) };
    const containerName = containerNameOf(request);
    const configured = readPodOfConfig(findBytes(request, CREATE_CONTAINER_REQUEST_FIELDS.sandboxConfig));
    const known = lookUpOnce((): KnownId => ({
      ...{ pod: directory.findSandbox(id)?.pod ?? configured, sandboxId: id, containerName },
    }));
    return { ...subject, sandboxId: id, known };
  } catch {
    return subject;
  }
}

/** Of a CreateContainerRequest: config.metadata.name. */
function containerNameOf(request: Buffer): string {
  const config = findBytes(request, CREATE_CONTAINER_REQUEST_FIELDS.config);
  const metadata = config && findBytes(config, CONTAINER_CONFIG_FIELDS.metadata);
  return metadata === undefined ? '' : readString(metadata, CONTAINER_METADATA_FIELDS.name);
}
