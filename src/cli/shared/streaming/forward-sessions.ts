import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { SpdyClientSession, type SpdyClientStream } from '#base/wire/spdy/spdy-client-session.js';
import { FLOW_CONTROL_HEADER, FLOW_CONTROL_WINDOWS, SHARED_STREAMS } from '#base/wire/spdy/spdy-frame.js';
import { type AgentClient } from '../api/agent-client.js';
import { toApiError } from '../api/api-status.js';

/** The protocol in X-Stream-Protocol-Version. */
const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';
/** How long an unused session stays open for the next connection. */
const IDLE_MS = 5_000;

/** What {@link ForwardSessions} need. */
export interface ForwardSessionsOptions {
  readonly client: Pick<AgentClient, 'upgrade'>;
  /** Of the pod, with `/portforward` behind it. */
  readonly path: string;
  /** Of the pod: all that connections may be for. */
  readonly ports: readonly number[];
  readonly clock: Clock;
}

/** The two streams of one connection into a pod. */
export interface ForwardedStreams {
  readonly data: SpdyClientStream;
  /** What went wrong in the pod is said here. */
  readonly error: SpdyClientStream;
  /** To be called when the connection is over: what is open of the streams is reset. Idempotent. */
  readonly release: () => void;
  /** The session leads to where nothing answers any more: the next connection is for another one. */
  readonly retire: () => void;
}

interface Session {
  /** Rejects as AgentClient.upgrade does, or with the agent's refusal. */
  readonly opened: Promise<SpdyClientSession>;
  /** How many connections use it, or wait for it. */
  users: number;
  /** Whether it takes no more of them. */
  isRetired: boolean;
  idle: ClockTimer | undefined;
  nextRequest: number;
}

/**
 * The sessions with the runtime over which a command carries its connections.
 *
 * A runtime that keeps to windows, as the one in the box does, gets SHARED_STREAMS connections on each session: to ask for
 * one costs more than all else together, and one connection that is read slowly holds up no other. With every other
 * runtime each connection has a session of its own.
 */
export class ForwardSessions implements Disposable {
  readonly #options: ForwardSessionsOptions;
  readonly #sessions = new Set<Session>();
  /** Until the runtime has answered, connections wait for the first sessions as if they could share them. */
  #maxUsers = SHARED_STREAMS;

  constructor(options: ForwardSessionsOptions) {
    this.#options = options;
  }

  /** Makes the streams of a connection. Rejects with a CommandFailure when the agent refuses, or cannot be reached. */
  async connect(port: number): Promise<ForwardedStreams> {
    for (;;) {
      const session = this.#findRoom() ?? this.#open();
      session.users++;
      session.idle?.cancel();
      let opened: SpdyClientSession;
      try {
        opened = await session.opened;
      } catch (error) {
        session.users--;
        throw error;
      }
      if (opened.isOpen && session.users <= this.#maxUsers) return this.#makeStreams(session, opened, port);
      // It was not to be shared after all, or is gone already.
      if (!opened.isOpen) session.isRetired = true;
      this.#leave(session, opened);
    }
  }

  /** Ends all sessions and what goes on in them. */
  [Symbol.dispose](): void {
    for (const { opened, idle } of this.#sessions) {
      idle?.cancel();
      void opened.then(
        (session) => session.destroy(),
        () => undefined,
      );
    }
    this.#sessions.clear();
  }

  #findRoom(): Session | undefined {
    for (const session of this.#sessions)
      if (!session.isRetired && session.users < this.#maxUsers) return session;
    return undefined;
  }

  #open(): Session {
    const session: Session = {
      opened: this.#ask(),
      users: 0,
      isRetired: false,
      idle: undefined,
      nextRequest: 0,
    };
    this.#sessions.add(session);
    const forget = (): void => {
      session.isRetired = true;
      session.idle?.cancel();
      this.#sessions.delete(session);
    };
    session.opened.then((opened) => void opened.closed.then(forget), forget);
    return session;
  }

  async #ask(): Promise<SpdyClientSession> {
    const { client, path, ports } = this.#options;
    const upgrade = await client.upgrade('POST', path, {
      query: { ports: ports.map(String) },
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'x-stream-protocol-version': PORT_FORWARD_PROTOCOL,
        [FLOW_CONTROL_HEADER]: FLOW_CONTROL_WINDOWS,
      },
    });
    if ('refused' in upgrade) throw toApiError(upgrade.code, upgrade.refused);
    const serverCounts = upgrade.answer.headers[FLOW_CONTROL_HEADER] === FLOW_CONTROL_WINDOWS;
    this.#maxUsers = serverCounts ? SHARED_STREAMS : 1;
    return new SpdyClientSession(upgrade.socket, { serverCounts });
  }

  #makeStreams(session: Session, opened: SpdyClientSession, port: number): ForwardedStreams {
    const headers = { port: String(port), requestid: String(session.nextRequest++) };
    const error = opened.open({ streamtype: 'error', ...headers });
    error.outbound.end();
    const data = opened.open({ streamtype: 'data', ...headers });
    let isOver = false;
    return {
      data,
      error,
      release: () => {
        if (isOver) return;
        isOver = true;
        data.reset();
        error.reset();
        this.#leave(session, opened);
      },
      retire: () => (session.isRetired = true),
    };
  }

  #leave(session: Session, opened: SpdyClientSession): void {
    session.users--;
    if (session.users > 0) return;
    if (session.isRetired || this.#maxUsers === 1) {
      opened.close();
      return;
    }
    session.idle = this.#options.clock.setTimer(IDLE_MS, () => opened.close(), { unref: true });
  }
}
