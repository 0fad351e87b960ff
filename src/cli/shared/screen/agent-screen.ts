import { type Agent } from '#node';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { AgentClient } from '../api/agent-client.js';
import { type CliHost } from '../../cli-host.js';
import { type Terminal } from '../../terminal.js';
import { AgentPodAccess, type PodAccess } from './pod-access.js';
import { PodScreen } from './pod-screen.js';
import { type ScreenPod } from './pod-rows.js';
import { ScreenLog } from './screen-log.js';
import { SummaryNews } from './summary-news.js';

/** What an {@link AgentScreen} needs. */
export interface AgentScreenOptions {
  readonly host: CliHost;
  readonly terminal: Terminal;
  /** Writes to the same terminal, before and after. */
  readonly logger: Logger;
  /** The first row. */
  readonly title: string;
  /** Aborts when the agent is to end. */
  readonly signal: AbortSignal;
  /** What `q` and Ctrl-C do, for the help. */
  readonly quitHelp: string;
  /** Whether keys are read, if standard input is a terminal (default: true). */
  readonly readsKeys?: boolean;
}

/** What the screen shows of an agent. */
export type ShownAgent = Pick<Agent, 'pods' | 'podEvents' | 'subscribe' | 'socket' | 'runtimeTrouble'>;

/** What is shown besides the agent. */
export interface ShownWords {
  readonly title: string;
  /** Below the title. */
  readonly hints?: readonly string[];
  /** What pods are for, by `namespace/name` (default: nothing is known). */
  readonly about?: ReadonlyMap<string, string>;
}

/** The pods of an agent and what happens to them, on one screen. Sentences before it is there are shown too. */
export class AgentScreen implements Disposable {
  /** For whoever logs while the screen is there. */
  readonly log: Logger;
  readonly #clock: Clock;
  readonly #options: AgentScreenOptions;
  readonly #log: ScreenLog;
  readonly #news = new SummaryNews();
  readonly #screen: PodScreen;
  #agent: ShownAgent | undefined;
  #access: PodAccess | undefined;
  #words: ShownWords;

  /** Takes the terminal at once; the agent comes later. */
  constructor(options: AgentScreenOptions) {
    this.#options = options;
    const { host, terminal, logger, title, quitHelp, readsKeys = true } = options;
    this.#clock = host.clock;
    this.#words = { title };
    this.#log = new ScreenLog({ show: (sentence) => this.say(sentence, 'warning'), behind: logger });
    this.log = this.#log;
    // By its signal, so that a second one counts as usual.
    const interrupt = (): void => void process.kill(host.pid, 'SIGINT');
    this.#screen = new PodScreen({
      ...{ host, terminal, quitHelp, readsKeys, interrupt, quit: interrupt },
      scene: () => this.#summarize(),
      access: () => this.#access,
    });
  }

  /** Shows a sentence among what happens. */
  say(sentence: string, style?: 'warning'): void {
    this.#news.add({ atMs: this.#clock.now(), text: sentence, ...(style && { style }) });
  }

  /** Shows this agent from now on. Resolves when its events end, at the end of its run. */
  async follow(agent: ShownAgent, words: ShownWords): Promise<void> {
    const { host, signal } = this.#options;
    this.#agent = agent;
    this.#words = words;
    this.#access = new AgentPodAccess(
      new AgentClient({ socketPath: agent.socket, clock: this.#clock, signal }),
      host,
    );
    for await (const event of agent.subscribe()) this.#news.addEvent(event);
  }

  /** Gives the terminal back, and writes the warnings that were on it. Idempotent. */
  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]();
    this.#log.flush();
  }

  #summarize() {
    const { title, hints = [], about } = this.#words;
    const pods: readonly ScreenPod[] = this.#agent?.pods() ?? [];
    const trouble = this.#agent?.runtimeTrouble();
    return {
      ...{ title, hints, nowMs: this.#clock.now() },
      banner: trouble === undefined ? undefined : `Runtime is away: ${trouble}; pods are shown as last seen`,
      pods:
        about === undefined
          ? pods
          : pods.map((pod) => ({ ...pod, about: about.get(`${pod.pod.namespace}/${pod.pod.name}`) })),
      news: this.#news.list(this.#agent?.podEvents() ?? []),
    };
  }
}
